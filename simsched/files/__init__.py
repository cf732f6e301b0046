"""Files: YAML, units, limits, atomic writes, errors that name a place."""
