"""The labelled texts that sentence vectors are usually probed with, each in the files that its authors gave out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from goldrank.data.labelled_texts import LabelledTexts, Rows, json_records, lines_of
from goldrank.errors import InputError, counts, shorten
from goldrank.io.files import PathLike

Fill = Callable[[Path, Rows], None]


def _two_files(**files: str) -> Fill:
    """One file of texts per label, a text a line."""

    def fill(folder: Path, rows: Rows) -> None:
        for label, name in files.items():
            for place, line in lines_of(folder / name, rows.remarks):
                rows.add(place, label, line)

    return fill


def _sst2(folder: Path, rows: Rows) -> None:
    """``text TAB label``."""
    for split, place, line in _by_split(_inside(folder, "binary"), rows, "sentiment-{}"):
        text, tab, label = line.rpartition("\t")
        if not tab:
            raise _unlike(line, place, "a text, a tab and a label")
        rows.add(place, label, text, split=split)


def _sst5(folder: Path, rows: Rows) -> None:
    """``label text``."""
    for split, place, line in _by_split(_inside(folder, "fine"), rows, "sentiment-{}"):
        label, blank, text = line.partition(" ")
        if not blank or label not in ("0", "1", "2", "3", "4"):
            raise _unlike(line, place, "a label from 0 to 4, a blank and a text")
        rows.add(place, label, text, split=split)


def _trec(folder: Path, rows: Rows) -> None:
    """``COARSE:fine question``; the coarse class is the label."""
    for split, name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        for place, line in lines_of(folder / name, rows.remarks):
            label, blank, text = line.partition(" ")
            coarse, colon, _ = label.partition(":")
            if not blank or not colon:
                raise _unlike(line, place, "COARSE:fine, a blank and a question")
            rows.add(place, coarse, text, split=split)


def _mrpc(folder: Path, rows: Rows) -> None:
    """``quality, id, id, string, string``, with quotes that mean nothing."""
    for split in ("train", "test"):
        for place, cells in _tab_table(folder / f"msr_paraphrase_{split}.txt", rows, 5):
            rows.add(place, cells[0], cells[3], cells[4], split)


def _sick(folder: Path, rows: Rows) -> None:
    """``pair_ID, sentence_A, sentence_B, relatedness, entailment``."""
    for split, name in (("train", "SICK_train"), ("dev", "SICK_trial"), ("test", "SICK_test_annotated")):
        for place, cells in _tab_table(folder / f"{name}.txt", rows, 5):
            rows.add(place, cells[4], cells[1], cells[2], split)


def _scicite(folder: Path, rows: Rows) -> None:
    for split in ("train", "dev", "test"):
        for place, record in json_records(folder / f"{split}.txt", rows.remarks):
            if missing := {"text", "label"} - set(record):
                raise InputError(f"the record has no {' and no '.join(sorted(missing))}", where=place)
            rows.add(place, record["label"], record["text"], split=split)


READERS: dict[str, Fill] = {
    "mr": _two_files(positive="rt-polarity.pos", negative="rt-polarity.neg"),
    "cr": _two_files(positive="custrev.pos", negative="custrev.neg"),
    "mpqa": _two_files(positive="mpqa.pos", negative="mpqa.neg"),
    "subj": _two_files(subjective="subj.subjective", objective="subj.objective"),
    "sst2": _sst2,
    "sst5": _sst5,
    "trec": _trec,
    "mrpc": _mrpc,
    "sick-e": _sick,
    "scicite": _scicite,
}


def read_labelled_set(name: str, folder: PathLike) -> LabelledTexts:
    """Read one of the known data sets from the folder that holds its files."""
    where = Path(folder).expanduser()
    if not where.is_dir():
        raise InputError(f"this is no folder with the files of {name}", where=str(folder), remedy="check the path")
    rows = Rows()
    READERS[name](where, rows)
    return rows.finished(name, where)


def _by_split(folder: Path, rows: Rows, pattern: str) -> Iterator[tuple[str, str, str]]:
    for split in ("train", "dev", "test"):
        for place, line in lines_of(folder / pattern.format(split), rows.remarks):
            yield split, place, line


def _inside(folder: Path, name: str) -> Path:
    """The folder of one variant, whether it or the one around it was named."""
    return folder / name if (folder / name).is_dir() else folder


def _tab_table(file: Path, rows: Rows, width: int) -> Iterator[tuple[str, list[str]]]:
    lines = lines_of(file, rows.remarks)
    next(lines)
    for place, line in lines:
        cells = line.split("\t")
        if len(cells) != width:
            raise InputError(
                f"the row has {counts(len(cells), 'column')} instead of {width}",
                where=place,
                remedy="separate the columns by one tab each",
            )
        yield place, cells


def _unlike(line: str, place: str, wanted: str) -> InputError:
    return InputError(f"the line {shorten(line)} is not {wanted}", where=place, remedy="check that file and task fit")
