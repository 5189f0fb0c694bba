"""Labels: names that users give to runs and models."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.io.column_names import listing


def assign_labels(labels: Mapping[str, str], runs: Mapping[str, Collection[str]]) -> dict[str, str]:
    """Return the label of each run that has one, by run.

    Args:
        labels: What each label stands for: any name of a run, or the beginning of one run.
        runs: All names of each run, such as its key and its model. A label may stand for the runs of one model.

    Raises:
        InputError: A label stands for no run, or a run has two labels.

    >>> assign_labels({"small": "st:bge"}, {"wines-bm25": ["bm25"], "wines-st-bge": ["st:bge"]})
    {'wines-st-bge': 'small'}
    """
    assigned: dict[str, str] = {}
    for label, spec in labels.items():
        matching = [run for run, names in runs.items() if spec == run or spec in names]
        beginning = [run for run in runs if run.startswith(spec)]
        matching = matching or (beginning if len(beginning) == 1 else [])
        if not matching:
            known = dict.fromkeys(name for run, names in runs.items() for name in (run, *names))
            remedy = f"the runs are {listing(list(known))}"
            raise unknown_name(f"run for the label {shorten(label)}:", spec, known, remedy)
        for run in matching:
            if run in assigned:
                raise InputError(
                    f"{run} has the labels {shorten(assigned[run])} and {shorten(label)}", remedy="give it one"
                )
            assigned[run] = label
    return assigned


def refuse_shared_names(names: Mapping[str, str], labels: Mapping[str, str]) -> None:
    """Raise InputError if two runs have the same name; *names* and *labels* are by run."""
    by_name: dict[str, str] = {}
    for run, name in names.items():
        if (other := by_name.setdefault(name, run)) == run:
            continue
        if run in labels and other in labels:
            raise InputError(
                f"the label {shorten(name)} stands for {other} and {run}", remedy="name one run, such as by its key"
            )
        raise InputError(f"the label {shorten(name)} is the name of another run", remedy="choose another label")
