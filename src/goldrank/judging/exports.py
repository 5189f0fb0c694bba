"""Write the labels of a judging project as qrels, or as JSON Lines with who gave them and when."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import BinaryIO

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.hits import Gold
from goldrank.io.files import PathLike, write_atomically
from goldrank.judging.labels import SOURCES, Label, ModelGrade, by_query, combine
from goldrank.judging.project import JudgingProject

FORMATS = {
    "trec": "qrels: query, 0, item, grade; of several judges the lower median",
    "beir": "TSV of query-id, corpus-id and score, likewise",
    "jsonl": "every label with judge, source, time, grade scale and the stratum of its query",
}


def export(
    project: JudgingProject,
    output: PathLike,
    format: str = "trec",
    *,
    sources: Sequence[str] = ("human",),
    judge: str | None = None,
) -> int:
    """Write labels to a file, atomically, and return how many lines it has.

    Args:
        project: The project.
        output: The file; ``-`` is standard output.
        format: One of `FORMATS`.
        sources: The sources of the labels, as in `SOURCES`.
        judge: Only the labels of this person, or the grades of this model judge.

    Raises:
        InputError: There are no such labels.

    >>> import tempfile
    >>> from goldrank.judging.starting import start
    >>> folder = tempfile.mkdtemp()
    >>> project = start("questions", models=["bm25", "tfidf"], depth=5, limit=4, folder=folder)
    >>> unit = project.claim("ann")
    >>> label = project.add_label(unit.query, unit.items[0], 2, "ann")
    >>> export(project, f"{folder}/qrels.txt")
    1
    >>> Gold.read(f"{folder}/qrels.txt")[unit.query] == {unit.items[0]: 2.0}
    True
    """
    if format not in FORMATS:
        raise unknown_name("format", format, FORMATS, f"one of {', '.join(FORMATS)}")
    for source in sources:
        if source not in SOURCES:
            raise unknown_name("source of labels", source, SOURCES, f"one of {', '.join(SOURCES)}")
    grades = project.model_grades(judge) if judge in project.model_judges() else None
    labels = [label for label in project.labels(*sources) if judge in (None, label.judge)] if grades is None else []
    rows: list[Label] | list[ModelGrade] = labels if grades is None else grades
    if not rows:
        known = [*dict.fromkeys(label.judge for label in project.labels()), *project.model_judges()]
        whose = f" of {shorten(judge)}" if judge is not None else ""
        raise InputError(
            f"there are no labels{whose} with the source {' or '.join(sources)}",
            where=str(project.folder),
            remedy=f"there are labels of {', '.join(known)}" if known else "goldrank judge serve collects some",
        )
    if format == "jsonl":
        strata = project.plan.strata
        stratum = {} if strata is None else {query: str(part) for part in strata.slices for query in part.queries}
        lines = [_line(row, project.scale.names, stratum.get(row.query)) for row in rows]
        write_atomically(output, lambda stream: _write_lines(stream, lines))
        return len(lines)
    pairs = combine(labels) if grades is None else {row.pair: row.grade for row in grades if row.grade is not None}
    if not pairs:
        raise InputError("all of these labels say that the item cannot be judged", where=str(project.folder))
    Gold(by_query(pairs)).write(output, format=format)
    return len(pairs)


def _line(row: Label | ModelGrade, scale: Sequence[str], stratum: str | None) -> str:
    content = asdict(row)
    if isinstance(row, ModelGrade):
        content["source"] = "model"
    content["grade_name"] = None if row.grade is None else scale[row.grade]
    content["scale"] = list(scale)
    if stratum is not None:
        content["stratum"] = stratum
    return json.dumps(content, ensure_ascii=False)


def _write_lines(stream: BinaryIO, lines: Sequence[str]) -> None:
    stream.writelines(f"{line}\n".encode() for line in lines)
