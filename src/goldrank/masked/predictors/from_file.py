"""Predictions made elsewhere as a predictor: each mask is looked up by its key."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from goldrank.encoders.base import identity_of
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError
from goldrank.masked.examples.chunks import MASK, Blank, Guesses, MaskKey
from goldrank.masked.predictions.formats import MasksByPage
from goldrank.masked.predictors.base import Closed, refuse_k, take_options
from goldrank.specs import Spec


class PredictionFile:
    """``file:PREDICTIONS`` in any form that predictions are read in; masks it does not have get no guesses."""

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
        self._pages: MasksByPage | None = None

    @cached_property
    def _guesses(self) -> dict[MaskKey, Guesses]:
        from goldrank.masked.predictions.files import read_predictions

        return read_predictions(self._path, pages=self._pages)

    @property
    def identity(self) -> str:
        """The name of the file and a stamp of what it holds."""
        return identity_of(self.spec, stamp(self._path))

    @property
    def remarks(self) -> tuple[str, ...]:
        """How many masks the file did not have."""
        return (f"{self._missing} masks have no predictions in {self._path.name}",) if self._missing else ()

    def prepare(self, material: Closed) -> None:
        """Learn how many masks each example has, for files that count masks through the page."""
        self._pages = {
            page: [(sequence, text.count(MASK)) for sequence, text in sorted(texts)]
            for page, texts in material.texts.items()
        }

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """The first k guesses of each mask as they stand in the file."""
        refuse_k(k)
        self._missing += sum(blank.key not in self._guesses for blank in blanks)
        found = [self._guesses.get(blank.key, Guesses((), ())) for blank in blanks]
        return [Guesses(tuple(each.names[:k]), tuple(each.scores[:k])) for each in found]
