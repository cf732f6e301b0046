"""Work stealing and its relatives."""
