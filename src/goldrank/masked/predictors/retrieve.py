"""Predict by retrieval from the closed set: the persons whose titles and other texts are nearest to the masked text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldrank import encoders
from goldrank.data.collections.streams import lines
from goldrank.encoders.base import Encoder, identity_of, is_live, parse_choice
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError, shorten
from goldrank.io.formats.json_files import decode
from goldrank.masked.examples.chunks import MASK, Blank, Guesses, MaskKey
from goldrank.masked.predictors.base import ClosedSet, check_k
from goldrank.specs import Spec
from goldrank.tasks.ranking.encoding import Encoding
from goldrank.vectors.similarity import normalised, pairwise

# Maximum number of cosines in memory.
_BLOCK = 1 << 22
# Digits of a float32 product that do not depend on the rest of the batch, so that equal texts always tie.
_DECIMALS = 6


class Retrieve:
    """``retrieve:ENCODER(by=both, texts=FILE)``, with the options of the encoder among them.

    A candidate is a title of the data, represented by the title itself and by the texts of its chunks; its score is the
    highest cosine with them (``by=title`` or ``by=texts`` uses one of the two). The chunk in question is excluded. A
    person with a single text would then be the only one without texts when it is the answer, so texts count only for
    persons with two or more; all others are represented by their titles.

    ``texts=FILE`` adds texts as JSON Lines with title and text; titles that are not in the data are further candidates.
    Ties are ordered by title.
    """

    instant = True  # Only encoding takes time, and its vectors are cached.

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        options = dict(spec.options)
        self._by = parse_choice("by", options.pop("by", "both"), ("title", "texts", "both"))
        self._file = Path(options.pop("texts")).expanduser() if "texts" in options else None
        if not spec.argument:
            raise InputError("retrieve needs an encoder", remedy="write, for example, retrieve:wordllama")
        loaded = encoders.load(Spec.parse(spec.argument).updated(options))
        if not isinstance(loaded, Encoder):
            raise InputError(
                f"{spec.argument} ranks without vectors and has no cosine", remedy="use an encoder such as tfidf"
            )
        if getattr(loaded, "by", None) == "id":
            raise InputError(f"{spec.argument} looks up vectors by id", remedy="use vectors by text")
        self._encoder = loaded
        self.live = is_live(loaded)
        # Read before encoding, because a model fitted on the corpus changes its identity.
        self._encoder_identity = loaded.identity
        self._added = list(_read_texts(self._file)) if self._file is not None else []
        self._known: _Known | None = None

    @property
    def identity(self) -> str:
        """The spec, the identity of the encoder, and a stamp of the added texts."""
        version = f"1 of {self._encoder_identity}" + (f" {stamp(self._file)}" if self._file is not None else "")
        return identity_of(self.spec, version)

    def prepare(self, closed_set: ClosedSet) -> None:
        """Encode the texts of the candidates, each distinct text once."""
        self._known = None
        evidence = sorted(self._evidence(closed_set), key=lambda piece: (piece.title, piece.page, piece.sequence))
        if not evidence:
            raise InputError(
                f"no person has evidence with by={self._by}",
                remedy="every page has only one text, which is excluded: use by=title, or add texts=FILE",
            )
        texts = list(dict.fromkeys(piece.text for piece in evidence))
        encode = Encoding.of(self._encoder, texts)
        self._known = _Known.of(evidence, texts, encode)

    def _evidence(self, closed_set: ClosedSet) -> Iterator[_CandidateText]:
        titles = {*closed_set.titles.values(), *(title for title, _ in self._added)}
        if self._by != "texts":
            yield from (_CandidateText(title, "", -1, title) for title in titles)
        if self._by != "title":
            yield from (_CandidateText(title, "", -1, text) for title, text in self._added)
            for page, texts in closed_set.texts.items():
                if len({sequence for sequence, _ in texts}) > 1:
                    for sequence, text in texts:
                        yield _CandidateText(closed_set.titles[page], page, sequence, unmasked(text))

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """Return the k nearest persons for each mask with their cosines."""
        check_k(k)
        if self._known is None:
            raise InputError("retrieve has no persons to choose from", remedy="call .prepare(closed_set) first")
        if not blanks:
            return []
        queries = [unmasked(f"{blank.before} {blank.after}") for blank in blanks]
        texts = list(dict.fromkeys(queries))
        row = {text: at for at, text in enumerate(texts)}
        vectors = normalised(self._known.encode(texts, "query"))
        results: list[Guesses] = []
        step = max(1, _BLOCK // len(self._known.text_of))
        for start in range(0, len(blanks), step):
            block = slice(start, start + step)
            scores = pairwise(vectors[[row[text] for text in queries[block]]], self._known.vectors, "dot")
            for cosines, blank in zip(scores, blanks[block], strict=True):
                results.append(self._known.nearest(cosines, blank.key, k))
        return results


class _CandidateText(NamedTuple):
    """One text that represents a candidate."""

    title: str
    page: str
    sequence: int
    text: str


@dataclass(frozen=True, eq=False)
class _Known:
    """The evidence of all candidates, grouped by title."""

    encode: Encoding
    titles: list[str]
    starts: NDArray[np.int64]
    """Index of the first piece of evidence of each title."""
    vectors: Any
    """One normalised vector for each distinct text."""
    text_of: NDArray[np.int64]
    """Index of the text of each piece of evidence."""
    chunks: dict[tuple[str, int], list[int]]
    """Indices of the evidence from each chunk."""

    @classmethod
    def of(cls, evidence: list[_CandidateText], texts: list[str], encode: Encoding) -> _Known:
        row = {text: at for at, text in enumerate(texts)}
        titles: dict[str, int] = {}
        chunks: dict[tuple[str, int], list[int]] = {}
        for at, piece in enumerate(evidence):
            titles.setdefault(piece.title, at)
            chunks.setdefault((piece.page, piece.sequence), []).append(at)
        return cls(
            encode,
            list(titles),
            np.array(list(titles.values()), np.int64),
            normalised(encode(texts, "item")),
            np.array([row[piece.text] for piece in evidence], np.int64),
            chunks,
        )

    def nearest(self, cosines: NDArray[Any], key: MaskKey, k: int) -> Guesses:
        """Return the k best titles by their best evidence, without the evidence from the chunk of *key*."""
        evidence = cosines.astype(np.float64)[self.text_of].round(_DECIMALS)
        evidence[self.chunks.get((key.page, key.sequence), [])] = -np.inf
        best = np.maximum.reduceat(evidence, self.starts)
        order = np.argsort(-best, kind="stable")[:k]
        known = [at for at in order.tolist() if best[at] > -np.inf]
        return Guesses(tuple(self.titles[at] for at in known), tuple(best[known].tolist()))


def unmasked(text: str) -> str:
    """Remove the masks from a text and reduce white space to single blanks.

    >>> unmasked("In 1906 <mask>\\nmoved to Berlin.")
    'In 1906 moved to Berlin.'
    """
    return " ".join(text.replace(MASK, " ").split())


def _read_texts(path: Path) -> Iterator[tuple[str, str]]:
    for number, line in lines(path):
        if not line.strip():
            continue
        record = decode(line, str(path), first_line=number)
        title, text = (record.get("title"), record.get("text")) if isinstance(record, dict) else (None, None)
        if not isinstance(title, str) or not isinstance(text, str) or not title.strip():
            raise InputError(
                f"{shorten(line)} has no title and text",
                where=f"{path}:{number}",
                remedy='write {"title": …, "text": …}',
            )
        yield title, unmasked(text)
