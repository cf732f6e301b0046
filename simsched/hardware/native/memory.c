#include "memory.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BITS = 8 * sizeof(unsigned long) };

int hw_pages_bind(void *pages, size_t bytes, int node, bool strictly)
{
    unsigned long mask[HW_MAX_NODES / BITS] = {0};
    if (node < 0 || node >= HW_MAX_NODES)
        return EINVAL;
    mask[node / BITS] = 1ul << (node % BITS);
    long status = syscall(SYS_mbind, pages, bytes, strictly ? MPOL_BIND : MPOL_PREFERRED, mask,
                          (unsigned long)HW_MAX_NODES + 1, MPOL_MF_MOVE);
    return status == 0 ? 0 : errno;
}

int hw_pages_on(int node, size_t bytes, void **pages)
{
    *pages = hw_pages_new(bytes);
    if (*pages == NULL)
        return HW_ERR_MEMORY;
    (void)madvise(*pages, bytes, MADV_HUGEPAGE); /* where it fails, pages are small */
    if (node == HW_NONE || hw_pages_bind(*pages, bytes, node, true) == 0)
        return HW_OK;
    hw_pages_free(*pages, bytes);
    *pages = NULL;
    return HW_ERR_NODE;
}

int hw_pages_locate(void *const *pages, size_t n, int *nodes)
{
    if (syscall(SYS_move_pages, 0, n, pages, NULL, nodes, 0) != 0)
        return errno;
    for (size_t i = 0; i < n; i++)
        nodes[i] = nodes[i] < 0 ? HW_NONE : nodes[i];
    return 0;
}
