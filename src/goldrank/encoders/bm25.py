"""BM25 through bm25s: ranks items by the words they share with the query, no vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Options, checked_texts, identity_of, number, one_of, refuse_ids
from goldrank.encoders.provenance import require, require_later, texts_stamp, version_of
from goldrank.encoders.tokens import tokenizer
from goldrank.errors import InputError
from goldrank.hits import Floats, Ints, Run
from goldrank.progress import Progress
from goldrank.specs import Spec

METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")
DEFAULTS = {
    "k1": "1.5",
    "b": "0.75",
    "delta": "0.5",
    "method": "lucene",
    "tokens": "words",
    "stopwords": "none",
    "stemmer": "none",
}
PRESETS = {
    # What bm25s does with texts by default: all the same, but without English stop words.
    "bm25s": {"stopwords": "en"}
}


class Bm25:
    """``bm25(k1=1.5, b=0.75, method=lucene)`` over lower-case runs of two or more letters and digits.

    The defaults are those of bm25s, except that no stop words are left out and nothing is stemmed, because both depend
    on a language: ``stopwords=en`` and ``stemmer=english`` ask for them, ``preset=bm25s`` for its stop words.

    A ranking holds the items that share a word with the query, k of them at most. Items with equal scores are
    ordered by id, last first, as trec_eval does, so that the cut at k is the same however the corpus is ordered.
    """

    # Quicker to search again than to keep what was found until a run is stored.
    instant = True

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        unused = ("query_prompt", "item_prompt", "dtype", "max_length", "dim")
        Options.take(spec, *DEFAULTS, "preset", without=unused)
        if spec.argument:
            raise InputError(f"bm25 takes no argument, but got {spec.argument!r}", remedy="write bm25(k1=0.9, b=0.4)")
        require_later("bm25s", "bm25", "lexical")
        self._completed = spec.completed(DEFAULTS, PRESETS)
        own = self._completed.options
        self._parameters = {
            "k1": number("k1", own["k1"]),
            "b": number("b", own["b"]),
            "delta": number("delta", own["delta"]),
            "method": one_of("method", own["method"], METHODS),
        }
        if self._parameters["b"] > 1:  # type: ignore[operator]
            raise InputError(f"b={own['b']} is not between 0 and 1", remedy="write b=0.75 or the like")
        self._tokens = tokenizer(own["tokens"])
        self._stopwords = self._stopword_list(own["stopwords"])
        self._stem = _stemmer(own["stemmer"])
        self._ids: list[str] = []
        self._indexed = ""

    @property
    def identity(self) -> str:
        """Everything that can change a score, the corpus included."""
        return identity_of(self._completed, f"{version_of('bm25s')}{self._indexed}")

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Take in the corpus."""
        texts = checked_texts(texts)
        refuse_ids(ids, texts)
        documents = [self._words(text) for text in texts]
        vocabulary: dict[str, int] = {}
        numbered = [[vocabulary.setdefault(word, len(vocabulary)) for word in document] for document in documents]
        if not vocabulary:
            raise InputError(
                f"none of the {len(texts)} texts has a word", remedy="check the texts, tokens and stopwords"
            )
        self._model: Any = require("bm25s", "bm25", "lexical").BM25(**self._parameters, dtype="float64")
        self._model.index((numbered, vocabulary), show_progress=False, create_empty_token=False)
        self._vocabulary, self._ids = vocabulary, list(ids)
        order = sorted(range(len(self._ids)), key=lambda at: self._ids[at].encode("utf-8", "surrogatepass"))
        self._place = np.empty(len(order), np.int64)
        self._place[order] = np.arange(len(order))
        self._indexed = f" over {len(texts)} texts {texts_stamp([*self._ids, *texts])}"

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """The k best items of each query; a query that shares no word with any item has an empty ranking."""
        if not self._ids:
            raise InputError("bm25 has no corpus to search", remedy="call .index(ids, texts) first")
        if k < 1:
            raise InputError(f"k={k} is not a whole number from 1 up", remedy="ask for at least one item")
        texts = checked_texts(texts)
        refuse_ids(ids, texts)
        found: list[tuple[Ints, Floats]] = []
        with Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress:
            for text in texts:
                found.append(self._best(text, k))
                progress.advance()
        return Run.from_positions(ids, self._ids, found, str(self.spec))

    def _best(self, text: str, k: int) -> tuple[Ints, Floats]:
        words = [self._vocabulary[word] for word in self._words(text) if word in self._vocabulary]
        if not words:
            return np.zeros(0, np.int64), np.zeros(0)
        sharing = self._sharing(words)
        scores = self._model.get_scores_from_ids(words)[sharing]
        if len(scores) > k:
            # Everything tied with the k-th stays in until the ids have decided.
            kept = scores >= np.partition(scores, -k)[-k]
            sharing, scores = sharing[kept], scores[kept]
        best = np.lexsort((-self._place[sharing], -scores))[:k]
        return sharing[best], scores[best]

    def _sharing(self, words: list[int]) -> NDArray[np.int64]:
        starts, items = self._model.scores["indptr"], self._model.scores["indices"]
        return np.unique(np.concatenate([items[starts[word] : starts[word + 1]] for word in set(words)])).astype(
            np.int64
        )

    def _words(self, text: str) -> list[str]:
        kept = [word for word in self._tokens(text) if word not in self._stopwords]
        return self._stem.stemWords(kept) if self._stem else kept

    def _stopword_list(self, name: str) -> frozenset[str]:
        if name.lower() == "none":
            return frozenset()
        lists = vars(require("bm25s.stopwords", "bm25", "lexical"))
        known = {n.removeprefix("STOPWORDS_").lower(): n for n in lists if n.startswith("STOPWORDS_")}
        chosen = one_of("stopwords", name.lower(), ["none", *sorted(known)])
        return frozenset(lists[known[chosen]])


def _stemmer(language: str) -> Any:
    if language == "none":
        return None
    package = require("Stemmer", "bm25(stemmer=…)", "lexical", "PyStemmer")
    return package.Stemmer(one_of("stemmer", language, ["none", *package.algorithms()]))
