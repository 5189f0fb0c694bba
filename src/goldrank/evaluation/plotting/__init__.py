"""Other names of the command that draws figures."""
