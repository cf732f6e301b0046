"""Backend `native`: the C kernel and its binding."""
