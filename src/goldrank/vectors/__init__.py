"""Vectors: similarity, transforms, and the cache that keeps what was encoded."""
