"""Evaluations of evaluators: what the settings alone do to scores and to the order of models."""
