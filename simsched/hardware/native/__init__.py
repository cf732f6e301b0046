"""The task runtime in C and its binding."""
