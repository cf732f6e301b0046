"""Workload generators, one module each; :mod:`simsched.workload.registry` says how to add one."""
