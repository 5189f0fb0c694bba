"""Results as text: tables, JSON and CSV."""
