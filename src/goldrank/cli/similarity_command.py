"""`goldrank similarity`: every measure of likeness between texts, side by side, for any model."""

from __future__ import annotations

import argparse
from itertools import combinations
from typing import Any

from goldrank import encoders
from goldrank.cli import options
from goldrank.errors import InputError, shorten
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.reporting.text.results import to_csv, to_json
from goldrank.vectors.similarity import SIMILARITIES, jaccard, rowwise

_EXAMPLES = """\
  goldrank similarity "a cat on a mat" "a dog on a rug"
  goldrank similarity "red wine" "white wine" "chess" -m wordllama -m tfidf
  goldrank similarity "red wine" "white wine" -m st:./my-model --format json
"""
_VECTOR_MEASURES = [name for name, measure in SIMILARITIES.items() if measure.of == "vectors"]
_ARROWS = {"higher": "↑", "lower": "↓"}


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("similarity", "How alike are two texts? All measures side by side.", _EXAMPLES)
    made.add_argument("texts", metavar="TEXT", nargs="+", help="two texts or more; every pair is measured")
    made.add_argument("-m", "--model", action="append", metavar="MODEL", help="encoder (default wordllama)")
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Measure and show."""
    if len(args.texts) < 2:
        raise InputError("a similarity is between two texts", remedy="give two or more")
    rows = [row for model in args.model or ["wordllama"] for row in _measure(args.texts, model)]
    if args.format == "json":
        options.emit(to_json(rows), args)
    elif args.format == "csv":
        options.emit(to_csv([list(rows[0]), *(list(row.values()) for row in rows)]), args)
    else:
        options.emit(render([_grid(rows)], args.format), args)
    return 0


def _measure(texts: list[str], model: str) -> list[dict[str, Any]]:
    encoder = encoders.load(model)
    if not isinstance(encoder, encoders.Encoder):
        raise InputError(f"{model} ranks texts without vectors", remedy="name an encoder (goldrank list models)")
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
    note = "Jaccard compares the sets of words between blanks; the others compare vectors. "
    note += "Cosine near 0 is unrelated, near −1 opposite."
    return Grid(headings, cells, notes=[note], text_columns=2)
