"""List schedulers and runtimes with cost models."""
