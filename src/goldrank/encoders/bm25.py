"""BM25: rank items by the words they share with the query, without vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np

from goldrank.encoders.base import Options, check_ids, check_texts, identity_of, parse_choice, parse_number
from goldrank.encoders.bm25_weights import METHODS, PostingLists, Weighting
from goldrank.encoders.provenance import import_package, texts_stamp, version_of
from goldrank.encoders.rankings import check_k
from goldrank.encoders.tokens import TOKENIZERS, Vocabulary
from goldrank.engines.base import usable_cores
from goldrank.errors import InputError
from goldrank.hits import Floats, Ints, Run
from goldrank.native import search_postings
from goldrank.progress import Progress
from goldrank.specs import Spec

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
# A block of queries has at most so many queries and results, and each thread searches so many blocks before all of them
# are used.
_QUERIES, _RESULTS, _BLOCKS = 32, 2**20, 8


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
        self._completed = spec.completed(DEFAULTS, PRESETS)
        own = self._completed.options
        self._weighting = Weighting(
            method=parse_choice("method", own["method"], list(METHODS)),
            k1=parse_number("k1", own["k1"]),
            b=parse_number("b", own["b"], most=1.0),
            delta=parse_number("delta", own["delta"]),
        )
        self._tokens = parse_choice("tokens", own["tokens"], list(TOKENIZERS))
        self._stopwords = self._stopword_list(own["stopwords"])
        self._stemmer = _load_stemmer(own["stemmer"])
        self._ids: list[str] = []
        self._indexed = ""

    @property
    def identity(self) -> str:
        """Everything that can change a score, including the corpus."""
        # 1 is the version of the weights; the stop words are those of a version of bm25s.
        version = f"1 {version_of('bm25s')}" if self._stopwords else "1"
        return identity_of(self._completed, f"{version}{self._indexed}")

    def index(self, ids: Sequence[str], texts: Sequence[str]) -> None:
        """Index the corpus."""
        texts = check_texts(texts)
        check_ids(ids, texts)
        vocabulary = Vocabulary(self._tokens, partial(_refine, stopwords=self._stopwords, stemmer=self._stemmer))
        words, lengths = vocabulary.number(texts)
        if not len(words):
            raise InputError(
                f"none of the {len(texts)} texts has a word", remedy="check the texts, tokens and stopwords"
            )
        self._lists = PostingLists.build(words, lengths, len(vocabulary), self._weighting)
        self._vocabulary, self._ids = vocabulary, list(ids)
        # Code points order as UTF-8 bytes do.
        order = sorted(range(len(self._ids)), key=self._ids.__getitem__)
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
        return Run.from_positions(ids, self._ids, self._results(texts, min(k, len(self._ids))), str(self.spec))

    def _results(self, texts: list[str], depth: int) -> Iterator[tuple[Ints, Floats]]:
        """Yield the positions and scores of the best items of each query; threads search blocks of queries."""
        numbers, lengths = self._vocabulary.number(texts, known=True)
        words, bounds = numbers.astype(np.int64), np.concatenate([[0], np.cumsum(lengths)])
        lists, size, threads = self._lists, max(1, min(_QUERIES, _RESULTS // depth)), usable_cores()

        def search_block(start: int) -> tuple[Ints, Floats, Ints]:
            own = bounds[start : start + size + 1]
            bases = lists.bases_of(words, own)
            positions, scores = np.empty((len(bases), depth), np.int64), np.empty((len(bases), depth))
            counts = np.empty(len(bases), np.int64)
            arguments = (lists.starts, lists.items, lists.weights, self._id_order, words, own, bases)
            search_postings(*arguments, positions, scores, counts)
            return positions, scores, counts

        starts = range(0, len(texts), size)
        with (
            Progress(f"searching with {self.spec}", total=len(texts), unit="query") as progress,
            ThreadPoolExecutor(threads) as pool,
        ):
            # Only some blocks at a time, because results that wait to be used take memory.
            for first in range(0, len(starts), _BLOCKS * threads):
                for positions, scores, counts in pool.map(search_block, starts[first : first + _BLOCKS * threads]):
                    for row, count in enumerate(counts.tolist()):
                        yield positions[row, :count].copy(), scores[row, :count].copy()
                    progress.advance(len(counts))

    def _stopword_list(self, name: str) -> frozenset[str]:
        if name.lower() == "none":
            return frozenset()
        lists = vars(import_package("bm25s.stopwords", "bm25", "models"))
        known = {n.removeprefix("STOPWORDS_").lower(): n for n in lists if n.startswith("STOPWORDS_")}
        chosen = parse_choice("stopwords", name.lower(), ["none", *sorted(known)])
        return frozenset(lists[known[chosen]])


def _refine(words: list[str], stopwords: frozenset[str], stemmer: Any) -> list[str | None]:
    """Replace stop words by None and the others by their stems."""
    stems = stemmer.stemWords(words) if stemmer else words
    return [None if word in stopwords else stem for word, stem in zip(words, stems, strict=True)]


def _load_stemmer(language: str) -> Any:
    if language == "none":
        return None
    package = import_package("Stemmer", "bm25(stemmer=…)", "lexical", "PyStemmer")
    return package.Stemmer(parse_choice("stemmer", language, ["none", *package.algorithms()]))
