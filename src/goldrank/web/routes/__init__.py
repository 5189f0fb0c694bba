"""The routes of the explorer's JSON API, one module per subject."""
