"""Entry points for ``python -m`` under the module names of the masked-person project."""
