#include "memory/blockpools.h"

int ssk_blockpools_alloc(ssk_blockpools_t *self, const ssk_allocator_t *allocator, int32_t n_nodes,
                         int32_t n_blocks)
{
    size_t n_lists = (size_t)n_nodes * SSK_N_SIZE_CLASSES;
    memset(self, 0, sizeof(*self));
    self->n_nodes = n_nodes;
    self->unused = SSK_NONE;
    self->n_blocks = n_blocks;
    self->first = ssk_new(allocator, n_lists, sizeof(*self->first));
    self->spare_of = ssk_new(allocator, (size_t)n_blocks, sizeof(*self->spare_of));
    if (self->first == NULL || self->spare_of == NULL)
        return SSK_ERR_MEMORY;
    for (size_t i = 0; i < n_lists; i++)
        self->first[i] = SSK_NONE;
    for (int32_t block = 0; block < n_blocks; block++)
        self->spare_of[block] = SSK_NONE;
    return SSK_OK;
}

void ssk_blockpools_free(ssk_blockpools_t *self, const ssk_allocator_t *allocator)
{
    ssk_delete(allocator, self->first);
    ssk_delete(allocator, self->entries);
    ssk_delete(allocator, self->spare_of);
    memset(self, 0, sizeof(*self));
}

int ssk_blockpools_put(ssk_blockpools_t *self, const ssk_allocator_t *allocator, int32_t node, int32_t size_class,
                       int32_t block)
{
    int32_t *first = &self->first[node * SSK_N_SIZE_CLASSES + size_class], entry = self->unused;
    if (entry != SSK_NONE) {
        self->unused = self->entries[entry].next;
    } else {
        int status = ssk_grow(allocator, &self->entries, &self->capacity, (size_t)self->n_entries + 1,
                              sizeof(*self->entries));
        if (status != SSK_OK)
            return status;
        entry = self->n_entries++;
    }
    self->entries[entry].block = block;
    self->spare_of[block] = entry;
    self->entries[entry].next = *first;
    *first = entry;
    return SSK_OK;
}

bool ssk_blockpools_take(ssk_blockpools_t *self, int32_t node, int32_t size_class, int32_t *block_ret)
{
    int32_t *first = &self->first[node * SSK_N_SIZE_CLASSES + size_class], entry = *first;
    if (entry == SSK_NONE)
        return false;
    *block_ret = self->entries[entry].block;
    if (*block_ret != SSK_NONE)
        self->spare_of[*block_ret] = SSK_NONE;
    *first = self->entries[entry].next;
    self->entries[entry].next = self->unused;
    self->unused = entry;
    return true;
}

void ssk_blockpools_name(ssk_blockpools_t *self, int32_t block, int32_t other)
{
    int32_t entry = self->spare_of[block];
    if (entry == SSK_NONE)
        return;
    self->spare_of[block] = SSK_NONE;
    self->entries[entry].block = other;
    if (other != SSK_NONE)
        self->spare_of[other] = entry;
}

int64_t ssk_blockpools_bytes_on(const ssk_blockpools_t *self, int32_t node)
{
    int64_t n_bytes = 0;
    for (int32_t i = 0; self->first != NULL && i < SSK_N_SIZE_CLASSES; i++)
        for (int32_t entry = self->first[node * SSK_N_SIZE_CLASSES + i]; entry != SSK_NONE;
             entry = self->entries[entry].next)
            n_bytes += (int64_t)1 << i;
    return n_bytes;
}

int ssk_blockpools_verify(const ssk_blockpools_t *self)
{
    int32_t n_found = 0, n_named = 0;
    if (self->first == NULL)
        return SSK_OK;
    for (int32_t list = -1; list < self->n_nodes * SSK_N_SIZE_CLASSES; list++)
        for (int32_t entry = list < 0 ? self->unused : self->first[list]; entry != SSK_NONE;
             entry = self->entries[entry].next)
        {
            if (entry < 0 || entry >= self->n_entries || ++n_found > self->n_entries)
                return SSK_ERR_INVARIANT;
            int32_t block = list < 0 ? SSK_NONE : self->entries[entry].block;
            if (block != SSK_NONE && self->spare_of[block] != entry)
                return SSK_ERR_INVARIANT;
            n_named += block != SSK_NONE;
        }
    for (int32_t block = 0; block < self->n_blocks; block++)
        n_named -= self->spare_of[block] != SSK_NONE;
    return n_found == self->n_entries && n_named == 0 ? SSK_OK : SSK_ERR_INVARIANT;
}
