"""Renderers of described figures: matplotlib for print, plotly for pages.

Vega-Lite could replace both, but in a browser it evaluates strings as code, which the Content-Security-Policy of report
and explorer forbids. In print it neither wraps captions nor keeps labels from covering each other.
"""
