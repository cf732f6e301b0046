"""MapReduce schedulers."""
