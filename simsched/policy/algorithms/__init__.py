"""Published schedulers and runtimes, a folder per family."""
