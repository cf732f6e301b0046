"""Names: specs of things, parameters, registries, code of users."""
