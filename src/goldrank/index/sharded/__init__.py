"""Exact ranks and top k over items in shards, computed by the workers of an engine."""
