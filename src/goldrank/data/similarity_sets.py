"""The sets of pairs that people scored: where each lies, who made it, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldrank.data.scored_pairs import PairSets, ScoredPairs, read_word_similarity
from goldrank.data.sources import DATA_VARIABLE, DatasetDescription, find_local
from goldrank.data.sts_files import read_sick, read_str, read_sts_benchmark, read_sts_folder
from goldrank.errors import InputError

Reader = Callable[[Path, str | None], ScoredPairs]

_NONE_STATED = "none stated with the public copies"
_MIXED = "that of each subset's source"


@dataclass(frozen=True)
class PairSet:
    """One set of pairs, named."""

    name: str
    reader: Reader
    places: tuple[str, ...]
    """What its folder or file may be called under a folder of data."""
    summary: str
    about: DatasetDescription

    def read(self, split: str | None = None) -> ScoredPairs:
        """Read it from $GOLDRANK_DATA."""
        return self.read_at(_found(self.name, self.places), split)

    def read_at(self, path: Path, split: str | None = None) -> ScoredPairs:
        """Read it from a path, its own or that of a folder which holds it."""
        within = self._within(path) if path.is_dir() else None
        return replace(self.reader(within or path, split), name=self.name)

    def _within(self, folder: Path) -> Path | None:
        candidates = [folder / place for place in self.places]
        candidates += [found for place in self.places for found in sorted(folder.glob(f"*/{place}"))]
        return next((path for path in candidates if path.exists()), None)


def read_all(name: str, sets: Sequence[PairSet], path: Path | None, split: str | None) -> PairSets:
    """Several sets, each from $GOLDRANK_DATA, or all from under one folder."""
    if split not in (None, "test"):
        raise InputError(f"there is no split {split!r}", remedy=f"{name} has one split, test")
    if path is not None and not path.is_dir():
        raise InputError("this is no folder", where=str(path), remedy=f"give the folder that holds the sets of {name}")
    return PairSets(name, tuple(one.read() if path is None else one.read_at(path) for one in sets))


def _found(name: str, places: tuple[str, ...]) -> Path:
    if (found := find_local(name, *places)) is None:
        raise InputError(
            f"the data of {name} is not here",
            remedy=f"write {name}:PATH, or set {DATA_VARIABLE} to the folder that holds {places[0]}",
        )
    return found


def _places(name: str, *folders: str) -> tuple[str, ...]:
    """A name by itself and within the folders that EvalRank keeps it in."""
    return tuple("/".join((*folders[start:], name)) for start in range(len(folders), -1, -1))


def _sts(year: int, pairs: str, source: str, notes: str = "") -> PairSet:
    return PairSet(
        f"sts{year}",
        read_sts_folder,
        _places(f"STS{year}-en-test", "sent_similarity", "STS"),
        f"{pairs.partition(' in ')[0]} of sentences of STS 20{year}, as alike as people said",
        DatasetDescription(source, _MIXED, pairs, notes=notes, data="by path"),
    )


SENTENCE_SETS = (
    _sts(12, "3,108 pairs in 5 subsets", "Agirre et al., SemEval-2012 Task 6"),
    _sts(
        13,
        "1,500 pairs in 3 subsets",
        "Agirre et al., *SEM 2013 shared task",
        "The sentences of a fourth subset, SMT, may not be passed on.",
    ),
    _sts(14, "3,750 pairs in 6 subsets", "Agirre et al., SemEval-2014 Task 10"),
    _sts(
        15, "3,000 pairs in 5 subsets", "Agirre et al., SemEval-2015 Task 2", "Pairs without a score are not counted."
    ),
    _sts(
        16, "1,186 pairs in 5 subsets", "Agirre et al., SemEval-2016 Task 1", "Pairs without a score are not counted."
    ),
    PairSet(
        "sts-b",
        read_sts_benchmark,
        _places("STSBenchmark", "sent_similarity", "STS"),
        "1,379 pairs of sentences of the STS benchmark",
        DatasetDescription(
            "Cer et al., SemEval-2017 Task 1",
            "CC BY-SA 4.0",
            "test 1,379, dev 1,500, train 5,749 pairs",
            notes="Drawn from STS 2012 to 2017: it shares pairs with sts12 to sts16. What is fitted sees its training "
            "split.",
            data="by path",
        ),
    ),
    PairSet(
        "sick-r",
        read_sick,
        _places("SICK", "sent_similarity"),
        "4,927 pairs of sentences of SICK, as related as people said",
        DatasetDescription(
            "Marelli et al., A SICK cure for the evaluation of compositional distributional semantic models, 2014",
            "CC BY-NC-SA 3.0",
            "test 4,927, dev 500, train 4,500 pairs",
            data="by path",
        ),
    ),
    PairSet(
        "str",
        read_str,
        _places("STR", "sent_similarity"),
        "5,500 pairs of sentences of STR-2022, as related as people said",
        DatasetDescription(
            "Abdalla, Vishnubhotla & Mohammad, What Makes Sentences Semantically Related?, 2023",
            "none stated",
            "5,500 pairs",
            notes="The published EvalRank figures took each sentence for its characters, parted by blanks.",
            data="by path",
        ),
    ),
)


def _words(name: str, file: str, pairs: str, source: str, notes: str = "") -> PairSet:
    return PairSet(
        name,
        read_word_similarity,
        _places(f"EN-{file}.txt", "word_similarity"),
        f"{pairs} pairs of words, as alike as people said",
        DatasetDescription(source, _NONE_STATED, f"{pairs} pairs", notes=notes, data="by path"),
    )


_AGIRRE = "Agirre et al., A Study on Similarity and Relatedness Using Distributional and WordNet-based Approaches, 2009"

WORD_SETS = (
    _words("mc30", "MC-30", "30", "Miller & Charles, Contextual Correlates of Semantic Similarity, 1991"),
    _words("men", "MEN-TR-3k", "3,000", "Bruni, Tran & Baroni, Multimodal Distributional Semantics, 2014"),
    _words("mturk287", "MTurk-287", "287", "Radinsky et al., A Word at a Time, 2011"),
    _words("mturk771", "MTurk-771", "771", "Halawi et al., Large-scale Learning of Word Relatedness, 2012"),
    _words("rg65", "RG-65", "65", "Rubenstein & Goodenough, Contextual Correlates of Synonymy, 1965"),
    _words("rw", "RW-STANFORD", "2,034", "Luong, Socher & Manning, Better Word Representations, 2013", "Rare words."),
    _words("simlex999", "SIMLEX-999", "999", "Hill, Reichart & Korhonen, SimLex-999, 2015", "Not mere relatedness."),
    _words("simverb3500", "SimVerb-3500", "3,500", "Gerz et al., SimVerb-3500, 2016", "Verbs."),
    _words("verb143", "VERB-143", "144", "Baker, Reichart & Korhonen, 2014", "Verbs; its file has 144 pairs."),
    _words("ws353", "WS-353-ALL", "353", "Finkelstein et al., Placing Search in Context, 2002"),
    _words("ws353-rel", "WS-353-REL", "252", _AGIRRE, "The related pairs of ws353 and those that are neither."),
    _words("ws353-sim", "WS-353-SIM", "203", _AGIRRE, "The similar pairs of ws353 and those that are neither."),
    _words("yp130", "YP-130", "130", "Yang & Powers, Verb Similarity on the Taxonomy of WordNet, 2006", "Verbs."),
)

BUILT_IN = DatasetDescription(
    "goldrank", "written for goldrank, Apache-2.0", "150 pairs scored from 0 to 5", data="built in"
)
ALL_SENTENCES = DatasetDescription(
    "see each set",
    "see each set",
    "24,350 pairs in 8 sets",
    notes="Each set counts alike; sts-b shares pairs with sts12 to sts16.",
    data="by path",
)
ALL_WORDS = DatasetDescription(
    "see each set",
    "see each set",
    "11,768 pairs in 13 sets",
    notes="Each set counts alike; ws353-rel and ws353-sim are parts of ws353, and most of mc30 of rg65.",
    data="by path",
)
