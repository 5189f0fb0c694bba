"""The files of STS 2012 to 2016, the STS benchmark, SICK and STR, as their makers laid them out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from goldrank.errors import InputError
from goldrank.io.collections.splits import choose_split, stem_and_suffix
from goldrank.io.names import listing, normal
from goldrank.io.scored_pairs import PairRow, ScoredPairs, file_lines, file_text, gather, only_test, table_rows
from goldrank.io.tabular import split_rows
from goldrank.io.text import counts


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
    return gather(rows, path, remarks, "sentence")


def read_sts_benchmark(path: Path, split: str | None = None) -> ScoredPairs:
    """The STS benchmark: ``sts-test.csv`` and its like, columns parted by tabs, in which a quote is a plain character.

    The texts of the training split come along, where it lies beside and is not itself asked for.
    """
    file, others = _file_of_split(path, "sts-*.csv", split)
    remarks: list[str] = []
    made = gather(_benchmark_rows(file, remarks), file, remarks, "sentence")
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
    return gather(table_rows(lines, file), file, remarks, "sentence")


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
    return gather(found, file, remarks, "sentence")


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
