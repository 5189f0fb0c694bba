"""Decide whether a guess names the person of a title."""
