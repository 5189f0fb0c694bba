"""The known sets of scored pairs: the files of STS 2012 to 2016, the STS benchmark, SICK, STR and word similarity."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from goldrank.data.collections.splits import choose_split, files_in, in_order, stem_and_suffix
from goldrank.data.collections.streams import read_lines, read_text
from goldrank.data.scored_pairs import (
    PairRow,
    PairSets,
    ScoredPairs,
    gather,
    read_scored_pairs,
    read_word_similarity,
    table_rows,
)
from goldrank.data.sources import DatasetDescription, find_below, require_local
from goldrank.errors import InputError, counts
from goldrank.io.checks import is_number
from goldrank.io.column_names import describe_columns, listing, normal
from goldrank.io.files import PathLike
from goldrank.io.formats.delimited import refuse_ragged, split_rows

PairReader = Callable[[Path, str | None], ScoredPairs]

_TEXT_SUFFIXES = (".txt", ".csv", ".tsv", ".jsonl", ".json")
_NONE_STATED = "none stated with the public copies"
_MIXED = "that of each subset's source"


def read_sts_folder(path: Path, split: str | None = None) -> ScoredPairs:
    """Read STS 2012 to 2016: ``STS.input.NAME.txt`` with two sentences a line, ``STS.gs.NAME.txt`` with their scores.

    A line without a score is a pair without annotation; it is left out and counted.
    """
    choose_split(split, ("test",), str(path))
    names = [file.name[len("STS.input.") : -len(".txt")] for file in sorted(path.glob("STS.input.*.txt"))]
    if not names:
        raise InputError("there is no file STS.input.NAME.txt", where=str(path), remedy="name the folder that holds it")
    rows: list[PairRow] = []
    remarks: list[str] = []
    for name in names:
        texts, gold = path / f"STS.input.{name}.txt", path / f"STS.gs.{name}.txt"
        if not gold.is_file():
            raise InputError("the scores of this file are not here", where=str(texts), remedy=f"put {gold.name} beside")
        pairs, scores = read_lines(texts, remarks), read_lines(gold, remarks)
        if len(pairs) != len(scores):
            raise InputError(
                f"there are {counts(len(scores), 'score')} for {counts(len(pairs), 'pair')}",
                where=str(gold),
                remedy="copy both files again",
            )
        for number, (pair, score) in enumerate(zip(pairs, scores, strict=True), 1):
            if score.strip():
                cells = _cells(pair, f"{texts}:{number}", at_least=2)
                rows.append(PairRow(f"{gold}:{number}", f"{name}:{number}", cells[0], cells[1], score, name))
        if blank := sum(not score.strip() for score in scores):
            remarks.append(f"{name}: {counts(blank, 'pair')} of {len(scores)} without a score, left out")
    scored = {file.name[len("STS.gs.") : -len(".txt")] for file in path.glob("STS.gs.*.txt")}
    remarks += [f"{name} has scores and no sentences, left out" for name in sorted(scored - {*names, "ALL"})]
    return gather(
        rows, path, remarks, "sentence", "text1 = column 1 of STS.input, text2 = column 2 of STS.input, score = STS.gs"
    )


def read_sts_benchmark(path: Path, split: str | None = None) -> ScoredPairs:
    """Read the STS benchmark, ``sts-test.csv`` and so on: separated by tabs, with quotes as plain characters.

    The texts of the training split are added if its file is in the same folder and another split is read.
    """
    file, others = _file_of_split(path, "sts-*.csv", split)
    remarks: list[str] = []
    columns = "text1 = column 6, text2 = column 7, score = column 5; ignored: columns 1 to 4 and any after 7"
    pairs = gather(_benchmark_rows(file, remarks), file, remarks, "sentence", columns)
    train = others.get("train")
    if train is None or train == file:
        return pairs
    texts = dict.fromkeys(text for row in _benchmark_rows(train, []) for text in (str(row.first), str(row.second)))
    return replace(pairs, training=tuple(texts))


def _benchmark_rows(file: Path, remarks: list[str]) -> list[PairRow]:
    rows = []
    for number, line in enumerate(read_lines(file, remarks), 1):
        cells = _cells(line, f"{file}:{number}", at_least=7)
        rows.append(PairRow(f"{file}:{number}", str(number), cells[5], cells[6], cells[4]))
    return rows


def read_sick(path: Path, split: str | None = None) -> ScoredPairs:
    """Read the relatedness scores of SICK, ``SICK_test_annotated.txt`` and so on, which have a header."""
    file, _ = _file_of_split(path, "SICK_*.txt", split)
    remarks: list[str] = []
    lines = ((number, line.split("\t")) for number, line in enumerate(read_lines(file, remarks), 1) if line)
    rows, columns = table_rows(refuse_ragged(lines, str(file)), file)
    return gather(rows, file, remarks, "sentence", columns)


def read_str(path: Path, split: str | None = None) -> ScoredPairs:
    """Read STR, ``sem_text_rel_ranked.csv``: both sentences in one quoted cell, separated by a line break."""
    choose_split(split, ("test",), str(path))
    file = path / "sem_text_rel_ranked.csv" if path.is_dir() else path
    remarks: list[str] = []
    rows = split_rows(read_text(file, remarks).encode(), str(file), "csv")
    _, header = next(rows)
    names = [normal(name) for name in header]
    if missing := [name for name in ("pairid", "text", "score") if name not in names]:
        raise InputError(
            f"there is no column {missing[0]} (columns: {listing(header)})", where=f"{file}:1", remedy="check the file"
        )
    id_at, text_at, score_at = (names.index(name) for name in ("pairid", "text", "score"))
    pairs = []
    for number, cells in rows:
        place = f"{file}:{number}"
        if len(texts := cells[text_at].split("\n")) != 2:
            raise InputError("the row does not hold two sentences", where=place, remedy="separate them by a line break")
        pairs.append(PairRow(place, cells[id_at], texts[0], texts[1], cells[score_at]))
    columns = describe_columns(header, {"both texts": text_at, "score": score_at, "id": id_at})
    return gather(pairs, file, remarks, "sentence", columns)


def _cells(line: str, where: str, *, at_least: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) < at_least:
        raise InputError(
            f"the line has {counts(len(cells), 'column')} where {at_least} are needed",
            where=where,
            remedy="separate the columns by tabs",
        )
    return cells


def _file_of_split(path: Path, pattern: str, split: str | None) -> tuple[Path, dict[str, Path]]:
    """Return the file of a split, and the files of all splits in the folder."""
    folder = path if path.is_dir() else path.parent
    files = {_split_of(file): file for file in sorted(folder.glob(pattern))}
    if not path.is_dir() and split is None:
        return path, files
    if not files:
        raise InputError(f"there is no file {pattern}", where=str(folder), remedy="name the folder that holds it")
    return files[choose_split(split, files, str(folder))], files


def _split_of(file: Path) -> str:
    name = stem_and_suffix(file)[0].lower().removesuffix("_annotated").replace("_", "-").partition("-")[2]
    return "dev" if name == "trial" else name


def read_pair_sources(paths: Sequence[PathLike]) -> list[ScoredPairs]:
    """Read scored pairs from files and folders; the layout of each is recognised by its content.

    Supported are the STS benchmark, STS 2012 to 2016, SICK, STR, word similarity, and the tables of
    `read_scored_pairs`. Splits of the STS benchmark or of SICK in one folder are one source, because they have the same
    scale; every other file is a separate source. Of a folder, all splits are read, or all its text files.

    Returns:
        One set per source.
    """
    grouped: dict[tuple[object, Path], list[ScoredPairs]] = {}
    seen: dict[Path, Path] = {}
    for file in (file for path in paths for file in _pair_files(Path(path))):
        if (first := seen.setdefault(file.resolve(), file)) is not file:
            raise InputError("this file is given twice", where=f"{first}", remedy="name every file of pairs once")
        reader = read_sts_folder if file.is_dir() else _reader_by_content(file)
        is_split = reader in (read_sts_benchmark, read_sick)
        grouped.setdefault((reader, file.resolve().parent if is_split else file), []).append(reader(file, None))
    return [_merged(parts) for parts in grouped.values()]


def _pair_files(path: Path) -> list[Path]:
    """Return the files of a path; the folder itself if sentences and scores are in separate files."""
    if not path.is_dir() or any(path.glob("STS.input.*.txt")):
        return [path]
    for pattern in ("sts-*.csv", "SICK*.txt", "sem_text_rel_ranked.csv"):
        if splits := {_split_of(file): file for file in sorted(path.glob(pattern))}:
            return [splits[name] for name in reversed(in_order(splits))]
    files = sorted(file for file in files_in(path) if stem_and_suffix(file)[1] in _TEXT_SUFFIXES)
    if not files:
        raise InputError(
            "the folder holds no file of pairs", where=str(path), remedy=f"put {', '.join(_TEXT_SUFFIXES)} files there"
        )
    return files


def _reader_by_content(file: Path) -> PairReader:
    """Choose the reader of a file by its first line, because ``sts-test.csv`` is separated by tabs."""
    lines = read_text(file, []).split("\n")
    first = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    cells, words = first.split("\t"), first.split()
    if len(cells) >= 7 and is_number(cells[4]):
        return read_sts_benchmark
    if {"sentence_a", "sentence_b", "relatedness_score"} <= {normal(cell) for cell in cells}:
        return read_sick
    if len(words) == 3 and is_number(words[2]) and len(cells) in (1, 3) and "," not in first:
        return read_word_similarity
    if {"pairid", "text", "score"} <= {normal(cell.strip('"')) for cell in first.split(",")}:
        return read_str
    return read_scored_pairs


def _merged(parts: list[ScoredPairs]) -> ScoredPairs:
    """Merge the splits of a data set into one source; the texts decide its level."""
    first, second = ([text for part in parts for text in getattr(part, side)] for side in ("first", "second"))
    return ScoredPairs(
        parts[0].name if len(parts) == 1 else Path(parts[0].source).resolve().parent.name,
        tuple(f"{part.name}:{pair_id}" for part in parts for pair_id in part.ids),
        tuple(first),
        tuple(second),
        np.concatenate([part.scores for part in parts]),
        level="word" if all(len(text.split()) == 1 for text in first + second) else "sentence",
        remarks=tuple(remark for part in parts for remark in part.remarks),
        source=", ".join(part.source for part in parts),
        columns="; or ".join(dict.fromkeys(part.columns for part in parts)),
    )


@dataclass(frozen=True)
class PairSet:
    """A named set of pairs."""

    name: str
    reader: PairReader
    places: tuple[str, ...]
    """The paths that its folder or file may have under a folder of data."""
    summary: str
    about: DatasetDescription

    def read(self, split: str | None = None) -> ScoredPairs:
        """Read the set from $GOLDRANK_DATA."""
        return self.read_at(require_local(self.name, self.places), split)

    def read_at(self, path: Path, split: str | None = None) -> ScoredPairs:
        """Read the set from its path, or from a folder that holds it."""
        inside = find_below(path, self.places) if path.is_dir() else None
        return replace(self.reader(inside or path, split), name=self.name)


def read_all(name: str, sets: Sequence[PairSet], path: Path | None, split: str | None) -> PairSets:
    """Read several sets, each from $GOLDRANK_DATA, or all from under one folder."""
    choose_split(split, ("test",), name)
    if path is not None and not path.is_dir():
        raise InputError(
            "this is not a folder", where=str(path), remedy=f"give the folder that holds the sets of {name}"
        )
    return PairSets(name, tuple(known.read() if path is None else known.read_at(path) for known in sets))


def _places(name: str, *folders: str) -> tuple[str, ...]:
    """Return a name alone and inside the folders in which EvalRank has it."""
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
            notes="Sampled from STS 2012 to 2017: it shares pairs with sts12 to sts16. Its training split is used for "
            "fitting.",
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
            notes="For the published EvalRank values, each sentence was split into characters, separated by blanks.",
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
