"""Builds the small compiled part; where no compiler is found the install goes on without it."""

import sys

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "goldrank.native._native",
            ["src/goldrank/native/_native.cpp"],
            extra_compile_args=["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17"],
            language="c++",
            optional=True,
        )
    ]
)
