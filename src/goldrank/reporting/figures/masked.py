"""Figures of masked runs: the accuracy of predicted names, and what it depends on.

Accuracy is hits@1: the share of masks, examples or pages whose first answer is right, where answers with equal scores
count as the mean over their orders. Intervals are bootstrapped over pages. Every figure of accuracy shows both readings
of what is right, the second with hollow marks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import counts
from goldrank.hits import Hits
from goldrank.masked.scoring.calibration import calibration
from goldrank.masked.scoring.level_scores import CONVENTIONS, score_level
from goldrank.masked.scoring.levels import Level, MaskedScores
from goldrank.masked.scoring.strata import UNKNOWN, Stratum, split_by
from goldrank.reporting.figures.captions import describe_intervals, describe_range
from goldrank.reporting.figures.description import Axis, Figure, LeftOut, Series, compact_number
from goldrank.reporting.figures.ranks import FIGURE_BOOTSTRAP, cutoffs, hits_at, score_series
from goldrank.scoring import Score

_BINS = 8
_WORDS = 10
_LINEAR_K = 20
"""Up to this number of guesses the axis is linear."""
_ACCURACY = "accuracy (hits@1)"


@dataclass(frozen=True, eq=False)
class MaskedRun:
    """A scored run with the properties of its model."""

    name: str
    """Unique name of the run in figures."""
    scores: MaskedScores
    family: str
    parameters: float | None
    """Number of parameters of the model, if known."""
    k: int
    """Number of guesses requested per mask."""
    reading_of: str = ""
    """The name of the run that this is a reading of."""

    @property
    def guesses(self) -> int:
        """Number of guesses per mask that were scored."""
        return self.k if self.scores.rules.k is None else min(self.k, self.scores.rules.k)

    @property
    def readings(self) -> list[MaskedRun]:
        """The run in each reading, the requested one first."""
        return [
            replace(self, name=f"{self.name}, {of.rules.profile}", scores=of, reading_of=self.name)
            for of in self.scores.readings
        ]

    @property
    def run_names(self) -> tuple[str]:
        """The name of the run, whatever its reading, as the runs of its series."""
        return (self.reading_of or self.name,)


Runs = Sequence[MaskedRun]


def _both(runs: Runs) -> list[tuple[MaskedRun, bool]]:
    """Return every run in each reading, and whether it is the second reading, which has hollow marks."""
    return [(reading, number > 0) for run in runs for number, reading in enumerate(run.readings)]


def accuracy_by_k(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot the share of masks, examples or pages whose right answer is among the first k, a line for each run."""
    name, most = "accuracy-by-k", max(run.guesses for run in runs)
    if most < 2:
        return LeftOut(name, "there is one guess for each mask")
    series = []
    for run, hollow in _both(runs):
        ks = sorted({k for k in cutoffs(most) if k <= run.guesses} | {run.guesses})
        scores = score_level(run.scores.levels[level].hits, hits_at(ks), run.name, FIGURE_BOOTSTRAP)
        series.append(replace(score_series(run.name, ks, scores, hollow=hollow), runs=run.run_names))
    return Figure(
        name,
        "How many guesses does it take?",
        _caption(runs, level),
        Axis("k, the number of answers considered", "log" if most > _LINEAR_K else "linear"),
        Axis(f"{level}s with the right answer within k", percent=True, low=0),
        tuple(series),
        note=_unanswered(runs),
    )


def accuracy_by_size(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot accuracy over the number of parameters, a series for each family."""
    name, sized = "accuracy-by-size", [run for run in runs if run.parameters]
    if len(sized) < 2:
        known = f"the size of {len(sized)} of {len(runs)} models is known" if len(runs) > 1 else "there is one run"
        return LeftOut(name, f"{known}, and two are needed")
    series = []
    for family, members in _by_family(sized).items():
        sizes = tuple(run.parameters or 0.0 for run in members)
        labels = tuple(run.name for run in members)
        # Only the first reading has labels; the second is above or below it.
        for of in _family_series(family, members, level):
            series.append(replace(of, x=sizes, labels=None if of.hollow else labels))
    unknown = [run.name for run in runs if not run.parameters]
    left_out = f"Left out, because their size is unknown: {', '.join(unknown)}." if unknown else ""
    return Figure(
        name,
        "Do larger models name more persons?",
        _caption(sized, level),
        Axis("model size (parameters)", "log"),
        Axis(_ACCURACY, percent=True, low=0),
        tuple(series),
        note=left_out,
    )


def accuracy_by_family(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot the accuracy of each run, grouped by family, the best family on top."""
    name = "accuracy-by-family"
    if len(runs) < 2:
        return LeftOut(name, "there is one run, and two are needed")
    accuracy = {run.name: _accuracy(run.scores.levels[level].hits).value for run in runs}
    families = {
        family: sorted(members, key=lambda run: -accuracy[run.name]) for family, members in _by_family(runs).items()
    }
    ordered = sorted(families.items(), key=lambda family: -accuracy[family[1][0].name])
    places = {run.name: place for place, run in enumerate(run for _, members in ordered for run in members)}
    series = [
        replace(of, x=of.y, y=tuple(places[run.name] for run in members))
        for family, members in ordered
        for of in _family_series(family, members, level)
    ]
    return Figure(
        name,
        "Which family of models names more persons?",
        _caption(runs, level),
        Axis(_ACCURACY, percent=True, low=0),
        Axis("run", categories=tuple(places)),
        tuple(series),
        note=_unanswered(runs),
    )


def _family_series(family: str, members: Runs, level: str) -> Iterator[Series]:
    """Yield the accuracies of the runs of a family as y, one series for each reading; x is set by the caller."""
    for number, readings in enumerate(zip(*(run.readings for run in members), strict=True)):
        scores = [_accuracy(run.scores.levels[level].hits) for run in readings]
        values, intervals = [score.value for score in scores], [score.interval for score in scores]
        name = f"{family}, {readings[0].scores.rules.profile}"
        runs = tuple(run.name for run in members)
        yield Series.with_intervals(name, values, values, intervals, "points", hollow=number > 0, runs=runs)


def accuracy_by_length(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot accuracy over the length of the text."""
    return accuracy_by_column(runs, "length", level)


def accuracy_by_column(runs: Runs, column: str, level: str = "mask") -> Figure | LeftOut:
    """Plot accuracy over a column of the examples, in ranges with about equally many examples or for each word."""
    name = _file_name(column)
    having = [run for run in runs if column in run.scores.examples]
    if not having:
        return LeftOut(name, f"the examples have no column {column!r}")
    words = having[0].scores.examples[column].dtype == object
    if any((run.scores.examples[column].dtype == object) != words for run in having):
        return LeftOut(name, f"{column!r} holds words in one run and numbers in another")
    both = _both(having)
    parts = {run.name: _strata(run, column, words) for run, _ in both}
    if any(level not in part.hits for strata in parts.values() for part in strata):
        return LeftOut(name, f"a page has examples with different {column!r}, so its one answer belongs to no class")
    labels = tuple(dict.fromkeys(part.label for strata in parts.values() for part in strata))
    if len(labels) < 2:
        return LeftOut(name, f"all examples have the same {column!r}" if labels else f"no example has a {column!r}")
    series = [
        replace(
            _by_stratum(run, parts[run.name], column, level, labels if words else ()), hollow=hollow, runs=run.run_names
        )
        for run, hollow in both
        if parts[run.name]
    ]
    low, high = min(min(each.x) for each in series), max(max(each.x) for each in series)
    log = not words and low > 0 and _spread(having, column) > 100 and high > low
    points = "" if words else _points(parts, [run for run, _ in both], column)
    title, label = _AXES.get(column, (f"Does accuracy depend on {column}?", column))
    return Figure(
        name,
        title,
        _caption(having, level),
        Axis(label, "log" if log else "linear", labels if words else ()),
        Axis(_ACCURACY, percent=True, low=0),
        tuple(series),
        note=" ".join(filter(None, [_unanswered(having), points])),
    )


_AXES = {
    "length": ("Does more text help?", "input length (characters)"),
    "masks": ("Do more masks help?", "masks in the example"),
    "views": ("Are well-known persons easier?", "page views"),
}


def distance_histogram(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot the distribution of the distances between first answers and names."""
    name = "distance-histogram"
    having = [run for run in runs if run.scores.legacy.distances.sum()]
    if not having:
        return LeftOut(name, "no mask has an answer")
    series = []
    for run in having:
        counted = run.scores.legacy.distances
        values = (counted / counted.sum()).tolist()
        # A step extends to the next edge, so the last edge repeats the last value.
        x = np.linspace(0, 1, len(values) + 1).tolist()
        series.append(Series(run.name, tuple(x), (*values, values[-1]), mark="steps"))
    return Figure(
        name,
        "How far off are the answers?",
        "Edit distance between the first answer and the name, both folded, over the length of the longer: 0 is the "
        f"name, 1 shares nothing with it. {_over(having, 'mask')}.",
        Axis("normalised edit distance of the first answer", low=0, high=1),
        Axis("share of answered masks", percent=True, low=0),
        tuple(series),
        note=_unanswered(runs, "are left out"),
    )


def frequent_answers(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot the ten most frequent first answers to masks; of several runs those with the highest mean share."""
    name, having = "frequent-answers", [run for run in runs if run.scores.frequent]
    if not having:
        return LeftOut(name, "no mask has an answer")
    total: dict[str, float] = {}
    for run in having:
        for answer, count in run.scores.frequent.items():
            total[answer] = total.get(answer, 0.0) + count / run.scores.counts.masks
    top = sorted(total, key=lambda answer: (-total[answer], answer))[:10]
    series = [
        Series(
            run.name,
            tuple(run.scores.frequent[answer] / run.scores.counts.masks for answer in top),
            tuple(range(len(top))),
            mark="bars",
            labels=tuple(compact_number(run.scores.frequent[answer]) for answer in top),
        )
        for run in having
    ]
    return Figure(
        name,
        "What is answered most often?",
        f"First answers as they were written, right or wrong, with how often each was given. {_over(having, 'mask')}.",
        Axis("share of masks", percent=True, low=0),
        Axis("first answer", categories=tuple(top)),
        tuple(series),
    )


def calibration_diagram(runs: Runs, level: str = "mask") -> Figure | LeftOut:
    """Plot the reliability diagram: accuracy over confidence."""
    name, series, remarks = "calibration", [], []
    for run, hollow in _both(runs):
        at = run.scores.levels[level]
        calibrated = calibration(at)
        if calibrated.outside:
            remarks.append(f"{run.name}: {calibrated.outside} confidences outside 0 to 1 are left out.")
        if not calibrated.answers:
            continue
        filled = [number for number, each in enumerate(calibrated.bins) if each.count]
        samples = [at.sample(values) for values in _right_by_bin(at, filled, len(calibrated.bins))]
        interval = calibrated.interval
        bounds = "" if interval is None else f" [{interval.low:.3f}, {interval.high:.3f}]"
        series.append(
            Series.with_intervals(
                f"{run.name} · ECE {calibrated.ece:.3f}{bounds}",
                [calibrated.bins[number].confidence for number in filled],
                [calibrated.bins[number].accuracy for number in filled],
                FIGURE_BOOTSTRAP.intervals(samples),
                labels=tuple(compact_number(calibrated.bins[number].count) for number in filled),
                hollow=hollow,
                runs=run.run_names,
            )
        )
    if not series:
        return LeftOut(name, "no answer has a confidence between 0 and 1")
    return Figure(
        name,
        "Can the confidence be believed?",
        "On the dashed line, a share c of the answers with confidence c is right. ECE: the mean gap to it over ten "
        f"equal bins. {_caption(runs, level, 'of equal scores the first')}",
        Axis("mean confidence of the first answer", percent=True, low=0, high=1),
        Axis("share of right answers", percent=True, low=0, high=1),
        tuple(series),
        diagonal=True,
        note=" ".join(remarks),
    )


FIGURES: dict[str, Callable[[Runs, str], Figure | LeftOut]] = {
    "accuracy-by-k": accuracy_by_k,
    "accuracy-by-size": accuracy_by_size,
    "accuracy-by-length": accuracy_by_length,
    "accuracy-by-family": accuracy_by_family,
    "distance-histogram": distance_histogram,
    "frequent-answers": frequent_answers,
    "calibration": calibration_diagram,
}
"""Figures by name; `accuracy_by_column` makes a further one for each column."""


def _accuracy(hits: Hits) -> Score:
    return score_level(hits, ["hits@1"], "", FIGURE_BOOTSTRAP)["hits@1"]


def _by_family(runs: Runs) -> dict[str, list[MaskedRun]]:
    families: dict[str, list[MaskedRun]] = {}
    for run in runs:
        families.setdefault(run.family, []).append(run)
    return families


def _strata(run: MaskedRun, column: str, words: bool) -> list[Stratum]:
    strata = split_by(run.scores, column, _WORDS if words else _BINS)
    # Unknown numbers have no position on an axis.
    return strata if words else [part for part in strata if part.label != UNKNOWN]


def _by_stratum(run: MaskedRun, parts: Sequence[Stratum], column: str, level: str, labels: Sequence[str]) -> Series:
    scores = [_accuracy(part.hits[level]) for part in parts]
    values = run.scores.examples[column]
    if labels:
        x = [float(labels.index(part.label)) for part in parts]
    else:
        x = [float(np.median(values[part.examples].astype(np.float64))) for part in parts]
    y, intervals = [score.value for score in scores], [score.interval for score in scores]
    if labels:
        return Series.with_intervals(run.name, x, y, intervals, "points")
    sizes = tuple(f"{part.label}: {counts(len(part.hits[level]), level)}" for part in parts)
    return Series.with_intervals(run.name, x, y, intervals, labels=sizes)


def _points(parts: Mapping[str, Sequence[Stratum]], runs: Runs, column: str) -> str:
    """Return a sentence on the points of a curve over numbers."""
    single = all(
        len(np.unique(run.scores.examples[column][part.examples])) == 1 for run in runs for part in parts[run.name]
    )
    if single:
        return f"Each point is one value of {column}."
    return f"Each point is a range of {column} with about as many examples as the others, drawn at their median."


def _spread(runs: Runs, column: str) -> float:
    """Return the ratio of the largest to the smallest positive value."""
    values: NDArray[Any] = np.concatenate([run.scores.examples[column].astype(np.float64) for run in runs])
    positive = values[values > 0]
    return float(positive.max() / positive.min()) if len(positive) else 1.0


def _right_by_bin(level: Level, filled: Sequence[int], bins: int) -> Iterator[NDArray[np.float64]]:
    """Yield for each bin of confidence whether its answers are right, with NaN for all other rows."""
    known = np.nan_to_num(np.clip(level.confidence, 0, 1), nan=-1.0)
    number = np.where(known < 0, -1, np.minimum((known * bins).astype(np.int64), bins - 1))
    for at in filled:
        yield np.where(number == at, level.right.astype(np.float64), np.nan)


def _file_name(column: str) -> str:
    """Return a name for the figure of a column that no other figure has."""
    plain = "".join(character if character.isalnum() else "-" for character in column).strip("-") or "column"
    name = f"accuracy-by-{plain}"
    return name if name not in FIGURES or column == "length" else f"accuracy-by-column-{plain}"


def _caption(runs: Runs, level: str, ties: str = f"ties {CONVENTIONS['ties']}") -> str:
    rules = dict.fromkeys(
        f"{of.rules.profile}: matcher {of.rules.matcher}, tier {of.rules.tier.name.lower()} or better"
        + ("" if level == "mask" else f", pool {of.rules.pool}")
        for run in runs
        for of in run.scores.readings
    )
    return f"{_over(runs, level)}; {'; '.join(rules)}; {ties}. {describe_intervals(FIGURE_BOOTSTRAP, 'pages')}."


def _over(runs: Runs, level: str) -> str:
    pages = describe_range({run.scores.counts.pages for run in runs}, "page")
    if level == "page":
        return pages
    return f"{describe_range({len(run.scores.levels[level].hits) for run in runs}, level)} of {pages}"


def _unanswered(runs: Runs, what: str = "count as wrong") -> str:
    without = [f"{run.scores.counts.unanswered} of {run.name}" for run in runs if run.scores.counts.unanswered]
    return f"Masks without an answer {what}: {', '.join(without)}." if without else ""
