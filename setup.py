"""Build the compiled modules; everything else is declared in pyproject.toml."""

import os
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

NATIVE = "src/goldrank/native"
MODULES = (
    "trec_parser",
    "table_parser",
    "hit_counting",
    "score_counting",
    "pair_scoring",
    "resampling",
    "word_numbers",
    "posting_lists",
    "amx_tiles",
    "integer_products",
    "truncation_guard",
)
# No fused multiply-add: it rounds once instead of twice, which numpy does not do and not every processor can.
UNIX_FLAGS = ["-O3", "-std=c++17", "-ffp-contract=off", "-fvisibility=hidden"]
MSVC_FLAGS = ["/O2", "/std:c++17", "/fp:precise", "/utf-8", "/EHsc"]


class BuildExtensions(build_ext):
    """Choose the flags by the compiler, because Windows has MinGW as well as MSVC; use all cores."""

    def build_extensions(self):
        self.parallel = True
        for extension in self.extensions:
            extension.extra_compile_args = MSVC_FLAGS if self.compiler.compiler_type == "msvc" else UNIX_FLAGS
        super().build_extensions()


setup(
    cmdclass={"build_ext": BuildExtensions},
    ext_modules=[
        Extension(
            f"goldrank.native._{name}",
            [f"{NATIVE}/{name}.cpp"],
            depends=sorted(map(str, Path(NATIVE).glob("*.hpp"))),
            language="c++",
            # Without a compiler the installation succeeds and goldrank uses the Python twins; release builds must fail.
            optional=not os.environ.get("GOLDRANK_REQUIRE_NATIVE"),
        )
        for name in MODULES
    ],
)
