"""Schedules that are fixed before the run."""
