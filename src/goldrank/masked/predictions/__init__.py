"""Predictions of masked names: asking predictors, file formats and rows."""
