"""Traces: the one schema, metrics, bounds and files."""
