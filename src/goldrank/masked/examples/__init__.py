"""Masked examples: pages, masking of mentions, chunks, files and checks."""
