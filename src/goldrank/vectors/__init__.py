"""Vectors: similarity measures, transforms and the embedding cache."""
