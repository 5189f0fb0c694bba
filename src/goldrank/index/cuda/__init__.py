"""Exact ranks and exact top k on one GPU."""
