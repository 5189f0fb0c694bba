"""Asking a predictor for every mask of a data set: batches, checks, progress, and going on after a kill."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from goldrank.errors import InputError, shorten
from goldrank.io.checkpoints import Checkpoint
from goldrank.masked.examples.chunks import MASK, Blank, Chunk, Guesses, MaskKey, place_name
from goldrank.masked.predictors.base import Closed, Predictor, checked, place, refuse_k
from goldrank.progress import Progress

Context = Literal["masked", "revealed"]
CONTEXTS: tuple[Context, ...] = ("masked", "revealed")
# The most masks between two checkpoints: some seconds of work for a slow model.
_BATCH = 1024
_SECONDS = 5.0


def blanks_of(chunk: Chunk, context: Context = "masked") -> list[Blank]:
    """The masks of a chunk as a predictor sees them, the other masks masked or revealed.

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
            where=place_name(chunk.page, chunk.sequence),
            remedy="list what each mask of the text hid",
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
    seed: int = 0,
) -> dict[MaskKey, Guesses]:
    """Up to k guesses for every mask, by its key, in the order of the chunks.

    Args:
        chunks: the whole data set, which is also the closed set of those predictors that choose from one.
        predictor: prepared here.
        k: how many guesses to ask for.
        context: whether the other masks of a text stay masked or show what they hid.
        checkpoint: keeps guesses as they come, so that a kill loses seconds; its digest must name all that decides
            them (`digest_of`), and the caller removes it once the result is stored.
        batch: the most masks that the predictor is asked for at a time.
        seed: what chance begins with, where the predictor is not told its own.
    """
    refuse_k(k)
    blanks = [blank for chunk in chunks for blank in blanks_of(chunk, context)]
    _refuse_repeated(blanks)
    predictor.prepare(Closed.of(chunks, seed))
    who = str(getattr(predictor, "spec", None) or predictor.identity)
    if getattr(predictor, "instant", False):
        made = checked(predictor.predict(blanks, k), blanks, k, who)
        return {blank.key: each for blank, each in zip(blanks, made, strict=True)}
    kept = {} if checkpoint is None else _kept(checkpoint)
    done = {blank.key: kept[blank.key] for blank in blanks if blank.key in kept}
    waiting = [blank for blank in blanks if blank.key not in done]
    with Progress(f"predicting with {who}", total=len(blanks), unit="mask") as progress:
        progress.advance(len(done))
        start, size = 0, 1
        while start < len(waiting):
            asked = waiting[start : start + size]
            began = time.monotonic()
            made = checked(predictor.predict(asked, k), asked, k, who)
            new = {blank.key: each for blank, each in zip(asked, made, strict=True)}
            if checkpoint is not None:
                checkpoint.add(_as_rankings(new))
            done.update(new)
            progress.advance(len(asked))
            start += size
            # More at a time while that takes no time worth losing, and fewer once it does.
            quick = time.monotonic() - began < _SECONDS
            size = min(2 * size, max(1, batch)) if quick else max(1, size // 2)
    return {blank.key: done[blank.key] for blank in blanks}


def digest_of(
    chunks: Iterable[Chunk], predictor: Predictor, *, k: int = 5, context: Context = "masked", seed: int = 0
) -> str:
    """A name for everything that decides what `predict_all` gives, whatever the order of the chunks."""
    digest = hashlib.sha256(json.dumps([predictor.identity, k, context, seed]).encode())
    for chunk in sorted(chunks, key=lambda chunk: (chunk.page, chunk.sequence)):
        digest.update(json.dumps([chunk.page, chunk.sequence, chunk.title, chunk.text, chunk.masks]).encode() + b"\n")
    return digest.hexdigest()


def _refuse_repeated(blanks: Sequence[Blank]) -> None:
    seen: set[MaskKey] = set()
    for blank in blanks:
        if blank.key in seen:
            raise InputError(
                "two chunks have the same page and sequence number",
                where=place(blank.key),
                remedy="number the chunks of a page, or keep originals and paraphrases in files of their own",
            )
        seen.add(blank.key)


def _as_rankings(guesses: Mapping[MaskKey, Guesses]) -> dict[str, dict[str, float]]:
    """Guesses as a checkpoint keeps them; with its rank in it, a name may come twice and none loses its place."""
    return {
        json.dumps(key): {
            f"{rank} {name}": float(score)
            for rank, (name, score) in enumerate(zip(each.names, each.scores, strict=True))
        }
        for key, each in guesses.items()
    }


def _kept(checkpoint: Checkpoint) -> dict[MaskKey, Guesses]:
    kept = {}
    for written, ranking in checkpoint.done().items():
        names = tuple(entry.partition(" ")[2] for entry in ranking)
        kept[MaskKey(*json.loads(written))] = Guesses(names, tuple(ranking.values()))
    return kept
