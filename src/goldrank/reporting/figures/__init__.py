"""Figures as descriptions, independent of the renderer."""
