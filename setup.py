"""Builds the small compiled parts; where no compiler is found the install goes on without them."""

import sys

from setuptools import Extension, setup

# A product that is fused into a sum is rounded once instead of twice: not what numpy does, and not on every processor.
FLAGS = ["/O2", "/std:c++17", "/fp:precise"] if sys.platform == "win32" else ["-O3", "-std=c++17", "-ffp-contract=off"]

setup(
    ext_modules=[
        Extension(
            f"goldrank.native.{name}",
            [f"src/goldrank/native/{name}.cpp"],
            extra_compile_args=FLAGS,
            language="c++",
            optional=True,
        )
        for name in ("_native", "_counting", "_tiles", "_guard")
    ]
)
