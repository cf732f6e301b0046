"""Cores of several speeds."""
