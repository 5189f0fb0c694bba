"""The report document: its sections as data, and HTML, Markdown and PDF."""
