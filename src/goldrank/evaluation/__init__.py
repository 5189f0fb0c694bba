"""Other names of two commands, for those who start them as modules."""
