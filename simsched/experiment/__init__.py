"""Experiments: YAML files, the cells they consist of, running them and storing the results."""
