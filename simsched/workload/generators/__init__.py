"""Workload generators, one module each; :mod:`simsched.workload.registry` says how to add one."""

from simsched.names.registry import import_modules

import_modules(__name__)  # also for who imports one: variants are of the module that makes them
