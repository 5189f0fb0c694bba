"""Vector databases as the index under test."""
