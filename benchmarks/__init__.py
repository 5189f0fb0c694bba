"""Peers side by side in one run, printed as ratios of CPU time."""
