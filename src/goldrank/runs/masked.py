"""Runs of masked entities: predicted once, stored with every guess, scored again under any rules."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldrank.errors import InputError
from goldrank.hits import Hits
from goldrank.io.checkpoints import Checkpoint
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.predictions.joining import join
from goldrank.masked.predictions.predict import Context, predict_all
from goldrank.masked.predictors import Predictor, remarks_of
from goldrank.masked.scoring.level_scores import CONVENTIONS, metrics_for, score_level
from goldrank.masked.scoring.levels import MaskedScores, Rules, score_predictions
from goldrank.runs.run import environment, summary_of
from goldrank.scoring import Bootstrap
from goldrank.store import Record, Store, StoredRun
from goldrank.store.keys import digest
from goldrank.store.texts import MOST_ITEMS, Text
from goldrank.tasks.ranking.sharding import Sharding

if TYPE_CHECKING:
    import pyarrow

KIND = "masked"
_VERSION = 1


@dataclass(frozen=True)
class Order:
    """What is to be predicted: the examples, by whom, how many guesses a mask, and what shows of the other masks."""

    data: str
    """The name of the examples, part of the key."""
    chunks: Sequence[Chunk]
    spec: str
    predictor: Predictor
    k: int = 5
    context: Context = "masked"

    def inputs(self) -> dict[str, Any]:
        """Everything that decides the result."""
        return {
            "task": self.task,
            "task_version": _VERSION,
            "kind": KIND,
            "data": checksum(self.chunks),
            "model": self.spec,
            "model_identity": self.predictor.identity,
            "k": self.k,
            "context": self.context,
        }

    @property
    def task(self) -> str:
        """The name under which runs of these examples stand."""
        return f"{KIND}-{self.data}"


def checksum(chunks: Iterable[Chunk]) -> str:
    """A digest of the examples, whatever their order."""
    lines = sorted(
        json.dumps(
            [
                *(chunk.page, chunk.sequence, chunk.title, chunk.text, chunk.masks, chunk.kind),
                *([chunk.answers] if chunk.answers else []),
            ],
            ensure_ascii=True,
        )
        for chunk in chunks
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def predict_run(order: Order, store: Store, *, overwrite: bool = False) -> tuple[StoredRun, bool]:
    """The stored predictions of an order, and whether they were made now; a killed one goes on where it was."""
    inputs = order.inputs()
    found = None if overwrite else store.find(inputs)
    if found is not None:
        return found, False
    checkpoint = Checkpoint(digest({**inputs, "checkpoint": KIND}))
    if overwrite:
        checkpoint.remove()
    started = time.perf_counter()
    guesses = predict_all(order.chunks, order.predictor, k=order.k, context=order.context, checkpoint=checkpoint)
    seconds = time.perf_counter() - started
    table, joined = join(order.chunks, guesses)
    remarks = [*remarks_of(order.predictor), *joined.sentences()]
    parameters = getattr(order.predictor, "parameters", None)
    scores = score_predictions(table)
    summaries = summaries_of(scores, order.k)
    record = Record(
        task=order.task,
        model=order.spec,
        inputs=inputs,
        environment={
            **environment(),
            "seconds": seconds,
            "remarks": remarks,
            "parameters": parameters,
            "reading": scores.rules.profile,
            "summaries": summaries,
        },
        hits=scores.levels["mask"].hits,
        metrics=metrics_for(order.k),
        conventions=CONVENTIONS,
        predictions=table,
        summary=summaries[scores.rules.profile],
    )
    stored = store.save(record, overwrite=overwrite)
    _keep_texts(order, inputs["data"], store)
    checkpoint.remove()
    return stored, True


def text_id(page: str, sequence: int) -> str:
    """Under which id the text of an example is kept among the store's texts."""
    return f"{page}:{sequence}"


def _keep_texts(order: Order, data: str, store: Store) -> None:
    texts = store.texts(data)
    if texts is not None and not texts.there and len(order.chunks) <= MOST_ITEMS:
        texts.keep((), (Text(text_id(one.page, one.sequence), one.title, one.text) for one in order.chunks))


def is_masked(stored: StoredRun) -> bool:
    """Whether a stored run holds guesses at masks."""
    return stored.inputs.get("kind") == KIND


def table_of(stored: StoredRun) -> pyarrow.Table:
    """The guesses of a stored run, a row for each mask."""
    if not is_masked(stored):
        raise InputError(
            f"{stored.key} holds no guesses at masks, but a run of {stored.task}",
            remedy="make one with goldrank masked predict",
        )
    return stored.predictions_table()


def scores_of(
    stored: StoredRun,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    aliases: Mapping[str, Sequence[str]] | None = None,
    sharding: Sharding | None = None,
) -> MaskedScores:
    """A stored run scored anew under *rules*, here or by a cluster."""
    return score_predictions(table_of(stored), rules, aliases=aliases, sharding=sharding)


def summaries_of(scores: MaskedScores, k: int) -> dict[str, dict[str, Any]]:
    """What a list of runs shows of the masks, by reading."""
    return {
        of.rules.profile: summary_of(score_level(of.levels["mask"].hits, metrics_for(k), "", Bootstrap()))
        for of in scores.readings
    }


def mask_hits(stored: StoredRun, profile: str = "source") -> Hits:
    """The hits of the masks of a stored run in the reading of a profile, counted anew where another was stored.

    Runs from before there were profiles were stored in the strict reading.
    """
    if stored.environment.get("reading", "strict") == profile:
        return stored.hits()
    return scores_of(stored, Rules.of(profile)).levels["mask"].hits


def name_of(path: Path | str) -> str:
    """What a file of examples is called: its name without endings.

    >>> name_of("data/small-test-mask.jsonl.xz")
    'small-test-mask'
    """
    return Path(path).name.split(".")[0] or "examples"
