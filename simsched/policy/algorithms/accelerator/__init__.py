"""Sharing of accelerators."""
