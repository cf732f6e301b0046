"""Peers of benchmarks/small.py, which run under Pythons that have them."""
