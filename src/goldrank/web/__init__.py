"""The explorer behind `goldrank serve`: a JSON API over one store, and the page in a browser that reads it."""
