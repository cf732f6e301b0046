"""Division of loops between processors of several kinds."""
