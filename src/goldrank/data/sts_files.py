"""The files of STS 2012 to 2016, the STS benchmark, SICK and STR, as their makers laid them out, known by content."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from goldrank.data.collections.splits import choose_split, files_in, in_order, stem_and_suffix
from goldrank.data.scored_pairs import (
    PairRow,
    ScoredPairs,
    describe_columns,
    file_lines,
    file_text,
    gather,
    only_test,
    read_scored_pairs,
    read_word_similarity,
    table_rows,
)
from goldrank.errors import InputError, counts
from goldrank.io.checks import is_number
from goldrank.io.column_names import listing, normal
from goldrank.io.files import PathLike
from goldrank.io.formats.delimited import split_rows

_TEXT_SUFFIXES = (".txt", ".csv", ".tsv", ".jsonl", ".json")


def read_sts_folder(path: Path, split: str | None = None) -> ScoredPairs:
    """STS 2012 to 2016: ``STS.input.NAME.txt`` with two sentences a line and ``STS.gs.NAME.txt`` with their scores.

    A line without a score is a pair that nobody annotated; it is left out and counted.
    """
    only_test(split, path)
    names = [file.name[len("STS.input.") : -len(".txt")] for file in sorted(path.glob("STS.input.*.txt"))]
    if not names:
        raise InputError("there is no file STS.input.NAME.txt", where=str(path), remedy="name the folder that holds it")
    rows: list[PairRow] = []
    remarks: list[str] = []
    for name in names:
        texts, gold = path / f"STS.input.{name}.txt", path / f"STS.gs.{name}.txt"
        if not gold.is_file():
            raise InputError("the scores of this file are not here", where=str(texts), remedy=f"put {gold.name} beside")
        pairs, scores = file_lines(texts, remarks), file_lines(gold, remarks)
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
    return gather(rows, path, remarks, "sentence", "texts in columns 1 and 2 of STS.input, scores in STS.gs")


def read_sts_benchmark(path: Path, split: str | None = None) -> ScoredPairs:
    """The STS benchmark: ``sts-test.csv`` and its like, columns parted by tabs, in which a quote is a plain character.

    The texts of the training split come along, where it lies beside and is not itself asked for.
    """
    file, others = _file_of_split(path, "sts-*.csv", split)
    remarks: list[str] = []
    columns = "score in column 5, texts in columns 6 and 7; not read: columns 1 to 4 and any after 7"
    made = gather(_benchmark_rows(file, remarks), file, remarks, "sentence", columns)
    train = others.get("train")
    if train is None or train == file:
        return made
    texts = dict.fromkeys(text for row in _benchmark_rows(train, []) for text in (str(row.first), str(row.second)))
    return replace(made, training=tuple(texts))


def _benchmark_rows(file: Path, remarks: list[str]) -> list[PairRow]:
    rows = []
    for number, line in enumerate(file_lines(file, remarks), 1):
        cells = _cells(line, f"{file}:{number}", at_least=7)
        rows.append(PairRow(f"{file}:{number}", str(number), cells[5], cells[6], cells[4]))
    return rows


def read_sick(path: Path, split: str | None = None) -> ScoredPairs:
    """SICK: ``SICK_test_annotated.txt`` and its like, with a header, of which the relatedness is read."""
    file, _ = _file_of_split(path, "SICK_*.txt", split)
    remarks: list[str] = []
    lines = ((number, line.split("\t")) for number, line in enumerate(file_lines(file, remarks), 1) if line)
    rows, columns = table_rows(lines, file)
    return gather(rows, file, remarks, "sentence", columns)


def read_str(path: Path, split: str | None = None) -> ScoredPairs:
    """STR, ``sem_text_rel_ranked.csv``: both sentences in one quoted cell, parted by a line break."""
    only_test(split, path)
    file = path / "sem_text_rel_ranked.csv" if path.is_dir() else path
    remarks: list[str] = []
    rows = split_rows(file_text(file, remarks).encode(), str(file), "csv")
    _, header = next(rows)
    names = [normal(name) for name in header]
    if missing := [name for name in ("pairid", "text", "score") if name not in names]:
        raise InputError(
            f"there is no column {missing[0]} (columns: {listing(header)})", where=f"{file}:1", remedy="check the file"
        )
    id_at, text_at, score_at = (names.index(name) for name in ("pairid", "text", "score"))
    found = []
    for number, cells in rows:
        place = f"{file}:{number}"
        if len(cells) != len(header) or len(texts := cells[text_at].split("\n")) != 2:
            raise InputError("the row does not hold two sentences", where=place, remedy="part them by a line break")
        found.append(PairRow(place, cells[id_at], texts[0], texts[1], cells[score_at]))
    unused = [name for at, name in enumerate(header) if at not in (id_at, text_at, score_at)]
    taken = f"both texts {header[text_at]}, parted by a line break, score {header[score_at]}"
    return gather(found, file, remarks, "sentence", describe_columns(taken, header[id_at], unused))


def _cells(line: str, where: str, *, at_least: int) -> list[str]:
    cells = line.split("\t")
    if len(cells) < at_least:
        raise InputError(
            f"the line has {counts(len(cells), 'column')} where {at_least} are needed",
            where=where,
            remedy="part the columns by tabs",
        )
    return cells


def _file_of_split(path: Path, pattern: str, split: str | None) -> tuple[Path, dict[str, Path]]:
    """The file of a split, and those of all splits that lie in the folder."""
    folder = path if path.is_dir() else path.parent
    there = {_split_of(file): file for file in sorted(folder.glob(pattern))}
    if not path.is_dir() and split is None:
        return path, there
    if not there:
        raise InputError(f"there is no file {pattern}", where=str(folder), remedy="name the folder that holds it")
    return there[choose_split(split, there, str(folder))], there


def _split_of(file: Path) -> str:
    name = stem_and_suffix(file)[0].lower().removesuffix("_annotated").replace("_", "-").partition("-")[2]
    return "dev" if name == "trial" else name


def read_pair_sources(paths: Sequence[PathLike]) -> list[ScoredPairs]:
    """Read pairs with scores from files and folders, each in the layout that its content shows.

    Known are the STS benchmark, STS 2012 to 2016, SICK, STR, word similarity, and the tables of `read_scored_pairs`.
    Splits of the STS benchmark or of SICK that lie in one folder are one source, because they share one scale; every
    other file is a source of its own. A folder stands for its splits, from train to test, or for all its text files.

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
    """The files that a path stands for; the folder itself where sentences and scores are files of their own."""
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


def _reader_by_content(file: Path) -> Callable[[Path, str | None], ScoredPairs]:
    """Choose the reader of a file by its first line, because ``sts-test.csv`` is parted by tabs."""
    lines = file_text(file, []).split("\n")
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
    """Make one source of the splits of a data set; its texts tell whether it is of words."""
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
