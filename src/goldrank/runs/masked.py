"""Predict masked entities with a model, store the predictions, and read them back for scoring."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from goldrank.encoders.base import is_live
from goldrank.errors import InputError
from goldrank.hits import Hits
from goldrank.io.checkpoints import Checkpoint
from goldrank.io.files import PathLike
from goldrank.masked.examples.chunks import Chunk
from goldrank.masked.predictions.joining import join
from goldrank.masked.predictions.predict import Context, predict_all
from goldrank.masked.predictors import Predictor, remarks_of
from goldrank.masked.scoring.level_scores import CONVENTIONS, metrics_for, score_level
from goldrank.masked.scoring.levels import MaskedScores, Rules, score_predictions
from goldrank.runs.evaluate import Outcome, find_or_evaluate
from goldrank.scoring import Bootstrap
from goldrank.store import RunRecord, Store, StoredRun
from goldrank.store.keys import digest
from goldrank.store.texts import MOST_ITEMS, Text
from goldrank.tasks.ranking.data_quality import DataQuality
from goldrank.tasks.ranking.evaluation import summary_of
from goldrank.tasks.task import EvaluationJob, PartCost
from goldrank.vectors.cache import measure_seconds

if TYPE_CHECKING:
    import pyarrow

KIND = "masked"
_VERSION = 1


@dataclass(frozen=True)
class PredictionJob:
    """A prediction to make: examples, predictor, guesses per mask, and what is shown in place of the other masks."""

    data: str
    """The name of the examples; it is part of the key."""
    chunks: Sequence[Chunk]
    spec: str
    predictor: Predictor
    k: int = 5
    context: Context = "masked"

    @cached_property
    def checksum(self) -> str:
        """A digest of the examples that does not depend on their order."""
        lines = sorted(
            json.dumps(
                [
                    *(chunk.page, chunk.sequence, chunk.title, chunk.text, chunk.masks, chunk.kind),
                    *([chunk.answers] if chunk.answers else []),
                ],
                ensure_ascii=True,
            )
            for chunk in self.chunks
        )
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()

    def inputs(self) -> dict[str, Any]:
        """Return everything that decides the result."""
        return {
            "task": self.task,
            "task_version": _VERSION,
            "kind": KIND,
            "data": self.checksum,
            "model": self.spec,
            "model_identity": self.predictor.identity,
            "k": self.k,
            "context": self.context,
        }

    @property
    def task(self) -> str:
        """The name of the task under which runs of these examples are stored."""
        return f"{KIND}-{self.data}"

    def checkpoint(self) -> Checkpoint:
        """Return the checkpoint that holds the guesses until all masks are predicted."""
        return Checkpoint(digest({**self.inputs(), "checkpoint": KIND}))

    def evaluate(self) -> MaskedEvaluation:
        """Predict every mask."""
        checkpoint = self.checkpoint()
        with measure_seconds() as elapsed:
            guesses = predict_all(self.chunks, self.predictor, k=self.k, context=self.context, checkpoint=checkpoint)
        table, joined = join(self.chunks, guesses)
        return MaskedEvaluation(self, table, joined.sentences(), elapsed.seconds)

    def save_texts(self, store: Store) -> None:
        """Store the texts of the examples beside the results, once for each data set."""
        texts = store.texts(self.checksum)
        if texts is not None and not texts.is_saved and len(self.chunks) <= MOST_ITEMS:
            texts.save(
                (), (Text(text_id(chunk.page, chunk.sequence), chunk.title, chunk.text) for chunk in self.chunks)
            )


@dataclass(frozen=True, eq=False)
class MaskedEvaluation:
    """The guesses of one model for the masks of a set of examples."""

    job: PredictionJob
    guesses: pyarrow.Table
    joined: list[str]
    """Remarks on guesses and examples that could not be matched, one sentence each."""
    seconds: float
    parts: tuple[PartCost, ...] = ()

    @cached_property
    def masked_scores(self) -> MaskedScores:
        """The guesses scored at every level."""
        return score_predictions(self.guesses)

    @property
    def scores(self) -> Mapping[str, Any]:
        """The scores at the level of single masks."""
        hits = self.masked_scores.levels["mask"].hits
        return score_level(hits, metrics_for(self.job.k), self.job.spec, Bootstrap())

    @property
    def stored_scores(self) -> None:
        """None, because a stored run is scored level by level."""
        return None

    def record(self, environment: Mapping[str, Any], quality: DataQuality) -> RunRecord:
        """Return what is stored: the guesses, the hits of the masks, and the summary under every profile."""
        job, scores = self.job, self.masked_scores
        summaries = summarise_masks(scores, job.k)
        return RunRecord(
            task=job.task,
            model=job.spec,
            inputs=job.inputs(),
            environment={
                **environment,
                "seconds": self.seconds,
                "remarks": [*remarks_of(job.predictor), *self.joined],
                "parameters": getattr(job.predictor, "parameters", None),
                "reading": scores.rules.profile,
                "summaries": summaries,
            },
            hits=scores.levels["mask"].hits,
            metrics=metrics_for(job.k),
            conventions=CONVENTIONS,
            predictions=self.guesses,
            summary=summaries[scores.rules.profile],
        )

    def discard_checkpoints(self) -> None:
        """Remove the guesses that were saved so that a killed prediction could resume."""
        self.job.checkpoint().remove()


def predict_run(job: PredictionJob, store: Store, *, overwrite: bool = False, reuse: bool = False) -> Outcome:
    """Return the stored predictions of a job, or predict and store them; a killed prediction resumes.

    A live predictor predicts again, and its guesses are stored as a dated version, unless *reuse* is set.
    """
    if overwrite:
        job.checkpoint().remove()
    evaluation = EvaluationJob(
        job.task, job.spec, job.inputs(), job.evaluate, job.save_texts, live=is_live(job.predictor)
    )
    outcome = find_or_evaluate(evaluation, store, "always" if overwrite else "missing", reuse=reuse)
    assert outcome is not None
    return outcome


def text_id(page: str, sequence: int) -> str:
    """Return the id under which the store holds the text of an example."""
    return f"{page}:{sequence}"


def load_stored_predictions(stored: StoredRun) -> pyarrow.Table:
    """Return the guesses of a stored run, one row per mask; raise InputError for a run of another kind."""
    if stored.result_kind != "masked":
        raise InputError(
            f"{stored.key} is a run of {stored.task}, which predicts no masks",
            remedy="make predictions with goldrank masked predict",
        )
    return stored.predictions_table()


def score_stored_run(
    stored: StoredRun,
    rules: Rules = Rules(),  # noqa: B008 - frozen
    aliases: Mapping[str, Sequence[str]] | None = None,
) -> MaskedScores:
    """Score the guesses of a stored run under *rules*."""
    return score_predictions(load_stored_predictions(stored), rules, aliases=aliases)


def summarise_masks(scores: MaskedScores, k: int) -> dict[str, dict[str, Any]]:
    """Return, by masked profile, the scores at the level of single masks that a list of runs shows."""
    return {
        reading.rules.profile: summary_of(score_level(reading.levels["mask"].hits, metrics_for(k), "", Bootstrap()))
        for reading in scores.readings
    }


def mask_hits(stored: StoredRun, profile: str = "source") -> Hits:
    """Return the hits of the masks under a masked profile, counted again if the run was stored under another."""
    if stored.environment.get("reading") == profile:
        return stored.hits()
    return score_stored_run(stored, Rules.of(profile)).levels["mask"].hits


def name_examples(path: PathLike) -> str:
    """Return the name of a file of examples: its file name without extensions.

    >>> name_examples("data/small-test-mask.jsonl.xz")
    'small-test-mask'
    """
    return Path(path).name.split(".")[0] or "examples"
