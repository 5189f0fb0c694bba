"""`goldrank audit`: does an approximate index hurt the metric of the task?"""

from __future__ import annotations

import argparse
from typing import Any

from goldrank.analysis.audit import Audit, Audited, audit
from goldrank.cli import figure_files, options
from goldrank.data.texts import TextList, beir_file, read_texts
from goldrank.errors import InputError
from goldrank.hits import Gold
from goldrank.metrics import parse_all
from goldrank.reporting.figures.costs import index_trade_off
from goldrank.reporting.text import formatting, results
from goldrank.reporting.text.grids import Cell, Grid, render
from goldrank.units import format_bytes

_EXAMPLES = """\
  goldrank audit beir/scifact -m wordllama --factory HNSW32 --factory "IVF64,Flat(nprobe=8)"
  goldrank audit corpus.jsonl queries.jsonl qrels.tsv -m wordllama --factory PQ64x4fs,RFlat --metric mrr@10
  goldrank audit beir/scifact -m wordllama --factory HNSW16 --plot audit.png --format json
"""
_QRELS = ("qrels/test.tsv", "qrels.tsv", "qrels.txt", "qrels/test.txt")


def parser() -> argparse.ArgumentParser:
    """The options of the command."""
    made = options.new_parser("audit", "Does an approximate index hurt the metric of the task?", _EXAMPLES)
    made.add_argument("data", metavar="DATA", nargs="+", help="a BEIR folder, or the files CORPUS QUERIES QRELS")
    made.add_argument("-m", "--model", required=True, metavar="MODEL", help="what encodes corpus and queries")
    indexes = "a faiss factory, or a database (pgvector:URL…); repeat it"
    made.add_argument("--factory", action="append", required=True, metavar="F", help=indexes)
    made.add_argument("-k", type=int, default=10, help="neighbours that the recall counts (default 10)")
    options.add_metric(made, "of the task (default ndcg@10)")
    made.add_argument("--similarity", choices=("cosine", "dot", "l2"), default="cosine")
    made.add_argument("--exclude-self", action="store_true", help="leave out the item whose id is the query's")
    made.add_argument("--alpha", type=float, default=0.05, help="level of significance (default 0.05)")
    made.add_argument(
        "--plot", metavar="FILE", help="draw each metric and the recall against speed; .png, .pdf or .svg"
    )
    options.add_statistics(made)
    options.add_output(made)
    return made


def run(args: argparse.Namespace) -> int:
    """Audit and show."""
    from goldrank.index.dataset import encoded, load_encoder

    how, metrics = options.bootstrap(args), parse_all(args.metric or ["ndcg@10"])
    if args.k < 1:
        raise InputError(f"k is {args.k}", remedy="count one neighbour or more")
    if args.plot is not None:
        figure_files.check_file(args.plot)
    corpus, queries, gold = _data(args.data)
    encoder = load_encoder(args.model, corpus.texts)
    made = audit(
        encoded(encoder, corpus.texts, "item"),
        corpus.ids,
        encoded(encoder, queries.texts, "query"),
        queries.ids,
        gold,
        args.factory,
        metrics=metrics,
        k=args.k,
        similarity=args.similarity,
        exclude_self=args.exclude_self,
        alpha=args.alpha,
        bootstrap=how,
    )
    if args.plot is not None:
        figure_files.draw_into(args.plot, index_trade_off(made))
    options.emit(show(made, args.format), args)
    return 0


def _data(paths: list[str]) -> tuple[TextList, TextList, Gold]:
    if len(paths) == 1:
        folder = paths[0]
        paths = [str(beir_file(folder, *names)) for names in (("corpus.jsonl",), ("queries.jsonl",), _QRELS)]
    if len(paths) != 3:
        raise InputError(f"{len(paths)} files are given", remedy="give a BEIR folder, or CORPUS QUERIES QRELS")
    return read_texts(paths[0]), read_texts(paths[1]), Gold.read(paths[2])


def show(made: Audit, look: str) -> str:
    """The audit in the format asked for; for people the verdict comes first."""
    rows = [_exact_row(made), *(_index_row(made, audited) for audited in made.indexes)]
    if look == "json":
        return results.to_json(
            {
                "verdicts": made.verdicts(),
                "items": made.items,
                "queries": made.queries,
                "k": made.k,
                "depth": made.depth,
                "similarity": made.similarity,
                "alpha": made.alpha,
                "profile": made.exact.profile.name,
                "conventions": made.exact.conventions.as_dict(),
                "indexes": rows,
            }
        )
    if look == "csv":
        return _csv(made, rows)
    shown = render([_grid(made)], look)
    return "\n".join(made.verdicts()) + "\n\n" + shown if look == "table" else shown


def _exact_row(made: Audit) -> dict[str, Any]:
    return {
        "index": "exact",
        "metrics": {name: {"value": results.number(score.value)} for name, score in made.exact.items()},
        "recall": {"mean": 1.0, "low": None, "high": None},
        **_cost(made.cost, 1.0),
    }


def _index_row(made: Audit, audited: Audited) -> dict[str, Any]:
    bounds, harmed = audited.recall_interval, {pair.metric for pair in made.harm(audited)}
    return {
        "index": audited.factory,
        "metrics": {
            pair.metric: {
                "value": results.number(audited.scores[pair.metric].value),
                "difference": results.number(pair.difference),
                "low": None if pair.interval is None else pair.interval.low,
                "high": None if pair.interval is None else pair.interval.high,
                "p": results.number(pair.p),
                "p_adjusted": results.number(pair.adjusted),
                "hurts": pair.metric in harmed,
            }
            for pair in audited.pairs
        },
        "recall": {
            "mean": audited.recall,
            "low": None if bounds is None else bounds.low,
            "high": None if bounds is None else bounds.high,
        },
        **_cost(audited.cost, audited.speed),
    }


def _cost(cost: Any, speed: float) -> dict[str, Any]:
    return {
        "speed": speed,
        "queries_per_second": cost.queries_per_second,
        "build_seconds": cost.build_seconds,
        "bytes": cost.bytes,
    }


def _csv(made: Audit, rows: list[dict[str, Any]]) -> str:
    fields = ["value", "difference", "low", "high", "p", "p_adjusted", "hurts"]
    costs = ["speed", "queries_per_second", "build_seconds", "bytes"]
    recall = [f"recall@{made.k}", "recall_low", "recall_high"]
    lines: list[list[Any]] = [["index", "metric", *fields, *recall, *costs, "queries", "items", "conventions"]]
    lines += [
        [
            row["index"], name, *(entry.get(one) for one in fields), *row["recall"].values(),
            *(row[one] for one in costs), made.queries, made.items, results.conventions_line(made.exact),
        ]
        for row in rows
        for name, entry in row["metrics"].items()
    ]  # fmt: skip
    return results.to_csv(lines)


def _grid(made: Audit) -> Grid:
    headings = ["index"]
    for metric in made.metrics:
        headings += [formatting.heading(metric), "index − exact", "p after Holm"]
    headings += [f"recall@{made.k}", "speed", "queries/s", "build", "size"]
    exact = [Cell("exact")]
    for score in made.exact.values():
        exact += [Cell(formatting.value(score.metric, score.value), formatting.interval(score.metric, score.interval))]
        exact += [Cell("–"), Cell("–")]
    rows = [[*exact, Cell("1.0000"), *_cost_cells(made.cost, 1.0)]]
    for audited in made.indexes:
        row = [Cell(audited.factory)]
        for pair in audited.pairs:
            score = audited.scores[pair.metric]
            ends = [] if pair.interval is None else [pair.interval.low, pair.interval.high]
            spread = ", ".join(formatting.signed(score.metric, end) for end in ends)
            row += [
                Cell(formatting.value(score.metric, score.value), formatting.interval(score.metric, score.interval)),
                Cell(formatting.signed(score.metric, pair.difference), f"[{spread}]" if spread else ""),
                Cell(formatting.p_value(pair.adjusted), best=pair in made.harm(audited)),
            ]
        around = audited.recall_interval
        recall = "" if around is None else f"[{around.low:.4f}, {around.high:.4f}]"
        rows.append([*row, Cell(f"{audited.recall:.4f}", recall), *_cost_cells(audited.cost, audited.speed)])
    notes = [
        f"{made.items} items, {made.similarity}; rankings of {made.depth} results. recall@{made.k}: the share of the "
        f"exact top {made.k} that the index finds. Speed: a multiple of exact search (faiss Flat). "
        "Size: of the file, or in the database.",
        results.basis_line(made.exact, intervals=True),
        results.conventions_line(made.exact),
        *results.counts_lines([made.exact]),
    ]
    return Grid(headings, rows, notes=notes)


def _cost_cells(cost: Any, speed: float) -> list[Cell]:
    return [
        Cell(f"{speed:.2f}×"),
        Cell(f"{cost.queries_per_second:,.0f}"),
        Cell(f"{cost.build_seconds:.2f} s"),
        Cell("–" if cost.bytes is None else format_bytes(cost.bytes)),
    ]
