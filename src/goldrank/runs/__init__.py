"""Run any model on any task: evaluate, store the result, and score stored runs again."""
