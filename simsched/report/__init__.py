"""Reports: text tables and pictures of results."""
