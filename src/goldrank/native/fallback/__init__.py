"""Python versions of the compiled functions, used where the extension modules are not built.

Both versions agree bit for bit, and the docstrings here describe both.
"""
