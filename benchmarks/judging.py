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
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path

import numpy as np

import goldrank as gr
from goldrank.encoders.wordllama import WordLlama
from goldrank.hits import Floats, Run
from goldrank.judging.estimates import score_systems
from goldrank.judging.next_labels import LABELS, MARGIN
from goldrank.judging.plans import plan_items
from goldrank.judging.pool_scores import PoolScores
from goldrank.judging.pools import Pool, build_pool
from goldrank.judging.races import Race
from goldrank.judging.relevance import RelevancePredictions
from goldrank.judging.sampled_items import sampled_values
from goldrank.metrics import Metric
from goldrank.specs import Spec
from goldrank.stats.agreement import cohen_kappa
from goldrank.stats.prediction_powered import MeanEstimates, estimate_means
from goldrank.stats.round_estimates import martingale_radius

METRICS = [Metric.parse(name) for name in ("precision@10", "recall@20", "mrr", "ndcg@10", "map")]
SYSTEMS = ("bm25", "tfidf", "wordllama", "lsa:64", "random:32", "fuse:rrf(bm25,wordllama)")
DEPTH = 20
COLLECTIONS = {"Cranfield": "cran", "CISI": "cisi", "TIME": "time"}
SIZES = (20, 40)
ITEM_COLLECTIONS, ITEM_QUERIES, ITEM_SHARES = ("Cranfield", "CISI"), 40, (0.35, 0.5, 0.7)
RESULTS = Path(__file__).parent / "results" / "judging.json"
RACE_JUDGES = (None, "long texts", "noisy")
"""The model judges of races; None races without one."""
_ALPHA = 0.05
_LOOK = 10
"""The queries between two looks at random judging."""

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
        by_pair = dict(zip(self.grades, grades.astype(int).tolist(), strict=True))
        return score_systems(self.pool, by_pair, self.rankings, METRICS, list(self.pool.items))


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
class ItemEstimates:
    """The estimates of a metric from a sample of the items of every query, over many samples."""

    collection: str
    metric: str
    share: float
    """Of the items that are judged."""
    refused: float
    """The share of samples in which the metric is refused; the following is of those in which it is not."""
    bias: float | None
    """The mean error, over all systems; None if all are refused."""
    largest: float | None
    """The mean error of the system with the largest one."""
    covered: float | None
    """The share of intervals that cover the mean over all queries of the collection, over all systems."""


def estimate_from_items(data: Hidden, share: float, draws: int) -> list[ItemEstimates]:
    """Return the errors of all metrics that can be estimated, for projects of random queries.

    An error is the difference to the value if people had judged all items of the same queries.
    """
    truth, queries = data.values(data.human), list(data.pool.items)
    metrics = [metric for metric in METRICS if metric.name != "mrr"]
    estimates: dict[str, list[Floats]] = {str(metric): [] for metric in metrics}
    expected: dict[str, list[Floats]] = {str(metric): [] for metric in metrics}
    human = {pair: int(grade) for pair, grade in data.grades.items()}
    for seed in range(draws):
        chosen = np.random.default_rng(seed).permutation(len(queries))[:ITEM_QUERIES]
        pool = replace(data.pool, items={queries[number]: data.pool.items[queries[number]] for number in chosen})
        units = plan_items(pool, budget=round(share * len(pool)), seed=seed, double=0).units
        try:
            values = sampled_values(pool, units, human, data.rankings, metrics)
        except gr.InputError:  # ratios are refused
            values = sampled_values(pool, units, human, data.rankings, metrics[:1])
        for name, estimate in values.items():
            estimates[name].append(estimate)
            expected[name].append(truth[name][chosen].mean(axis=0))
    return [_item_estimates(data, str(metric), share, draws, estimates, expected, truth) for metric in metrics]


def _item_estimates(
    data: Hidden,
    name: str,
    share: float,
    draws: int,
    estimates: Mapping[str, list[Floats]],
    expected: Mapping[str, list[Floats]],
    truth: Mapping[str, Floats],
) -> ItemEstimates:
    refused = 1 - len(estimates[name]) / draws
    if refused == 1:
        return ItemEstimates(data.name, name, share, refused, None, None, None)
    values = np.stack(estimates[name])
    bias = (values.mean(axis=1) - np.stack(expected[name])).mean(axis=0)
    intervals = estimate_means(values, population=values.shape[1], beyond=True)
    covered = float(_covers(intervals, truth[name].mean(axis=0)).mean())
    largest = float(bias[np.abs(bias).argmax()])
    return ItemEstimates(data.name, name, share, refused, float(bias.mean()), largest, covered)


@dataclass(frozen=True)
class Finish:
    """How many labels it took until the winner was decided, on average over draws."""

    collection: str
    metric: str
    method: str
    """``random judging``, ``no judge``, or the model judge of a race."""
    labels: float
    right: float
    """The share of draws in which the winner is at most the margin below the best system."""
    covered: float | None = None
    """The share of 95% intervals of differences, over draws and pairs, that hold the true one at the end of a race."""


@dataclass(frozen=True)
class End:
    """How a race ended."""

    labels: int
    winner: int
    covered: float | None = None


def races(data: Hidden, metric: Metric, draws: int) -> list[Finish]:
    """Return how many labels random judging and `goldrank judge next` need, without a judge and with some."""
    truth = data.values(data.human)[str(metric)]
    scores = PoolScores(metric, data.pool, data.rankings)
    model = judges(data)
    results = [_finish(data, metric, "random judging", truth, [judge_randomly(scores, truth, n) for n in range(draws)])]
    for name in RACE_JUDGES:
        grades = np.full(len(data.grades), np.nan) if name is None else model[name]
        ends = [race(data, scores, grades, truth, seed) for seed in range(draws)]
        results.append(_finish(data, metric, name or "no judge", truth, ends))
    return results


def _finish(data: Hidden, metric: Metric, method: str, truth: Floats, ends: Sequence[End]) -> Finish:
    means = truth.mean(axis=0)
    right = np.mean([means[end.winner] >= means.max() - MARGIN - 1e-9 for end in ends])
    labels, covered = np.mean([end.labels for end in ends]), [end.covered for end in ends if end.covered is not None]
    return Finish(
        data.name, str(metric), method, float(labels), float(right), float(np.mean(covered)) if covered else None
    )


def race(data: Hidden, scores: PoolScores, grades: Floats, truth: Floats, seed: int) -> End:
    """Return the end of a race whose labels are those that `goldrank judge next` asks for from the start.

    Args:
        data: The collection.
        scores: The scores of its systems.
        grades: The grades of a model judge; NaN for none.
        truth: The values of the metric with all labels, as (queries, systems).
        seed: Of the draws.
    """
    rng = np.random.default_rng(seed)
    state = Race(scores, RelevancePredictions(data.pool, grades), margin=MARGIN, alpha=_ALPHA)
    while True:
        standing = state.standing()
        if not standing.rivals or standing.is_equal:
            break
        probability = state.probabilities(LABELS)
        items = state.draw(probability, rng)
        state.add_round(probability, items, data.human[items])
    first, second = np.triu_indices(scores.systems, 1)
    differences = (truth[:, first] - truth[:, second]).mean(axis=0)
    low, high = (limits[first, second] for limits in state.intervals())
    covered = (low - 1e-9 <= differences) & (differences <= high + 1e-9)
    return End(int(state.labelled.sum()), standing.leader, float(covered.mean()))


def judge_randomly(scores: PoolScores, truth: Floats, seed: int) -> End:
    """Return the end if whole pools of random queries are judged until the winner is decided.

    The test after every ten queries is that of races: the variance of the mean of a part of the queries, drawn without
    replacement, takes the place of the variance of rounds, and the first to reach a limit is dropped.
    """
    queries, systems = truth.shape
    order = np.random.default_rng(seed).permutation(queries)
    below = np.full((systems, systems), -np.inf)
    for count in range(_LOOK, queries + _LOOK, _LOOK):
        sample = truth[order[:count]]
        differences = sample[:, :, None] - sample[:, None, :]
        mean = differences.mean(axis=0)
        if count < queries:
            variance = np.maximum(differences.var(axis=0, ddof=1), 1e-9) / count * (1 - count / queries)
            below = np.maximum(below, mean - martingale_radius(1 / variance, _ALPHA / (systems - 1)) * variance)
        else:
            below = mean
        left = np.flatnonzero((below <= 1e-12).all(axis=0))
        leader = int(left[mean[np.ix_(left, left)].sum(axis=1).argmax()])
        if (below[leader, left[left != leader]] >= -MARGIN).all():
            break
    return End(int(scores.sizes[order[:count]].sum()), leader)


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


def item_lines(results: Sequence[ItemEstimates]) -> list[str]:
    """Return the table of estimates from sampled items in Markdown."""
    lines = [
        "| collection | metric | items judged | refused | mean error | of the worst system | covered |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    for row in results:
        cells = "– | – | –"
        if row.bias is not None:
            cells = f"{row.bias:+.3f} | {row.largest:+.3f} | {row.covered:.1%}"
        lines.append(f"| {row.collection} | {row.metric} | {row.share:.0%} | {row.refused:.0%} | {cells} |")
    return lines


def race_lines(results: Sequence[Finish]) -> list[str]:
    """Return the table of labels in Markdown; the shares are of the labels that random judging needs."""
    baseline, *methods = dict.fromkeys(row.method for row in results)
    headings = " | ".join(f"{method} | share" for method in methods)
    lines = [
        f"| collection | metric | {baseline} | {headings} | right |",
        "|---|---|" + "--:|" * (2 * len(methods) + 2),
    ]
    cells: dict[tuple[str, str], dict[str, Finish]] = {}
    for row in results:
        cells.setdefault((row.collection, row.metric), {})[row.method] = row
    shares: dict[str, list[float]] = {method: [] for method in methods}
    for (collection, metric), by in cells.items():
        line = f"| {collection} | {metric} | {by[baseline].labels:.0f} | "
        for method, column in shares.items():
            column.append(by[method].labels / by[baseline].labels)
            line += f"{by[method].labels:.0f} | {column[-1]:.2f} | "
        lines.append(f"{line}{min(part.right for part in by.values()):.0%} |")
    means = " | ".join(f"| {np.mean(column):.2f}" for column in shares.values())
    covered = [row.covered for row in results if row.covered is not None]
    return [
        *lines,
        f"| mean | | | {means} | |",
        "",
        f"Of the 95% intervals at the end of a race, {np.mean(covered):.1%} hold the true difference, and "
        f"{min(covered):.1%} of those of a collection, metric and judge at least.",
    ]


def main() -> None:
    """Print the tables."""
    options = argparse.ArgumentParser(prog="python -m benchmarks.judging", description=__doc__)
    options.add_argument("--draws", type=int, default=1000, help="samples of queries for coverage (default 1000)")
    options.add_argument("--races", type=int, default=20, help="races for each table cell (default 20)")
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
    sampled = [
        row
        for each in data
        if each.name in ITEM_COLLECTIONS
        for share in ITEM_SHARES
        for row in estimate_from_items(each, share, args.draws // 2)
    ]
    print("\n".join([*item_lines(sampled), ""]), flush=True)
    finished = [row for each in data for metric in METRICS for row in races(each, metric, args.races)]
    print("\n".join(race_lines(finished)))
    if args.output is not None:
        parts: dict[str, Sequence[Coverage | Finish | ItemEstimates]]
        parts = {"coverage": measured, "races": finished, "items": sampled}
        rows = {name: [asdict(row) for row in part] for name, part in parts.items()}
        text = json.dumps(rows, indent=1, default=float)
        args.output.write_text(re.sub(r"\d\.\d{4,}", lambda number: f"{float(number[0]):.4f}", text) + "\n")


def stored_tables(file: Path = RESULTS) -> list[str]:
    """Return the tables of stored results in Markdown."""
    rows = json.loads(file.read_text())
    measured, finished = [Coverage(**row) for row in rows["coverage"]], [Finish(**row) for row in rows["races"]]
    sampled = [ItemEstimates(**row) for row in rows["items"]]
    return [*coverage_lines(measured), *width_lines(measured), *item_lines(sampled), *race_lines(finished)]


if __name__ == "__main__":
    main()
