"""Retrieval from the closed set: the persons whose titles and other texts are nearest to the masked text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from goldrank import encoders
from goldrank.data.collections.streams import lines
from goldrank.encoders.base import Encoder, identity_of, one_of
from goldrank.encoders.provenance import stamp
from goldrank.errors import InputError, shorten
from goldrank.io.formats.json_files import decode
from goldrank.masked.examples.chunks import MASK, Blank, Guesses, MaskKey
from goldrank.masked.predictors.base import Closed, refuse_k
from goldrank.specs import Spec
from goldrank.tasks.ranking.encoding import Encoding
from goldrank.vectors.similarity import normalised, pairwise

# How many cosines are held at a time.
_BLOCK = 1 << 22
# What float32 products keep whatever stands beside them in a batch, so that equal texts tie however they were asked.
_DECIMALS = 6


class Retrieve:
    """``retrieve:ENCODER(by=both, texts=FILE)``, with the options of the encoder among them.

    A candidate is a title of the data, known by the title itself and by the texts of its chunks; its score is the
    best cosine over them (``by=title`` or ``by=texts`` for one of the two). The asked chunk never counts. That would
    leave a person of one text without any just where that person is asked for, while all others keep theirs; so a
    text counts only for persons of two or more, and the others are known by their titles, whoever is asked for.

    ``texts=FILE`` adds texts, JSON lines with title and text; titles that the data lacks are further candidates.
    Equal scores are ordered by title.
    """

    instant = True  # What takes time is encoding, and vectors are kept by the cache.

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        options = dict(spec.options)
        self._by = one_of("by", options.pop("by", "both"), ("title", "texts", "both"))
        self._file = Path(options.pop("texts")).expanduser() if "texts" in options else None
        if not spec.argument:
            raise InputError("retrieve names no encoder", remedy="write retrieve:wordllama or the like")
        loaded = encoders.load(Spec.parse(spec.argument).updated(options))
        if not isinstance(loaded, Encoder):
            raise InputError(
                f"{spec.argument} ranks without vectors and gives no cosine", remedy="choose an encoder, say tfidf"
            )
        if getattr(loaded, "by", None) == "id":
            raise InputError(f"{spec.argument} looks vectors up by id", remedy="give vectors by text")
        self._encoder = loaded
        # Now, because a model that learns from the corpus names it afterwards.
        self._encoder_identity = loaded.identity
        self._added = list(_read_texts(self._file)) if self._file is not None else []
        self._known: _Known | None = None

    @property
    def identity(self) -> str:
        """What is compared, with what encoder, and a stamp of the added texts."""
        version = f"1 of {self._encoder_identity}" + (f" {stamp(self._file)}" if self._file is not None else "")
        return identity_of(self.spec, version)

    def prepare(self, material: Closed) -> None:
        """Encode what is known of the candidates, every distinct text once."""
        self._known = None
        evidence = sorted(self._evidence(material), key=lambda piece: (piece.title, piece.page, piece.sequence))
        if not evidence:
            raise InputError(
                f"nothing is known of any person by their {self._by}",
                remedy="every page has one text, which is the asked one: use by=title, or add texts=FILE",
            )
        texts = list(dict.fromkeys(piece.text for piece in evidence))
        encode = Encoding.of(self._encoder, texts)
        self._known = _Known.of(evidence, texts, encode)

    def _evidence(self, material: Closed) -> Iterator[_Evidence]:
        titles = {*material.titles.values(), *(title for title, _ in self._added)}
        if self._by != "texts":
            yield from (_Evidence(title, "", -1, title) for title in titles)
        if self._by != "title":
            yield from (_Evidence(title, "", -1, text) for title, text in self._added)
            for page, texts in material.texts.items():
                if len({sequence for sequence, _ in texts}) > 1:
                    for sequence, text in texts:
                        yield _Evidence(material.titles[page], page, sequence, unmasked(text))

    def predict(self, blanks: Sequence[Blank], k: int) -> list[Guesses]:
        """The k nearest persons of each mask, with their cosines."""
        refuse_k(k)
        if self._known is None:
            raise InputError("retrieve has seen no persons yet", remedy="call .prepare(material) first")
        if not blanks:
            return []
        asked = [unmasked(f"{blank.before} {blank.after}") for blank in blanks]
        texts = list(dict.fromkeys(asked))
        row = {text: at for at, text in enumerate(texts)}
        vectors = normalised(self._known.encode(texts, "query"))
        made: list[Guesses] = []
        step = max(1, _BLOCK // len(self._known.text_of))
        for start in range(0, len(blanks), step):
            block = slice(start, start + step)
            scores = pairwise(vectors[[row[text] for text in asked[block]]], self._known.vectors, "dot")
            made += [self._known.nearest(each, blank.key, k) for each, blank in zip(scores, blanks[block], strict=True)]
        return made


class _Evidence(NamedTuple):
    """One text that a candidate is known by."""

    title: str
    page: str
    sequence: int
    text: str


@dataclass(frozen=True, eq=False)
class _Known:
    """All that the candidates are known by, those of one title in a row."""

    encode: Encoding
    titles: list[str]
    starts: NDArray[np.int64]
    """Where the evidence of each title begins."""
    vectors: Any
    """One for each distinct text, at length 1."""
    text_of: NDArray[np.int64]
    """The text of each piece of evidence."""
    chunks: dict[tuple[str, int], list[int]]
    """The evidence that comes from each chunk."""

    @classmethod
    def of(cls, evidence: list[_Evidence], texts: list[str], encode: Encoding) -> _Known:
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
        """The k best titles by their best evidence, without what the asked chunk says."""
        evidence = cosines.astype(np.float64)[self.text_of].round(_DECIMALS)
        evidence[self.chunks.get((key.page, key.sequence), [])] = -np.inf
        best = np.maximum.reduceat(evidence, self.starts)
        order = np.argsort(-best, kind="stable")[:k]
        kept = [at for at in order.tolist() if best[at] > -np.inf]
        return Guesses(tuple(self.titles[at] for at in kept), tuple(best[kept].tolist()))


def unmasked(text: str) -> str:
    """A text with nothing where its masks were, white space as single blanks.

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
