#include "base.h"

#include <stdlib.h>

const char *ssk_version(void)
{
    return "0.1.0";
}

const char *ssk_compiler(void)
{
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}

#ifndef SSK_FLAGS
#define SSK_FLAGS "unknown"
#endif

const char *ssk_flags(void)
{
    return SSK_FLAGS;
}

int ssk_has_asserts(void)
{
#ifdef NDEBUG
    return 0;
#else
    return 1;
#endif
}

const char *ssk_message(int code)
{
    switch (code) {
    case SSK_OK: return "ok";
    case SSK_MORE: return "not finished";
    case SSK_ERR_MEMORY: return "out of memory";
    case SSK_ERR_STALLED: return "tasks remain and no event is pending";
    case SSK_ERR_TOO_LARGE: return "the blocks of a task do not fit together";
    case SSK_ERR_NO_ROOM: return "a block finds no room";
    case SSK_ERR_NO_PROCESSOR: return "a task cannot run on its worker's processor";
    case SSK_ERR_HOOK: return "a hook asked to abort";
    case SSK_ERR_DECISION: return "a hook's decision is not allowed";
    case SSK_ERR_MIGRATION: return "a migrated block finds no room";
    case SSK_ERR_PROGRESS: return "no task has ended for too long";
    case SSK_ERR_INSTANT: return "time stands still";
    case SSK_ERR_TIME: return "the simulated time exceeds 2**62 ps";
    case SSK_ERR_INVARIANT: return "an invariant of the kernel is violated";
    case SSK_ERR_ARGUMENT: return "malformed argument or call at the wrong time";
    default: return "unknown code";
    }
}

static void *default_allocate(void *context, size_t n_bytes)
{
    (void)context;
    return malloc(n_bytes);
}

static void *default_resize(void *context, void *block, size_t n_bytes)
{
    (void)context;
    return realloc(block, n_bytes);
}

static void default_release(void *context, void *block)
{
    (void)context;
    free(block);
}

ssk_allocator_t ssk_default_allocator(void)
{
    ssk_allocator_t allocator = {NULL, default_allocate, default_resize, default_release};
    return allocator;
}

void *ssk_new(const ssk_allocator_t *allocator, size_t count, size_t item_bytes)
{
    if (count > (SIZE_MAX / 2) / item_bytes)
        return NULL;
    size_t n_bytes = count * item_bytes;
    if (n_bytes == 0)
        n_bytes = 1;
    void *block = allocator->allocate(allocator->context, n_bytes);
    if (block != NULL)
        memset(block, 0, n_bytes);
    return block;
}

/* Pointers of all types are read and written through memcpy(): a void ** must not alias an int32_t *. */
int ssk_grow(const ssk_allocator_t *allocator, void *array, size_t *capacity, size_t needed, size_t item_bytes)
{
    void *block;
    if (needed <= *capacity)
        return SSK_OK;
    size_t wanted = *capacity < 8 ? 16 : 2 * *capacity;
    if (wanted < needed)
        wanted = needed;
    if (wanted > (SIZE_MAX / 2) / item_bytes)
        return SSK_ERR_MEMORY;
    memcpy(&block, array, sizeof(block));
    block = allocator->resize(allocator->context, block, wanted * item_bytes);
    if (block == NULL)
        return SSK_ERR_MEMORY;
    memcpy(array, &block, sizeof(block));
    *capacity = wanted;
    return SSK_OK;
}

int ssk_renew(const ssk_allocator_t *allocator, void *array, size_t count, size_t item_bytes)
{
    void *block;
    memcpy(&block, array, sizeof(block));
    ssk_delete(allocator, block);
    block = ssk_new(allocator, count, item_bytes);
    memcpy(array, &block, sizeof(block));
    return block == NULL ? SSK_ERR_MEMORY : SSK_OK;
}
