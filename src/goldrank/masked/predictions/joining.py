"""Join predictions with the examples they were made for, by key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from goldrank.errors import InputError, counts, shorten
from goldrank.io.column_names import listing
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import Chunk, Guesses, MaskKey
from goldrank.masked.predictions.rows import PredictionRow, Remarks, extra_types, parse_guesses, record_batch


@dataclass(frozen=True)
class Joined:
    """The number of masks in the data, and of those that the predictions leave out."""

    masks: int
    """Number of masks in the data."""
    missing: int
    """Masks of the data without a prediction; they count as unanswered."""
    empty: int
    """Masks whose prediction is an empty list."""
    left_out: tuple[str, ...] = ()
    """Extra columns of the data that are omitted: lists, and names that the table already uses."""

    def sentences(self) -> list[str]:
        """Return one sentence for each difference.

        >>> Joined(masks=5, missing=2, empty=0).sentences()
        ['2 of 5 masks have no prediction']
        """
        sentences = []
        if self.missing:
            verb = "has" if self.missing == 1 else "have"
            sentences.append(f"{self.missing} of {self.masks} masks {verb} no prediction")
        if self.empty:
            sentences.append(f"{counts(self.empty, 'prediction')} without any guess")
        if self.left_out:
            sentences.append(f"columns of the data left out: {listing(self.left_out)}")
        return sentences


def join(chunks: Iterable[Chunk], guesses: Mapping[MaskKey, Guesses]) -> tuple[Any, Joined]:
    """Return the table of predictions for all masks, in the order of the data, and how well the two fit.

    Raises:
        InputError: The data has a mask twice, or there are guesses for a mask that the data lacks.
    """
    pyarrow, _ = load_pyarrow()
    rows: dict[MaskKey, PredictionRow] = {}
    remarks = Remarks()
    missing = 0
    for chunk in chunks:
        for key in chunk.keys:
            if key in rows:
                raise InputError("the data has this mask twice", where=key.place, remedy="keep one example for each")
            predicted = guesses.get(key)
            missing += predicted is None
            rows[key] = _row_of(
                chunk,
                key,
                parse_guesses(key, predicted.names, predicted.scores, remarks=remarks)
                if predicted
                else Guesses((), ()),
            )
    if unknown := [key for key in guesses if key not in rows]:
        raise _unknown_mask(unknown, rows)
    in_order = list(rows.values())
    extra = extra_types(in_order)
    left_out = sorted({name for row in in_order for name in row.extra}.difference(extra))
    table = pyarrow.Table.from_batches([record_batch(in_order, extra)])
    return table, Joined(len(rows), missing, remarks.empty, tuple(left_out))


def _row_of(chunk: Chunk, key: MaskKey, guesses: Guesses) -> PredictionRow:
    extra = {"size": chunk.size, **chunk.extra} if chunk.size else chunk.extra
    return PredictionRow(
        key.place,
        key,
        guesses,
        chunk.title,
        chunk.masks[key.mask],
        len(chunk.masks),
        len(chunk.text),
        chunk.kind,
        extra,
        chunk.answers[key.mask] or None if chunk.answers else None,
    )


def _unknown_mask(unknown: Sequence[MaskKey], known: Iterable[MaskKey]) -> InputError:
    first = unknown[0]
    if any(key.page == first.page for key in known):
        which = "the data has the page, but not this mask"
    else:
        which = f"the data has no page {shorten(first.page)}"
    more = f" (and {counts(len(unknown) - 1, 'further prediction')} for masks it lacks)" if len(unknown) > 1 else ""
    return InputError(
        which + more,
        where=first.place,
        remedy="give the data that the predictions were made for, or remove them",
    )


def masks_by_page(chunks: Iterable[Chunk]) -> dict[str, list[tuple[int, int]]]:
    """Return the sequence number and the number of masks of each example of a page, in order."""
    pages: dict[str, list[tuple[int, int]]] = {}
    for chunk in chunks:
        pages.setdefault(chunk.page, []).append((chunk.sequence, len(chunk.masks)))
    for examples in pages.values():
        examples.sort()
    return pages
