"""Figures of results: described once, drawn for print here and interactively in the report."""
