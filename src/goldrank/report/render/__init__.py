"""Renderers of described figures: matplotlib for print, plotly for pages."""
