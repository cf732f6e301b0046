"""Part of _kernel.pyx: block pools are checked and handed over."""


cdef int _fill_pooling(ssk_problem_t *p, object problem, list kept) except -1:
    """Take over what blocks take on their nodes, and the pools that they come from."""
    cdef ssk_pooling_t *c = &p.pooling
    blocks = (p.n_blocks,)
    p.taken_bytes = <const int64_t *>_array(kept, problem, "taken_bytes", np.int64, blocks)
    p.follows = <const uint8_t *>_array(kept, problem, "follows", np.uint8, blocks)
    pooling = problem.pooling
    if pooling is None:
        return 0
    for name in ("allocate_ptr", "allocate", "release"):
        _length(pooling, name)
    pointers, allocated, released = len(pooling.allocate_ptr), len(pooling.allocate), len(pooling.release)
    c.n_tasks, c.n_allocate, c.n_release = pointers - 1, allocated, released
    c.size_class = <const int32_t *>_array(kept, pooling, "size_class", np.int32, blocks)
    c.allocate_near = <const int32_t *>_array(kept, pooling, "allocate_near", np.int32, blocks)
    c.is_fresh = <const uint8_t *>_array(kept, pooling, "is_fresh", np.uint8, blocks)
    c.is_untracked = <const uint8_t *>_array(kept, pooling, "is_untracked", np.uint8, blocks)
    c.allocate_ptr = <const int64_t *>_array(kept, pooling, "allocate_ptr", np.int64, (pointers,))
    c.release_ptr = <const int64_t *>_array(kept, pooling, "release_ptr", np.int64, (pointers,))
    c.allocate = <const int32_t *>_array(kept, pooling, "allocate", np.int32, (allocated,))
    c.release = <const int32_t *>_array(kept, pooling, "release", np.int32, (released,))
    return 0
