"""BM25 through bm25s: rank items by the words they share with the query, without vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from goldrank.encoders.base import Options, check_ids, check_texts, identity_of, parse_choice, parse_number
from goldrank.encoders.provenance import check_installed, import_package, texts_stamp, version_of
from goldrank.encoders.rankings import check_k
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
    # The tokenizer of bm25s, which also removes English stop words.
    "bm25s": {"stopwords": "en"}
}


class Bm25:
    """``bm25(k1=1.5, b=0.75, method=lucene)`` over lower-case runs of two or more letters and digits.

    The defaults are those of bm25s, but without its stop words, because they depend on a language: ``stopwords=en``
    removes stop words, ``stemmer=english`` stems, and ``preset=bm25s`` removes the stop words of bm25s.

    A ranking holds at most k items that share a word with the query. Items with equal scores are ordered by descending
    id as in trec_eval, so that the cut at k does not depend on the order of the corpus.
    """

    instant = True
    """Searching is so fast that no checkpoint of it is worth writing."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        unused = ("query_prompt", "item_prompt", "dtype", "max_length", "dim")
        Options.split(spec, *DEFAULTS, "preset", without=unused)
        if spec.argument:
            raise InputError(f"bm25 takes no argument, but got {spec.argument!r}", remedy="write bm25(k1=0.9, b=0.4)")
        check_installed("bm25s", "bm25", "lexical")
        self._completed = spec.completed(DEFAULTS, PRESETS)
        own = self._completed.options
        self._parameters = {
            "k1": parse_number("k1", own["k1"]),
            "b": parse_number("b", own["b"], most=1.0),
            "delta": parse_number("delta", own["delta"]),
            "method": parse_choice("method", own["method"], METHODS),
        }

        self._tokens = tokenizer(own["tokens"])
        self._stopwords = self._stopword_list(own["stopwords"])
        self._stem = _stemmer(own["stemmer"])
        self._ids: list[str] = []
        self._indexed = ""

    @property
    def identity(self) -> str:
        """Everything that can change a score, including the corpus."""
        return identity_of(self._completed, f"{version_of('bm25s')}{self._indexed}")

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index the corpus."""
        texts = check_texts(texts)
        check_ids(ids, texts)
        documents = [self._words(text) for text in texts]
        vocabulary: dict[str, int] = {}
        numbered = [[vocabulary.setdefault(word, len(vocabulary)) for word in document] for document in documents]
        if not vocabulary:
            raise InputError(
                f"none of the {len(texts)} texts has a word", remedy="check the texts, tokens and stopwords"
            )
        self._model: Any = import_package("bm25s", "bm25", "lexical").BM25(**self._parameters, dtype="float64")
        self._model.index((numbered, vocabulary), show_progress=False, create_empty_token=False)
        self._vocabulary, self._ids = vocabulary, list(ids)
        order = sorted(range(len(self._ids)), key=lambda row: self._ids[row].encode("utf-8", "surrogatepass"))
        self._id_order = np.empty(len(order), np.int64)
        self._id_order[order] = np.arange(len(order))
        self._indexed = f" over {len(texts)} texts {texts_stamp([*self._ids, *texts])}"

    def search(self, ids: Sequence[str], texts: Sequence[str], k: int) -> Run:
        """Return the k best items of each query; the ranking of a query that shares no word with any item is empty."""
        if not self._ids:
            raise InputError("bm25 has no corpus to search", remedy="call .index(ids, texts) first")
        check_k(k)
        texts = check_texts(texts)
        check_ids(ids, texts)
        results: list[tuple[Ints, Floats]] = []
        with Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress:
            for text in texts:
                results.append(self._best(text, k))
                progress.advance()
        return Run.from_positions(ids, self._ids, results, str(self.spec))

    def _best(self, text: str, k: int) -> tuple[Ints, Floats]:
        words = [self._vocabulary[word] for word in self._words(text) if word in self._vocabulary]
        if not words:
            return np.zeros(0, np.int64), np.zeros(0)
        rows = self._sharing(words)
        scores = self._model.get_scores_from_ids(words)[rows]
        if len(scores) > k:
            # Items tied with the k-th stay until the order of the ids decides.
            candidates = scores >= np.partition(scores, -k)[-k]
            rows, scores = rows[candidates], scores[candidates]
        best = np.lexsort((-self._id_order[rows], -scores))[:k]
        return rows[best], scores[best]

    def _sharing(self, words: list[int]) -> NDArray[np.int64]:
        """Return the rows of the items that contain one of the words."""
        starts, items = self._model.scores["indptr"], self._model.scores["indices"]
        lists = [items[starts[word] : starts[word + 1]] for word in set(words)]
        return np.unique(np.concatenate(lists)).astype(np.int64)

    def _words(self, text: str) -> list[str]:
        words = [word for word in self._tokens(text) if word not in self._stopwords]
        return self._stem.stemWords(words) if self._stem else words

    def _stopword_list(self, name: str) -> frozenset[str]:
        if name.lower() == "none":
            return frozenset()
        lists = vars(import_package("bm25s.stopwords", "bm25", "lexical"))
        known = {n.removeprefix("STOPWORDS_").lower(): n for n in lists if n.startswith("STOPWORDS_")}
        chosen = parse_choice("stopwords", name.lower(), ["none", *sorted(known)])
        return frozenset(lists[known[chosen]])


def _stemmer(language: str) -> Any:
    if language == "none":
        return None
    package = import_package("Stemmer", "bm25(stemmer=…)", "lexical", "PyStemmer")
    return package.Stemmer(parse_choice("stemmer", language, ["none", *package.algorithms()]))
