"""Indexes: item vectors to exact hits, or to the top k of each query."""
