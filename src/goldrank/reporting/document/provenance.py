"""The provenance of stored runs: versions, machine, commit, data and command of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from goldrank.redaction import redact
from goldrank.reporting.document.sections import Fact, RunOrigin
from goldrank.store import StoredRun

_SETTINGS = ("split", "limit", "transform", "similarity", "index", "rerank", "exclude_self", "k", "context")


def origins(runs: Mapping[str, StoredRun], names: Mapping[str, str]) -> tuple[RunOrigin, ...]:
    """Return what is known of the origin of each run; runs and names are by key."""
    return tuple(
        RunOrigin(
            key,
            names[key],
            run.model,
            run.created.isoformat(timespec="seconds"),
            run.seconds,
            tuple(Fact(label, value) for label, value in _facts(run) if value),
        )
        for key, run in runs.items()
    )


def commands(runs: Iterable[StoredRun]) -> tuple[str, ...]:
    """Return the distinct command lines that created the runs."""
    written = (str(run.environment.get("command") or "") for run in runs)
    return tuple(dict.fromkeys("goldrank " + redact(line) for line in written if line))


def remarks(runs: Mapping[str, StoredRun], names: Mapping[str, str]) -> list[str]:
    """Return the remarks stored with the runs; a remark of all runs appears once, without names."""
    noted: dict[str, list[str]] = {}
    for key, run in runs.items():
        for remark in run.environment.get("remarks") or ():
            noted.setdefault(str(remark).rstrip("."), []).append(names[key])
    return [f"{remark}." if len(of) == len(runs) else f"{', '.join(of)}: {remark}." for remark, of in noted.items()]


def _facts(run: StoredRun) -> Iterable[tuple[str, str]]:
    environment, inputs = run.environment, run.inputs
    machine: Mapping[str, Any] = environment.get("machine") or {}
    packages: Mapping[str, Any] = environment.get("packages") or {}
    cores = machine.get("cores")
    hardware = [_text(machine.get("system")), _text(machine.get("processor")), cores and f"{cores} cores"]
    # A run file has no key: its name stands for one.
    yield "key", "" if run.held_run is not None else run.key
    yield "model", run.model
    yield "model identity", _text(inputs.get("model_identity"))
    yield "settings", ", ".join(f"{name}={inputs[name]}" for name in _SETTINGS if inputs.get(name) not in (None, ""))
    yield "data checksum", _text(inputs.get("data"))
    yield "made", run.created.isoformat(sep=" ", timespec="seconds")
    yield "seconds", "" if run.seconds is None else f"{run.seconds:.1f}"
    yield "goldrank", _text(environment.get("goldrank"))
    yield "commit", _text(environment.get("commit"))
    yield "Python", _text(environment.get("python"))
    yield "packages", ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    yield "machine", ", ".join(filter(None, hardware))
    yield "command", next(iter(commands([run])), "")


def _text(value: object) -> str:
    return "" if value is None else str(value)
