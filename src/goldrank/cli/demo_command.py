"""`goldrank demo`: the built-in gold and two runs, scored and compared, with the commands that do it."""

from __future__ import annotations

import argparse
from importlib.resources import as_file, files

from goldrank.cli import compare_command, options, score_command

_EXAMPLES = """\
  goldrank demo
"""
_METRICS = ["-m", "ndcg@10", "-m", "map", "-m", "mrr", "-m", "recall@20", "-m", "hit_rate@1"]


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("demo", "Score and compare two small built-in runs.", _EXAMPLES)
    made.add_argument("--debug", action="store_true", help="show a traceback on errors")
    return made


def run(args: argparse.Namespace) -> int:
    """Run the two commands on the built-in files, and say which they are."""
    with as_file(files("goldrank") / "demo") as folder:
        data = [str(folder / name) for name in ("qrels.txt", "lexical.run", "dense.run")]
        for name, command in (("score", score_command), ("compare", compare_command)):
            print(f"$ goldrank {name} qrels.txt lexical.run dense.run {' '.join(_METRICS)}\n")
            command.run(command.parser().parse_args([*data, *_METRICS]))
            print()
        print(f"The files are in {folder}; `goldrank explain ndcg@10` says what a number means.")
    return 0
