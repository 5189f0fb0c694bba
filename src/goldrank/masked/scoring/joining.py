"""Predictions joined to the data that they are about: by key, never by order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from goldrank.errors import InputError, counts, shorten
from goldrank.io.column_names import listing
from goldrank.io.formats.parquet import load_pyarrow
from goldrank.masked.examples.chunks import Chunk, Guesses, MaskKey
from goldrank.masked.predictions.rows import Remarks, Row, checked, extra_types, name_of, record_batch


@dataclass(frozen=True)
class Joined:
    """How the predictions fit the data."""

    masks: int
    """How many masks the data has."""
    missing: int
    """Masks of the data that no prediction is for; they count as answered by nothing."""
    empty: int
    """Masks whose prediction is an empty list."""
    unknown: int
    """Predictions for masks that the data lacks; they are left out."""
    left_out: tuple[str, ...] = ()
    """Extra columns of the data that are lists, or have the name of a column of the table."""

    def sentences(self) -> list[str]:
        """One sentence for each thing that does not fit.

        >>> Joined(masks=5, missing=2, empty=0, unknown=0).sentences()
        ['2 of 5 masks have no prediction']
        """
        found = []
        if self.missing:
            found.append(f"{self.missing} of {self.masks} masks {'has' if self.missing == 1 else 'have'} no prediction")
        if self.empty:
            found.append(f"{counts(self.empty, 'prediction')} without any guess")
        if self.unknown:
            found.append(f"{counts(self.unknown, 'prediction')} for masks that the data lacks, left out")
        if self.left_out:
            found.append(f"columns of the data left out: {listing(self.left_out)}")
        return found


def join(
    chunks: Iterable[Chunk],
    guesses: Mapping[MaskKey, Guesses],
    *,
    unknown: Literal["error", "count"] = "error",
) -> tuple[Any, Joined]:
    """The table of predictions for all masks of the data, in the order of the data, and how the two fit.

    Args:
        chunks: The data.
        guesses: What was predicted, by the key of the mask.
        unknown: Whether predictions for masks that the data lacks are refused or counted.
    """
    pyarrow, _ = load_pyarrow()
    rows: dict[MaskKey, Row] = {}
    remarks = Remarks()
    missing = 0
    for chunk in chunks:
        for key in chunk.keys:
            if key in rows:
                raise InputError("the data has this mask twice", where=name_of(key), remedy="keep one example for each")
            found = guesses.get(key)
            missing += found is None
            given = checked(key, found.names, found.scores, remarks=remarks) if found else Guesses((), ())
            rows[key] = _row_of(chunk, key, given)
    strange = [key for key in guesses if key not in rows]
    if strange and unknown == "error":
        raise _unknown(strange, rows)
    listed = list(rows.values())
    extra = extra_types(listed)
    left_out = sorted({name for row in listed for name in row.extra}.difference(extra))
    table = pyarrow.Table.from_batches([record_batch(listed, extra)])
    return table, Joined(len(rows), missing, remarks.empty, len(strange), tuple(left_out))


def _row_of(chunk: Chunk, key: MaskKey, guesses: Guesses) -> Row:
    extra = {"size": chunk.size, **chunk.extra} if chunk.size else chunk.extra
    return Row(
        name_of(key),
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


def _unknown(strange: Sequence[MaskKey], known: Iterable[MaskKey]) -> InputError:
    first = strange[0]
    if any(key.page == first.page for key in known):
        which = "the data has the page, but not this mask"
    else:
        which = f"the data has no page {shorten(first.page)}"
    more = f" (and {counts(len(strange) - 1, 'further prediction')} for masks it lacks)" if len(strange) > 1 else ""
    return InputError(
        which + more,
        where=name_of(first),
        remedy="give the data that the predictions were made for, or have unknown masks counted and left out",
    )


def masks_by_page(chunks: Iterable[Chunk]) -> dict[str, list[tuple[int, int]]]:
    """The examples of each page with their numbers of masks, in the order of their sequence numbers."""
    found: dict[str, list[tuple[int, int]]] = {}
    for chunk in chunks:
        found.setdefault(chunk.page, []).append((chunk.sequence, len(chunk.masks)))
    for examples in found.values():
        examples.sort()
    return found
