"""Rank the items of a task with any model: by vectors, by shards, by search or by pair scores."""
