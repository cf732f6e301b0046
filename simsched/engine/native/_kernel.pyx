"""Binding of the C kernel."""

cdef extern from "ssk.h":
    const char *ssk_version()


def version():
    """Return the version of the kernel."""
    return ssk_version().decode("ascii")
