"""Builds the small compiled parts; where no compiler is found the install goes on without them."""

import sys

from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            f"goldrank.native.{name}",
            [f"src/goldrank/native/{name}.cpp"],
            extra_compile_args=["/O2", "/std:c++17"] if sys.platform == "win32" else ["-O3", "-std=c++17"],
            language="c++",
            optional=True,
        )
        for name in ("_native", "_counting")
    ]
)
