"""`goldrank similarity`: all similarity measures between texts, side by side, for any model."""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

from goldrank import encoders
from goldrank.cli import options
from goldrank.errors import InputError, shorten
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.views import view_rows
from goldrank.vectors.similarity import SIMILARITIES, jaccard, rowwise

_EXAMPLES = """\
  goldrank similarity "a cat on a mat" "a dog on a rug"
  goldrank similarity "red wine" "white wine" "chess" -m wordllama -m tfidf
  goldrank similarity "red wine" "white wine" -m st:./my-model --format json
"""
_VECTOR_MEASURES = [name for name, measure in SIMILARITIES.items() if measure.of == "vectors"]
_ARROWS = {"higher": "↑", "lower": "↓"}


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("similarity", "Compare texts by all similarity measures side by side.", _EXAMPLES)
    parser.add_argument("texts", metavar="TEXT", nargs="+", help="two or more texts; every pair is compared")
    parser.add_argument(
        "-m", "--model", action="append", metavar="MODEL", help="model that encodes (default wordllama); repeatable"
    )
    options.add_output(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Compare the texts and print the similarities."""
    if len(args.texts) < 2:
        raise InputError("a similarity needs two texts, and there is one", remedy="give two or more")
    rows = [row for model in args.model or ["wordllama"] for row in _measure(args.texts, model)]
    options.emit(view_rows(rows, lambda: _grid(rows), "similarity"), args)
    return 0


def _measure(texts: list[str], model: str) -> list[dict[str, Any]]:
    encoder = encoders.load(model)
    if not isinstance(encoder, encoders.Encoder):
        raise InputError(
            f"the model {model} ranks texts without vectors",
            remedy="choose a model with vectors (goldrank list models)",
        )
    if isinstance(encoder, encoders.Fitted):
        encoder.fit(texts)
    vectors = encoder.encode_items(texts)
    pairs = list(combinations(range(len(texts)), 2))
    first, second = (vectors[[pair[side] for pair in pairs]] for side in (0, 1))
    dense = [part.toarray() if hasattr(part, "toarray") else part for part in (first, second)]
    measured = {name: rowwise(dense[0], dense[1], name) for name in _VECTOR_MEASURES}
    return [
        {"model": model, "a": texts[a], "b": texts[b], "jaccard": jaccard(texts[a], texts[b])}
        | {name: float(values[i]) for name, values in measured.items()}
        for i, (a, b) in enumerate(pairs)
    ]


def _grid(rows: list[dict[str, Any]]) -> Grid:
    names = ["jaccard", *_VECTOR_MEASURES]
    headings = ["model", "texts", *(f"{name}{_ARROWS[SIMILARITIES[name].direction]}" for name in names)]
    cells = [
        [
            Cell(row["model"]),
            Cell(f"{shorten(row['a'], 30)} – {shorten(row['b'], 30)}"),
            *(Cell(f"{row[name]:.4f}") for name in names),
        ]
        for row in rows
    ]
    note = "Jaccard compares the sets of words, split at white space; the other measures compare vectors. "
    note += "A cosine near 0 means unrelated texts, near −1 opposite ones."
    return Grid(headings, cells, notes=[note], text_columns=2)
