"""Entry point that draws figures."""
