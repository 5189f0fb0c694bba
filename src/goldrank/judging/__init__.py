"""Judging: pool the results of several systems, collect relevance labels, and estimate scores from them."""
