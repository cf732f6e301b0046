#include "pools/routes.h"

#define NO_HOLE INT32_MAX

static int alloc_scope(ssk_scope_t *scope, const ssk_allocator_t *allocator, const ssk_problem_t *p,
                       int32_t n_instances)
{
    size_t n = (size_t)n_instances;
    scope->n_instances = n_instances;
    scope->own = ssk_new(allocator, (size_t)p->n_workers, sizeof(*scope->own));
    scope->domain = ssk_new(allocator, n, sizeof(*scope->domain));
    scope->order = ssk_new(allocator, n, sizeof(*scope->order));
    scope->position = ssk_new(allocator, n, sizeof(*scope->position));
    scope->section = ssk_new(allocator, (size_t)p->n_domains + 1, sizeof(*scope->section));
    return scope->own && scope->domain && scope->order && scope->position && scope->section ? SSK_OK
                                                                                           : SSK_ERR_MEMORY;
}

/* Lists the instances for which `listed` is not 0 (all when it is NULL) by (domain, instance). */
static void list_candidates(ssk_scope_t *scope, int32_t n_domains, const uint8_t *listed)
{
    memset(scope->section, 0, ((size_t)n_domains + 1) * sizeof(*scope->section));
    for (int32_t i = 0; i < scope->n_instances; i++)
        if (listed == NULL || listed[i])
            scope->section[scope->domain[i] + 1]++;
    for (int32_t d = 0; d < n_domains; d++)
        scope->section[d + 1] += scope->section[d];
    /* section[d] runs ahead while domain d is filled and is put back afterwards */
    for (int32_t i = 0; i < scope->n_instances; i++) {
        scope->position[i] = SSK_NONE;
        if (listed != NULL && !listed[i])
            continue;
        int32_t place = scope->section[scope->domain[i]]++;
        scope->order[place] = i;
        scope->position[i] = place;
    }
    for (int32_t d = n_domains; d > 0; d--)
        scope->section[d] = scope->section[d - 1];
    scope->section[0] = 0;
}

static void fill_scopes(ssk_routes_t *self)
{
    const ssk_problem_t *p = self->problem;
    ssk_scope_t *s = self->scope;
    for (int32_t w = 0; w < p->n_workers; w++) {
        int32_t domain = p->worker_domain[w], socket = p->domain_socket[domain];
        s[SSK_SCOPE_WORKER].own[w] = w;
        s[SSK_SCOPE_WORKER].domain[w] = domain;
        s[SSK_SCOPE_DOMAIN].own[w] = domain;
        s[SSK_SCOPE_SOCKET].own[w] = socket;
        s[SSK_SCOPE_CLASS].own[w] = SSK_NONE;
        ssk_set_add(&self->of_domain[(size_t)domain * (size_t)self->n_words], w);
        ssk_set_add(&self->of_socket[(size_t)socket * (size_t)self->n_words], w);
        ssk_set_add(self->everybody, w);
    }
    for (int32_t d = p->n_domains - 1; d >= 0; d--) {
        s[SSK_SCOPE_DOMAIN].domain[d] = d;
        s[SSK_SCOPE_SOCKET].domain[p->domain_socket[d]] = d;
    }
    for (int32_t scope = SSK_SCOPE_DOMAIN; scope < SSK_N_SCOPES; scope++)
        list_candidates(&s[scope], p->n_domains, NULL);
}

int ssk_routes_alloc(ssk_routes_t *self, const ssk_allocator_t *allocator, const ssk_problem_t *problem)
{
    memset(self, 0, sizeof(*self));
    self->problem = problem;
    self->n_words = (problem->n_workers + 63) / 64;
    int32_t n_instances[SSK_N_SCOPES] = {problem->n_workers, problem->n_domains, problem->n_sockets, 1,
                                         problem->n_classes};
    for (int32_t scope = 0; scope < SSK_N_SCOPES; scope++) {
        int status = alloc_scope(&self->scope[scope], allocator, problem, n_instances[scope]);
        if (status != SSK_OK)
            return status;
    }
    size_t n_words = (size_t)self->n_words;
    self->of_domain = ssk_new(allocator, (size_t)problem->n_domains * n_words, sizeof(uint64_t));
    self->of_socket = ssk_new(allocator, (size_t)problem->n_sockets * n_words, sizeof(uint64_t));
    self->everybody = ssk_new(allocator, n_words, sizeof(uint64_t));
    self->active = ssk_new(allocator, n_words, sizeof(uint64_t));
    self->heads = ssk_new(allocator, n_words, sizeof(uint64_t));
    self->active_workers = ssk_new(allocator, (size_t)problem->n_workers, sizeof(*self->active_workers));
    if (!self->of_domain || !self->of_socket || !self->everybody || !self->active || !self->heads ||
        !self->active_workers)
        return SSK_ERR_MEMORY;
    fill_scopes(self);
    return SSK_OK;
}

void ssk_routes_free(ssk_routes_t *self, const ssk_allocator_t *allocator)
{
    for (int32_t scope = 0; scope < SSK_N_SCOPES; scope++) {
        ssk_delete(allocator, self->scope[scope].own);
        ssk_delete(allocator, self->scope[scope].domain);
        ssk_delete(allocator, self->scope[scope].order);
        ssk_delete(allocator, self->scope[scope].position);
        ssk_delete(allocator, self->scope[scope].section);
    }
    ssk_delete(allocator, self->of_domain);
    ssk_delete(allocator, self->of_socket);
    ssk_delete(allocator, self->everybody);
    ssk_delete(allocator, self->active);
    ssk_delete(allocator, self->heads);
    ssk_delete(allocator, self->active_workers);
    memset(self, 0, sizeof(*self));
}

void ssk_routes_set_active(ssk_routes_t *self, const uint8_t *active)
{
    const ssk_problem_t *p = self->problem;
    size_t set_bytes = (size_t)self->n_words * sizeof(uint64_t);
    memset(self->active, 0, set_bytes);
    memset(self->heads, 0, set_bytes);
    self->n_active = 0;
    list_candidates(&self->scope[SSK_SCOPE_WORKER], p->n_domains, active);
    for (int32_t w = 0; w < p->n_workers; w++) {
        if (!active[w])
            continue;
        self->active_workers[self->n_active++] = w;
        ssk_set_add(self->active, w);
    }
    for (int32_t d = 0; d < p->n_domains; d++) {
        const ssk_scope_t *workers = &self->scope[SSK_SCOPE_WORKER];
        if (workers->section[d] < workers->section[d + 1])
            ssk_set_add(self->heads, workers->order[workers->section[d]]);
    }
}

void ssk_routes_remove(ssk_routes_t *self, int32_t worker)
{
    const ssk_scope_t *workers = &self->scope[SSK_SCOPE_WORKER];
    int32_t domain = workers->domain[worker], n = 0;
    ssk_set_remove(self->active, worker);
    ssk_set_remove(self->heads, worker);
    for (int32_t place = workers->section[domain]; place < workers->section[domain + 1]; place++) {
        if (ssk_set_has(self->active, workers->order[place])) {
            ssk_set_add(self->heads, workers->order[place]);
            break;
        }
    }
    for (int32_t i = 0; self->n_active > 1 && i < self->n_active; i++)
        if (self->active_workers[i] != worker)
            self->active_workers[n++] = self->active_workers[i];
    if (self->n_active > 1)
        self->n_active = n;
}

ssk_candidates_t ssk_routes_candidates(const ssk_routes_t *self, int32_t scope, int32_t where, int32_t worker)
{
    const ssk_scope_t *s = &self->scope[scope];
    int32_t home = self->scope[SSK_SCOPE_WORKER].domain[worker];
    int32_t own = s->own[worker] < 0 ? SSK_NONE : s->position[s->own[worker]];
    int32_t first = s->section[home], end = s->section[home + 1];
    ssk_candidates_t c = {s->order, 0, s->section[self->problem->n_domains], {NO_HOLE, NO_HOLE}, {0, 0}};
    if (where == SSK_SAME_DOMAIN) {
        c.lo = first;
        c.n = end - first;
    }
    int holes = 0;
    bool own_is_home = own >= first && own < end;
    bool hole_home = where == SSK_OTHER_DOMAINS && end > first;
    bool hole_own = own >= 0 && (where == SSK_ANYWHERE || own_is_home == (where == SSK_SAME_DOMAIN));
    if (hole_own && !(hole_home && first < own)) {
        c.hole_at[holes] = own;
        c.hole_length[holes++] = 1;
    }
    if (hole_home) {
        c.hole_at[holes] = first;
        c.hole_length[holes++] = end - first;
    }
    if (hole_own && hole_home && first < own) {
        c.hole_at[holes] = own;
        c.hole_length[holes++] = 1;
    }
    c.n -= c.hole_length[0] + c.hole_length[1];
    return c;
}

void ssk_routes_add_reaching(const ssk_routes_t *self, int32_t scope, int32_t where, int32_t instance, uint64_t *set)
{
    const ssk_scope_t *s = &self->scope[scope];
    size_t n_words = (size_t)self->n_words;
    const uint64_t *near = &self->of_domain[(size_t)s->domain[instance] * n_words];
    const uint64_t *owners = self->everybody;
    if (where != SSK_OWN && s->position[instance] < 0)
        return;
    if (scope == SSK_SCOPE_WORKER) {
        bool had = ssk_set_has(set, instance);
        if (where == SSK_OWN) {
            ssk_set_add(set, instance);
            return;
        }
        for (size_t i = 0; i < n_words; i++)
            set[i] |= where == SSK_SAME_DOMAIN ? near[i] : where == SSK_OTHER_DOMAINS ? ~near[i] : ~(uint64_t)0;
        if (!had)
            ssk_set_remove(set, instance);
        return;
    }
    if (scope == SSK_SCOPE_DOMAIN)
        owners = near;
    else if (scope == SSK_SCOPE_SOCKET)
        owners = &self->of_socket[(size_t)instance * n_words];
    for (size_t i = 0; i < n_words; i++) {
        uint64_t reach = where == SSK_SAME_DOMAIN ? near[i] : where == SSK_OTHER_DOMAINS ? ~near[i] : ~(uint64_t)0;
        uint64_t own = scope == SSK_SCOPE_CLASS ? 0 : owners[i];
        set[i] |= where == SSK_OWN ? own : reach & ~own;
    }
}

int ssk_routes_verify(const ssk_routes_t *self)
{
    const ssk_problem_t *p = self->problem;
    for (int32_t scope = 0; scope < SSK_N_SCOPES; scope++) {
        const ssk_scope_t *s = &self->scope[scope];
        int32_t listed = 0;
        for (int32_t i = 0; i < s->n_instances; i++) {
            int32_t place = s->position[i];
            if (place < 0)
                continue;
            listed++;
            if (s->order[place] != i || place < s->section[s->domain[i]] || place >= s->section[s->domain[i] + 1])
                return SSK_ERR_INVARIANT;
        }
        if (listed != s->section[p->n_domains])
            return SSK_ERR_INVARIANT;
        for (int32_t k = 1; k < listed; k++) {
            int32_t a = s->order[k - 1], b = s->order[k];
            if (s->domain[a] > s->domain[b] || (s->domain[a] == s->domain[b] && a > b))
                return SSK_ERR_INVARIANT;
        }
    }
    return SSK_OK;
}
