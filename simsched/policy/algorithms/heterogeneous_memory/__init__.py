"""Scheduling and placement for fast and slow memory."""
