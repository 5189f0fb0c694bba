"""Run a predictor on every mask of a data set, in batches with checkpoints."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from goldrank.errors import InputError, shorten
from goldrank.io.checkpoints import Checkpoint, adaptive_batches
from goldrank.io.checks import find_duplicate
from goldrank.masked.examples.chunks import MASK, Blank, Chunk, Guesses, MaskKey, describe_place
from goldrank.masked.predictors.base import ClosedSet, Predictor, check_guesses, check_k
from goldrank.progress import Progress

Context = Literal["masked", "revealed"]
CONTEXTS: tuple[Context, ...] = ("masked", "revealed")
# Maximum number of masks between two checkpoints, and the time that a batch should not exceed.
_BATCH = 1024
_SECONDS = 5.0


def blanks_of(chunk: Chunk, context: Context = "masked") -> list[Blank]:
    """Return the masks of a chunk as a predictor sees them, with the other masks masked or revealed.

    >>> chunk = Chunk("7", 0, "Lise Meitner", "<mask> met <mask>.", ("Lise", "Meitner"))
    >>> [(blank.before, blank.after) for blank in blanks_of(chunk, "revealed")]
    [('', ' met Meitner.'), ('Lise met ', '.')]
    """
    if context not in CONTEXTS:
        raise InputError(f"there is no context {shorten(context)}", remedy="choose masked or revealed")
    pieces = chunk.pieces
    if len(pieces) != len(chunk.masks) + 1:
        raise InputError(
            f"the text has {len(pieces) - 1} masks, but {len(chunk.masks)} are listed",
            where=describe_place(chunk.page, chunk.sequence),
            remedy="list the hidden text of each mask",
        )
    others = chunk.masks if context == "revealed" else (MASK,) * len(chunk.masks)
    before, blanks = pieces[0], []
    after = "".join(other + piece for other, piece in zip(others, pieces[1:], strict=True))
    for key, other, piece in zip(chunk.keys, others, pieces[1:], strict=True):
        after = after[len(other) :]
        blanks.append(Blank(key, before, after))
        before += other + piece
        after = after[len(piece) :]
    return blanks


def predict_all(
    chunks: Sequence[Chunk],
    predictor: Predictor,
    *,
    k: int = 5,
    context: Context = "masked",
    checkpoint: Checkpoint | None = None,
    batch: int = _BATCH,
) -> dict[MaskKey, Guesses]:
    """Return the guesses for every mask of *chunks*.

    Args:
        chunks: The data; also the closed set for predictors that choose from one.
        predictor: The predictor, which is prepared here.
        k: Number of guesses per mask.
        context: Whether the other masks of a text stay masked or are revealed.
        checkpoint: Stores guesses as they come, so that an interruption loses only seconds. Its digest must cover
            everything that determines the guesses; the caller removes it once the result is stored.
        batch: Maximum number of masks per call of the predictor.
    """
    check_k(k)
    blanks = [blank for chunk in chunks for blank in blanks_of(chunk, context)]
    if repeated := find_duplicate([blank.key for blank in blanks]):
        raise InputError(
            "two chunks have the same page and sequence number",
            where=blanks[repeated[0]].key.place,
            remedy="number the chunks of a page, or put originals and paraphrases into separate files",
        )
    predictor.prepare(ClosedSet.of(chunks))
    who = str(getattr(predictor, "spec", None) or predictor.identity)
    if getattr(predictor, "instant", False):
        results = check_guesses(predictor.predict(blanks, k), blanks, k, who)
        return {blank.key: guesses for blank, guesses in zip(blanks, results, strict=True)}
    saved = {} if checkpoint is None else _from_checkpoint(checkpoint)
    done = {blank.key: saved[blank.key] for blank in blanks if blank.key in saved}
    waiting = [blank for blank in blanks if blank.key not in done]
    with Progress(f"predicting with {who}", total=len(blanks), unit="mask") as progress:
        progress.advance(len(done))
        for block in adaptive_batches(waiting, batch, _SECONDS):
            results = check_guesses(predictor.predict(block, k), block, k, who)
            new = {blank.key: guesses for blank, guesses in zip(block, results, strict=True)}
            if checkpoint is not None:
                checkpoint.add(_as_rankings(new))
            done.update(new)
            progress.advance(len(block))
    return {blank.key: done[blank.key] for blank in blanks}


def _as_rankings(guesses: Mapping[MaskKey, Guesses]) -> dict[str, dict[str, float]]:
    """Convert guesses to rankings for a checkpoint; the rank prefix keeps duplicates and order."""
    return {
        json.dumps(key): {
            f"{rank} {name}": float(score)
            for rank, (name, score) in enumerate(zip(entry.names, entry.scores, strict=True))
        }
        for key, entry in guesses.items()
    }


def _from_checkpoint(checkpoint: Checkpoint) -> dict[MaskKey, Guesses]:
    guesses = {}
    for written, ranking in checkpoint.done().items():
        names = tuple(entry.partition(" ")[2] for entry in ranking)
        guesses[MaskKey(*json.loads(written))] = Guesses(names, tuple(ranking.values()))
    return guesses
