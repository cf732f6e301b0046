"""Programs for the task runtime, one module each, found by name."""
