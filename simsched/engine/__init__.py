"""Engines: the reference backend and the native one."""
