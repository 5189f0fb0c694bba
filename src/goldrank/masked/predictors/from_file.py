"""Use a file of predictions as a predictor: each mask is looked up by its key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from goldrank.encoders.base import identity_of, take_options
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError
from goldrank.masked.examples.chunks import MASK, Blank, Guesses, MaskKey
from goldrank.masked.predictions.formats import MasksByPage
from goldrank.masked.predictions.rows import Remarks
from goldrank.masked.predictors.base import ClosedSet, check_k
from goldrank.specs import Spec


class PredictionFile:
    """``file:PREDICTIONS`` in any supported format; masks that are not in the file get no guesses."""

    instant = True

    def __init__(self, spec: Spec) -> None:
        take_options(spec)
        self.spec = spec
        self._path = Path(spec.argument).expanduser()
        if not spec.argument or not self._path.is_file():
            raise InputError(
                "there is no such file of predictions", where=spec.argument or "file:", remedy="write file:PREDICTIONS"
            )
        self._missing = 0
        self._read = Remarks()
        self._pages: MasksByPage | None = None

    @cached_property
    def _guesses(self) -> dict[MaskKey, Guesses]:
        from goldrank.masked.predictions.files import read_predictions

        return read_predictions(self._path, remarks=self._read, pages=self._pages)

    @property
    def identity(self) -> str:
        """The name of the file and a stamp of its content."""
        return identity_of(self.spec, stamp(self._path))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the columns of the file were read as, and the number of masks that are not in it."""
        missing = f"{self._missing} masks have no predictions in {self._path.name}" if self._missing else ""
        return tuple(filter(None, (self._read.columns.reading, missing)))

    def prepare(self, closed_set: ClosedSet) -> None:
        """Store the number of masks of each example, for files that count masks through the page."""
        self._pages = {
            page: [(sequence, text.count(MASK)) for sequence, text in sorted(texts)]
            for page, texts in closed_set.texts.items()
        }

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the first k guesses of each mask in the order of the file."""
        check_k(k)
        self._missing += sum(blank.key not in self._guesses for blank in blanks)
        results = [self._guesses.get(blank.key, Guesses((), ())) for blank in blanks]
        return [Guesses(guesses.names[:k], guesses.scores[:k]) for guesses in results]
