"""The contract between policies and engines."""
