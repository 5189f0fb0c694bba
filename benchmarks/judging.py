"""Simulations of `goldrank judge`: hide the gold, reveal it to a sample, and see whether intervals and winners hold.

`python -m benchmarks.judging` prints the tables of ``docs/guide/judged-estimates.md``, whose numbers are in
``benchmarks/results/judging.json``. The collections with real judgments are
looked for in ``$GOLDRANK_TEST_DATA``, else in ``../shared/data`` beside the repository; without them only the made
collection is used.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

import goldrank as gr
from goldrank.encoders.wordllama import WordLlama
from goldrank.hits import Floats, Run
from goldrank.judging.deciding_items import DecidingItems
from goldrank.judging.estimates import score_systems
from goldrank.judging.next_labels import make_race
from goldrank.judging.plans import Unit
from goldrank.judging.pools import Pool, build_pool
from goldrank.metrics import Metric
from goldrank.specs import Spec
from goldrank.stats.agreement import cohen_kappa
from goldrank.stats.prediction_powered import MeanEstimates, estimate_means

METRICS = [Metric.parse(name) for name in ("precision@10", "recall@20", "mrr", "ndcg@10", "map")]
SYSTEMS = ("bm25", "tfidf", "wordllama", "lsa:64", "random:32", "fuse:rrf(bm25,wordllama)")
DEPTH = 20
COLLECTIONS = {"Cranfield": "cran", "CISI": "cisi", "TIME": "time"}
SIZES = (20, 40)
RESULTS = Path(__file__).parent / "results" / "judging.json"
_LOOK = 10
"""The queries between two looks at a race."""

Pair = tuple[str, str]


@dataclass(frozen=True, eq=False)
class Hidden:
    """A collection whose gold is known to the simulation: the pool of all systems, and properties of its pairs."""

    name: str
    pool: Pool
    rankings: dict[str, Run]
    grades: dict[Pair, int]
    length: Floats
    """The share of pairs with a shorter text, in the order of ``grades``."""
    shared: Floats
    """The share of pairs with fewer words of the query."""
    similarity: Floats | None
    """Of the text to the query by a model, if there are texts."""

    @cached_property
    def human(self) -> Floats:
        """The grades of the pairs."""
        return np.array(list(self.grades.values()), dtype=np.float64)

    def values(self, grades: Floats) -> dict[str, Floats]:
        """Return the values of each metric, as (queries, systems), with these grades of the pairs."""
        given = dict(zip(self.grades, grades.astype(int).tolist(), strict=True))
        return score_systems(self.pool, given, self.rankings, METRICS, list(self.pool.items))


def read(folder: Path, name: str) -> Hidden:
    """Return a collection with real judgments."""
    from goldrank.data.collections import smart

    collection = smart.read(folder)
    runs, gold = {}, {}
    for model in SYSTEMS:
        evaluation = gr.evaluate(model, str(folder))
        assert isinstance(evaluation, gr.RankingEvaluation)
        runs[model], gold = evaluation.run, evaluation.gold.to_dict()
    # The best grade of Cranfield is 1, and the worst 4; -1 is not relevant.
    grade: Callable[[float], int] = (lambda g: min(3, 5 - int(g)) if g > 0 else 0) if name == "Cranfield" else int
    pool = build_pool(runs, gold, depth=DEPTH)
    grades = {
        (query, item): max(0, grade(gold[query].get(item, 0))) for query in pool.items for item in pool.ids(query)
    }
    texts = {document.id: f"{document.title} {document.text}" for document in collection.items}
    queries = {document.id: document.text for document in collection.queries}
    words = {key: set(text.lower().split()) for key, text in texts.items()}
    shared = [len(set(queries[q].lower().split()) & words[i]) / len(queries[q].split()) for q, i in grades]
    return Hidden(
        name,
        pool,
        runs,
        grades,
        _ranked(np.array([len(texts[item]) for _, item in grades], dtype=np.float64)),
        _ranked(np.array(shared)),
        _similarity(grades, queries, texts),
    )


def make(queries: int = 300, items: int = 60, seed: int = 5) -> Hidden:
    """Return a made collection: six systems that see the relevance of items with errors, some of them shared."""
    rng = np.random.default_rng(seed)
    errors = dict(zip(SYSTEMS, (0.65, 0.8, 0.75, 1.1, 6.0, 0.6), strict=True))
    runs: dict[str, dict[str, dict[str, float]]] = {name: {} for name in SYSTEMS}
    truth: dict[Pair, int] = {}
    for number in range(queries):
        relevance = rng.normal(0, 1, items)
        seen = relevance + rng.normal(0, 0.7 + max(0.0, rng.normal(0, 0.5)), items)
        truth |= {(f"q{number}", f"d{i}"): int(np.sum(relevance[i] > [1.4, 2.0, 2.5])) for i in range(items)}
        for name, error in errors.items():
            scores = seen + rng.normal(0, error, items)
            runs[name][f"q{number}"] = {f"d{i}": float(scores[i]) for i in np.argsort(-scores)[:DEPTH]}
    rankings = {name: Run(run) for name, run in runs.items()}
    pool = build_pool(rankings, [f"q{number}" for number in range(queries)], depth=DEPTH)
    grades = {(query, item): truth[query, item] for query in pool.items for item in pool.ids(query)}
    return Hidden("made", pool, rankings, grades, rng.random(len(grades)), rng.random(len(grades)), None)


def _ranked(values: Floats) -> Floats:
    return np.argsort(np.argsort(values)) / len(values)


def _similarity(grades: Iterable[Pair], queries: Mapping[str, str], texts: Mapping[str, str]) -> Floats:
    encoder = WordLlama(Spec("wordllama"))  # its vectors have unit length
    unit = [encoder.encode_batch(list(side.values()), "item") for side in (queries, texts)]
    at = [{key: number for number, key in enumerate(side)} for side in (queries, texts)]
    pairs = [(at[0][query], at[1][item]) for query, item in grades]
    first, second = (np.array(column) for column in zip(*pairs, strict=True))
    similarity: Floats = np.einsum("ij,ij->i", unit[0][first], unit[1][second]).astype(np.float64)
    return similarity


def judges(data: Hidden, seed: int = 1) -> dict[str, Floats]:
    """Return the grades of model judges with planted errors, and of a real one.

    The first four miss some relevant items and take some others for relevant: more of the longest texts, of those that
    one system ranks at 10 or better, of those that share most words with the query, or of all alike. The adversarial
    one inverts the grades and helps one system. The noise knows the share of relevant items only. The real one
    thresholds the similarity of text and query by wordllama, at the share of relevant items of 20 queries.
    """
    rng = np.random.default_rng(seed)
    human, relevant = data.human, data.human > 0
    helped = {(q, e.item) for q, row in data.pool.items.items() for e in row if e.ranks.get("wordllama", DEPTH) <= 10}
    own = np.array([pair in helped for pair in data.grades])
    u = rng.random(len(human))

    def planted(leniency: Floats, misses: float, extra: float) -> Floats:
        grades = np.where(relevant & (u < 2 * misses * (1 - leniency)), 0.0, human)
        return np.where(~relevant & (u < 2 * extra * leniency), 1.0, grades)

    result = {
        "long texts": planted(1.5 * data.length**2, 0.15, 0.04),
        "one system": planted(np.where(own, 1.0, 0.2), 0.15, 0.04),
        "shared words": planted(1.5 * data.shared**2, 0.15, 0.04),
        "noisy": planted(np.full(len(human), 0.5), 0.3, 0.045),
        "noise": (u < relevant.mean()).astype(np.float64),
        "adversarial": np.where(relevant, 0.0, own.astype(np.float64)),
    }
    if data.similarity is not None:
        sampled = set(rng.permutation(list(data.pool.items))[:20].tolist())
        inside = np.array([query in sampled for query, _ in data.grades])
        limit = np.quantile(data.similarity[inside], 1 - relevant[inside].mean())
        result["wordllama"] = (data.similarity > limit).astype(np.float64)
    return result


@dataclass(frozen=True)
class Coverage:
    """How often the intervals of one judge cover the full-judgment value, and how wide they are."""

    collection: str
    judge: str
    kappa: float
    size: int
    means: float
    """The share of draws in which intervals cover, over all metrics and systems."""
    differences: float
    """The same over all metrics and pairs of systems."""
    cells: int
    """Metrics of systems and of pairs."""
    below: int
    """The cells that are covered in less than 93% of the draws."""
    lowest: float
    """The smallest coverage of a cell."""
    mean_widths: list[float]
    """Widths for each metric, relative to those of human labels alone."""
    difference_widths: list[float]
    classic_widths: list[float]
    """Of differences, relative to the interval of Student's t from human labels alone."""


def coverage(data: Hidden, judge: str, grades: Floats, size: int, draws: int, seed: int = 0) -> Coverage:
    """Return the coverage of the corrected intervals over random samples of *size* queries."""
    human, model = data.values(data.human), data.values(grades)
    queries = len(data.pool.items)
    sample = np.argsort(np.random.default_rng(seed).random((draws, queries)), axis=1)[:, :size]
    pairs = np.array(list(combinations(range(len(data.rankings)), 2)))
    means: list[Floats] = []
    differences: list[Floats] = []
    widths: list[float] = []
    wider: list[float] = []
    classic: list[float] = []
    for metric in map(str, METRICS):
        h, m = human[metric], model[metric]
        both = [(h, m, False), (h[:, pairs[:, 0]] - h[:, pairs[:, 1]], m[:, pairs[:, 0]] - m[:, pairs[:, 1]], True)]
        for values, predicted, signed in both:
            alone = estimate_means(values[sample], population=queries, signed=signed)
            corrected = estimate_means(
                values[sample], predicted[sample], predicted.mean(axis=0), population=queries, signed=signed
            )
            (differences if signed else means).append(_covers(corrected, values.mean(axis=0)))
            ratio = (corrected.high - corrected.low).mean(axis=0) / (alone.high - alone.low).mean(axis=0)
            (wider if signed else widths).append(float(ratio.mean()))
            if signed:
                classic.append(float(np.mean(corrected.high - corrected.low) / _student(values[sample], queries)))
    kappa = cohen_kappa(data.human > 0, grades > 0, weights="plain").value
    cells = np.concatenate([*means, *differences])
    return Coverage(
        collection=data.name,
        judge=judge,
        kappa=float(kappa or 0),
        size=size,
        means=float(np.mean(means)),
        differences=float(np.mean(differences)),
        cells=len(cells),
        below=int((cells < 0.93).sum()),
        lowest=float(cells.min()),
        mean_widths=widths,
        difference_widths=wider,
        classic_widths=classic,
    )


def _covers(estimate: MeanEstimates, truth: Floats) -> Floats:
    inside: Floats = ((estimate.low <= truth + 1e-12) & (estimate.high >= truth - 1e-12)).mean(axis=0)
    return inside


def _student(sample: Floats, population: int) -> float:
    from scipy.special import stdtrit

    n = sample.shape[1]
    spread = sample.std(axis=1, ddof=1) * np.sqrt(1 / n - 1 / population)
    return float(2 * stdtrit(n - 1, 0.975) * spread.mean())


@dataclass(frozen=True)
class Finish:
    """How many labels a race took until the winner was decided, on average over draws."""

    collection: str
    metric: str
    method: str
    labels: float
    right: float
    """The share of draws in which the winner is at most the margin below the best system."""


def race(data: Hidden, metric: Metric, grades: Floats | None, draws: int, *, active: bool) -> Finish:
    """Return how many labels decide the winner.

    Random judging labels the whole pools of queries in random order. Active judging asks only for the items
    that matter to the systems that are left. Both use the same tests.
    """
    truth = data.values(data.human)[str(metric)]
    prediction = None if grades is None else data.values(grades)[str(metric)]
    items = DecidingItems(metric, data.pool, data.rankings)
    names, best = list(data.pool.items), truth.mean(axis=0).max()
    labels, right = [], []
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        units: list[Unit] = []
        left, drawn = list(range(len(names))), list[int]()
        alive = list(range(len(data.rankings)))
        while True:
            is_first = not active or not units
            for number in rng.permutation(left)[:_LOOK].tolist():
                asked = data.pool.ids(names[number]) if is_first else items.of(names[number], alive)
                units.append(Unit(len(units), names[number], tuple(asked), 1 / len(left), (1.0,) * len(asked)))
                left.remove(number)
                drawn.append(number)
            state = make_race(units, truth[drawn], items, prediction)
            result = state.decide()
            alive = result.alive
            if len(result.alive) == 1 or result.equal or not left:
                break
        labels.append(sum(len(unit.items) for unit in units))
        right.append(truth[:, result.leader].mean() >= best - state.margin - 1e-9)
    method = "random" if not active else "no judge" if grades is None else "with judge"
    return Finish(data.name, str(metric), method, float(np.mean(labels)), float(np.mean(right)))


def collections(folder: Path | None) -> list[Hidden]:
    """Return all collections that are here."""
    real = [read(folder / "collections" / part, name) for name, part in COLLECTIONS.items()] if folder else []
    return [*real, make()]


def data_folder() -> Path | None:
    """Return the folder of public data, if there is one."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    folder = Path(os.environ.get("GOLDRANK_TEST_DATA") or beside)
    return folder if folder.is_dir() else None


def coverage_lines(results: Sequence[Coverage]) -> list[str]:
    """Return the table of coverage by judge in Markdown, over all collections."""
    lines = [
        "| judge | κ | judged | means covered | differences | lowest cell | cells below 93% | narrower: means "
        "| differences |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    cells: dict[tuple[str, int], list[Coverage]] = {}
    for row in results:
        cells.setdefault((row.judge, row.size), []).append(row)
    for (judge, size), rows in cells.items():
        kappas = [row.kappa for row in rows]
        lines.append(
            f"| {judge} | {min(kappas):.2f} to {max(kappas):.2f} | {size} | "
            f"{np.mean([row.means for row in rows]):.1%} | {np.mean([row.differences for row in rows]):.1%} | "
            f"{min(row.lowest for row in rows):.1%} | {sum(row.below for row in rows)} of "
            f"{sum(row.cells for row in rows)} | {_narrower([row.mean_widths for row in rows])} | "
            f"{_narrower([row.difference_widths for row in rows])} |"
        )
    return lines


def _narrower(widths: Sequence[Sequence[float]]) -> str:
    return f"{max(0.0, 1 - float(np.mean(widths))):.0%}"


def width_lines(results: Sequence[Coverage]) -> list[str]:
    """Return the tables of widths by collection and by metric in Markdown, over the judges with κ from 0.5 up."""
    good = [row for row in results if row.kappa >= 0.5]
    lines = ["| κ ≥ 0.5 | narrower: means | differences | differences, against Student's t |", "|---|--:|--:|--:|"]
    for name in dict.fromkeys(row.collection for row in good):
        rows = [row for row in good if row.collection == name]
        columns = ([getattr(row, f"{kind}_widths") for row in rows] for kind in _KINDS)
        lines.append(f"| {name} | {' | '.join(map(_narrower, columns))} |")
    for at, metric in enumerate(METRICS):
        columns = ([[getattr(row, f"{kind}_widths")[at]] for row in good] for kind in _KINDS)
        lines.append(f"| {metric} | {' | '.join(map(_narrower, columns))} |")
    widest = max(max(*row.mean_widths, *row.difference_widths) for row in results)
    return [*lines, "", f"The widest of all, relative to human labels alone: {widest:.3f}."]


_KINDS = ("mean", "difference", "classic")


def race_lines(results: Sequence[Finish]) -> list[str]:
    """Return the table of labels in Markdown."""
    lines = [
        "| collection | metric | random judging | judge next | with a judge | share | right |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    cells: dict[tuple[str, str], dict[str, Finish]] = {}
    for row in results:
        cells.setdefault((row.collection, row.metric), {})[row.method] = row
    for (collection, metric), by in cells.items():
        share = by["with judge"].labels / by["random"].labels
        lines.append(
            f"| {collection} | {metric} | {by['random'].labels:.0f} | {by['no judge'].labels:.0f} | "
            f"{by['with judge'].labels:.0f} | {share:.2f} | {min(part.right for part in by.values()):.0%} |"
        )
    return lines


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    options.add_argument("--draws", type=int, default=1000, help="samples of queries for coverage (default 1000)")
    options.add_argument("--races", type=int, default=10, help="races for each table cell (default 10)")
    options.add_argument("--output", type=Path, help="file of the results, from which the page is checked")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as cache:
        os.environ.setdefault("GOLDRANK_CACHE", cache)
        data = collections(data_folder())
    measured = [
        coverage(each, name, grades, size, args.draws)
        for each in data
        for name, grades in judges(each).items()
        for size in SIZES
    ]
    print("\n".join([*coverage_lines(measured), "", *width_lines(measured), ""]), flush=True)
    finished = [
        race(each, metric, grades, args.races, active=active)
        for each in data
        for metric in METRICS
        for grades, active in ((None, False), (None, True), (judges(each)["long texts"], True))
    ]
    print("\n".join(race_lines(finished)))
    if args.output is not None:
        rows = {"coverage": [asdict(row) for row in measured], "races": [asdict(row) for row in finished]}
        text = json.dumps(rows, indent=1, default=float)
        args.output.write_text(re.sub(r"\d\.\d{4,}", lambda number: f"{float(number[0]):.4f}", text) + "\n")


def stored_tables(file: Path = RESULTS) -> list[str]:
    """Return the tables of stored results in Markdown."""
    rows = json.loads(file.read_text())
    measured, finished = [Coverage(**row) for row in rows["coverage"]], [Finish(**row) for row in rows["races"]]
    return [*coverage_lines(measured), *width_lines(measured), *race_lines(finished)]


if __name__ == "__main__":
    main()
