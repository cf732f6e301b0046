# Checks what the driver hands over; part of _kernel.pyx. What is called here stands in _fills.pxi.


cdef const void *_array(list kept, object owner, str name, object dtype, tuple shape) except? NULL:
    """Return the data of an attribute after checking it; the array is kept alive in `kept`."""
    array = getattr(owner, name)
    what = f"{type(owner).__name__}.{name}"
    if not isinstance(array, np.ndarray):
        raise ValueError(f"{what}: found {type(array).__name__}, accepted ndarray")
    if array.dtype != np.dtype(dtype):
        raise ValueError(f"{what}: found type {array.dtype}, accepted {np.dtype(dtype)}")
    if array.shape != shape:
        raise ValueError(f"{what}: found shape {array.shape}, accepted {shape}")
    if not (array.flags.c_contiguous and array.flags.aligned):
        raise ValueError(f"{what}: found strides {array.strides}, accepted a contiguous array")
    kept.append(array)
    return cnp.PyArray_DATA(<cnp.ndarray>array)


cdef int64_t _whole(object value, str what, object least, object most) except? -1:
    """Return a number; the kernel checks more closely what other numbers bound."""
    if not least <= value <= most:
        raise ValueError(f"{what}: found {value}, accepted {least} to {most}")
    return value


cdef int32_t _index(int32_t n_things, object value, str query) except -1:
    """Return what a hook asks about as an index; see :func:`simsched.engine.backend.index_below`."""
    cdef int overflow
    cdef long long found
    if PyLong_CheckExact(value):
        found = PyLong_AsLongLongAndOverflow(value, &overflow)
        if 0 <= found < n_things:  # as nearly always; -1 if it has overflown
            return found
    return index_below(n_things, value, query)


cdef int64_t _number(object owner, str name, object least, object most) except? -1:
    """Return a number that is an attribute."""
    return _whole(getattr(owner, name), f"{type(owner).__name__}.{name}", least, most)


cdef object _ranked(object owner, str name, int n_axes):
    """Return an attribute that has to be an array with so many axes or more."""
    array = getattr(owner, name)
    if not isinstance(array, np.ndarray) or array.ndim < n_axes:
        axes = "an axis" if n_axes == 1 else "two axes"
        raise ValueError(f"{type(owner).__name__}.{name}: accepted an array with {axes}")
    return array


cdef object _length(object owner, str name, int axis):
    """Return how long an attribute is along an axis."""
    return _ranked(owner, name, axis + 1).shape[axis]


cdef object _largest(object owner, str name):
    """Return the largest entry of an attribute, or -1."""
    array = _ranked(owner, name, 1)
    if array.dtype.kind not in "iu":
        raise ValueError(f"{type(owner).__name__}.{name}: found type {array.dtype}, accepted whole numbers")
    return int(array.max(initial=-1))


cdef const int64_t *_values(list kept, object values, int32_t *number) except NULL:
    """Return numbers as an array that is kept alive, and how many they are."""
    array = np.array([_whole(value, "entry", 0, MAX_INT64) for value in values], np.int64)
    kept.append(array)
    number[0] = len(array)
    return <const int64_t *>cnp.PyArray_DATA(<cnp.ndarray>array)


cdef ssk_random_t _random(list kept, object stream) except *:
    """Return the C interface of a NumPy bit generator."""
    cdef ssk_random_t random
    capsule = getattr(stream, "capsule", None)
    if not PyCapsule_IsValid(capsule, "BitGenerator"):
        raise ValueError(f"random stream: found {stream!r}, accepted a numpy bit generator")
    cdef bitgen_t *bits = <bitgen_t *>PyCapsule_GetPointer(capsule, "BitGenerator")
    kept.append(stream)
    random.state = bits.state
    random.next64 = bits.next_uint64
    return random


cdef int _fill_decision(ssk_decision_t *d, object record) except -1:
    """Take over the record of a decision; see :mod:`simsched.engine.interface.decisions`."""
    cdef Py_ssize_t i, most = sizeof(d.number) // sizeof(d.number[0])
    if not 1 <= len(record) <= most:
        raise ValueError(f"decision: found {record!r}, accepted up to {most} numbers, its kind first")
    memset(d, 0, sizeof(d[0]))
    for i, number in enumerate(record):
        d.number[i] = number
    return 0


cdef int _fill_answer(NativeBackend backend, int hook, ssk_answer_t *answer, object chosen) except -1:
    """Take over decisions of a hook, which stay in memory until it is called again."""
    cdef ssk_decision_t *place
    cdef Py_ssize_t i
    if not chosen:
        return 0
    backend.answers[hook] = memory = np.empty(len(chosen) * sizeof(ssk_decision_t), np.uint8)
    place = <ssk_decision_t *>cnp.PyArray_DATA(<cnp.ndarray>memory)
    for i in range(len(chosen)):
        _fill_decision(&place[i], chosen[i])
    answer.decisions = place
    answer.n_decisions = _whole(len(chosen), "decisions", 0, MAX_INT32)
    return 0
