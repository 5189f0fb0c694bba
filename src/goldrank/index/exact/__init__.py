"""Exact ranks and exact top k on the processor."""
