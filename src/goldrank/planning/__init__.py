"""Estimate the cost of a job from measured constants."""
