"""Where stored runs come from: versions, machine, commit and data of each, and the commands that made them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldrank.redaction import redact
from goldrank.reporting.document.sections import Fact, RunAbout
from goldrank.store import StoredRun

_SETTINGS = ("split", "limit", "transform", "similarity", "index", "rerank", "exclude_self", "k", "context")


def about(run: StoredRun, name: str) -> RunAbout:
    """The run with all that is known of how it was made."""
    facts = [Fact(label, value) for label, value in _facts(run) if value]
    return RunAbout(
        run.key,
        name,
        run.model,
        run.created.isoformat(timespec="seconds"),
        run.seconds,
        tuple(facts),
    )


def commands(runs: Iterable[StoredRun]) -> tuple[str, ...]:
    """The command lines that made the runs, each once."""
    written = (str(run.environment.get("command") or "") for run in runs)
    return tuple(dict.fromkeys("goldrank " + redact(line) for line in written if line))


def remarks(runs: Mapping[str, StoredRun], names: Mapping[str, str]) -> list[str]:
    """What was noted when the runs were made, once where it was noted of all."""
    noted: dict[str, list[str]] = {}
    for key, run in runs.items():
        for remark in run.environment.get("remarks") or ():
            noted.setdefault(str(remark).rstrip("."), []).append(names[key])
    return [
        f"{remark}." if len(found) == len(runs) else f"{', '.join(found)}: {remark}." for remark, found in noted.items()
    ]


def _facts(run: StoredRun) -> Iterable[tuple[str, str]]:
    made, inputs = run.environment, run.inputs
    machine: Mapping[str, Any] = made.get("machine") or {}
    packages: Mapping[str, Any] = made.get("packages") or {}
    cores = machine.get("cores")
    yield "key", run.key
    yield "model", run.model
    yield "model identity", _written(inputs.get("model_identity"))
    yield "settings", ", ".join(f"{name}={inputs[name]}" for name in _SETTINGS if inputs.get(name) not in (None, ""))
    yield "data checksum", _written(inputs.get("data"))
    yield "made", run.created.isoformat(sep=" ", timespec="seconds")
    yield "seconds", "" if run.seconds is None else f"{run.seconds:.1f}"
    yield "goldrank", _written(made.get("goldrank"))
    yield "commit", _written(made.get("commit"))
    yield "Python", _written(made.get("python"))
    yield "packages", ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    yield (
        "machine",
        ", ".join(
            filter(
                None, [_written(machine.get("system")), _written(machine.get("processor")), cores and f"{cores} cores"]
            )
        ),
    )
    yield "command", next(iter(commands([run])), "")


def _written(value: object) -> str:
    return "" if value is None else str(value)
