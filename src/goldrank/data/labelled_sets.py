"""The labelled data sets that are commonly used for probing: readers for the original files, and descriptions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from goldrank.data.labelled_texts import SPLITS, LabelledRows, LabelledTexts, json_records, placed_lines
from goldrank.data.sources import DatasetDescription, require_local
from goldrank.errors import InputError, counts, shorten
from goldrank.io.column_names import Roles, describe_table
from goldrank.io.files import PathLike

_COLUMNS = 5
"""The number of columns in the tables of MRPC and SICK."""
Fill = Callable[[Path, LabelledRows], None]
_NESTED = "Nested 5-fold cross-validation."
_CHOSEN = "Five folds of the training part choose the penalty."
_FIXED = "The development part chooses the penalty."


def _two_files(**files: str) -> Fill:
    """Return the reader of a set with one file per label and one text per line."""

    def fill(folder: Path, rows: LabelledRows) -> None:
        for label, name in files.items():
            for place, line in placed_lines(folder / name, rows.remarks):
                rows.add(place, label, line)

    return fill


def _read_sst2(folder: Path, rows: LabelledRows) -> None:
    """``text TAB label``."""
    for split, place, line in _lines_by_split(folder, "binary", rows):
        text, tab, label = line.rpartition("\t")
        if not tab:
            raise _unlike(line, place, "a text, a tab and a label")
        rows.add(place, label, text, split=split)


def _read_sst5(folder: Path, rows: LabelledRows) -> None:
    """``label text``."""
    for split, place, line in _lines_by_split(folder, "fine", rows):
        label, blank, text = line.partition(" ")
        if not blank or label not in ("0", "1", "2", "3", "4"):
            raise _unlike(line, place, "a label from 0 to 4, a blank and a text")
        rows.add(place, label, text, split=split)


def _lines_by_split(folder: Path, variant: str, rows: LabelledRows) -> Iterator[tuple[str, str, str]]:
    """Yield the lines of a variant of SST with split and place; *folder* is that of the variant or its parent."""
    inside = folder / variant if (folder / variant).is_dir() else folder
    for split in SPLITS:
        for place, line in placed_lines(inside / f"sentiment-{split}", rows.remarks):
            yield split, place, line


def _read_trec(folder: Path, rows: LabelledRows) -> None:
    """``COARSE:fine question``; the coarse class is the label."""
    for split, name in (("train", "train_5500.label"), ("test", "TREC_10.label")):
        for place, line in placed_lines(folder / name, rows.remarks):
            label, blank, text = line.partition(" ")
            coarse, colon, _ = label.partition(":")
            if not blank or not colon:
                raise _unlike(line, place, "COARSE:fine, a blank and a question")
            rows.add(place, coarse, text, split=split)


def _read_mrpc(folder: Path, rows: LabelledRows) -> None:
    """``quality, id, id, string, string``; quotes are plain characters."""
    for split in ("train", "test"):
        file = folder / f"msr_paraphrase_{split}.txt"
        for place, cells in _tab_table(file, rows, {"label": 0, "text": 3, "second": 4}):
            rows.add(place, cells[0], cells[3], cells[4], split)


def _read_sick(folder: Path, rows: LabelledRows) -> None:
    """``pair_ID, sentence_A, sentence_B, relatedness, entailment``."""
    for split, name in (("train", "SICK_train"), ("dev", "SICK_trial"), ("test", "SICK_test_annotated")):
        for place, cells in _tab_table(folder / f"{name}.txt", rows, {"text": 1, "second": 2, "label": 4}):
            rows.add(place, cells[4], cells[1], cells[2], split)


def _tab_table(file: Path, rows: LabelledRows, roles: Roles) -> Iterator[tuple[str, list[str]]]:
    lines = placed_lines(file, rows.remarks)
    header = next(lines)[1].split("\t")
    if len(header) == _COLUMNS:
        rows.readings.append(describe_table(str(file), header, roles))
    for place, line in lines:
        cells = line.split("\t")
        if len(cells) != _COLUMNS:
            raise InputError(
                f"the row has {counts(len(cells), 'column')} instead of {_COLUMNS}",
                where=place,
                remedy="separate the columns by one tab each",
            )
        yield place, cells


def _read_scicite(folder: Path, rows: LabelledRows) -> None:
    for split in SPLITS:
        fields: dict[str, None] = {}
        for place, record in json_records(folder / f"{split}.txt", rows.remarks):
            fields |= dict.fromkeys(record)
            if missing := {"text", "label"} - set(record):
                raise InputError(f"the record has no {' and no '.join(sorted(missing))}", where=place)
            rows.add(place, record["label"], record["text"], split=split)
        names = list(fields)
        roles = {role: names.index(role) for role in ("text", "label")} if names else {}
        rows.readings.append(describe_table(f"{split}.txt", names, roles))


def _unlike(line: str, place: str, wanted: str) -> InputError:
    return InputError(f"the line {shorten(line)} is not {wanted}", where=place, remedy="check that file and task fit")


@dataclass(frozen=True)
class LabelledSet:
    """A labelled data set that is commonly used for probing."""

    name: str
    fill: Fill
    """Reads the files of the set."""
    folders: tuple[str, ...]
    """The names that its folder may have."""
    summary: str
    source: str
    counts: str
    notes: str

    @property
    def description(self) -> DatasetDescription:
        """The authors and the size of the set."""
        return DatasetDescription(self.source, "none stated", self.counts, notes=self.notes, data="by path")

    def read(self, split: str | None = None) -> LabelledTexts:
        """Read the set from its folder under $GOLDRANK_DATA."""
        names = [f"{before}{folder}" for before in ("", "sent_classification/") for folder in self.folders]
        return self.read_at(require_local(f"probe-{self.name}", names), split)

    def read_at(self, path: PathLike, split: str | None = None) -> LabelledTexts:
        """Read the set from the folder that holds its files."""
        refuse_split(split)
        folder = Path(path).expanduser()
        if not folder.is_dir():
            raise InputError(
                f"this is not a folder with the files of {self.name}", where=str(path), remedy="check the path"
            )
        rows = LabelledRows()
        self.fill(folder, rows)
        return rows.finished(self.name, folder)


def refuse_split(split: str | None) -> None:
    """Raise InputError for any split but test: a probe is tested on this split, or by cross-validation."""
    if split not in (None, "test"):
        raise InputError(f"there is no split {split!r} to evaluate", remedy="a probe is tested on test, or by folds")


_SETS = (
    LabelledSet(
        "mr",
        _two_files(positive="rt-polarity.pos", negative="rt-polarity.neg"),
        ("MR",),
        "film reviews: for or against",
        "Pang & Lee, Seeing Stars, 2005",
        "10,662 sentences",
        _NESTED,
    ),
    LabelledSet(
        "cr",
        _two_files(positive="custrev.pos", negative="custrev.neg"),
        ("CR",),
        "product reviews: for or against",
        "Hu & Liu, Mining and Summarizing Customer Reviews, 2004",
        "3,771 sentences",
        _NESTED,
    ),
    LabelledSet(
        "mpqa",
        _two_files(positive="mpqa.pos", negative="mpqa.neg"),
        ("MPQA",),
        "opinions in the news: for or against",
        "Wiebe, Wilson & Cardie, Annotating Expressions of Opinions, 2005",
        "10,603 phrases",
        _NESTED,
    ),
    LabelledSet(
        "subj",
        _two_files(subjective="subj.subjective", objective="subj.objective"),
        ("SUBJ",),
        "subjective or objective",
        "Pang & Lee, A Sentimental Education, 2004",
        "10,000 sentences",
        _NESTED,
    ),
    LabelledSet(
        "sst2",
        _read_sst2,
        ("SST/binary", "SST", "SST2"),
        "film reviews with their phrases: for or against",
        "Socher et al., Recursive Deep Models, 2013",
        "67,349 + 872 + 1,821 texts",
        _FIXED,
    ),
    LabelledSet(
        "sst5",
        _read_sst5,
        ("SST/fine", "SST", "SST5"),
        "film reviews: five grades",
        "Socher et al., Recursive Deep Models, 2013",
        "8,544 + 1,101 + 2,210 sentences",
        _FIXED,
    ),
    LabelledSet(
        "trec",
        _read_trec,
        ("TREC",),
        "what a question asks for: six classes",
        "Li & Roth, Learning Question Classifiers, 2002",
        "5,452 + 500 questions",
        _CHOSEN,
    ),
    LabelledSet(
        "mrpc",
        _read_mrpc,
        ("MRPC",),
        "whether two sentences say the same",
        "Dolan, Quirk & Brockett, Unsupervised Construction of Large Paraphrase Corpora, 2004",
        "4,076 + 1,725 pairs",
        _CHOSEN,
    ),
    LabelledSet(
        "sick-e",
        _read_sick,
        ("SICK", "SICK-E"),
        "whether one sentence follows from another, contradicts it, or neither",
        "Marelli et al., A SICK Cure, 2014",
        "4,500 + 500 + 4,927 pairs",
        _FIXED,
    ),
    LabelledSet(
        "scicite",
        _read_scicite,
        ("SCICITE", "scicite"),
        "why a paper is cited: background, method or result",
        "Cohan et al., Structural Scaffolds for Citation Intent Classification, 2019",
        "7,320 + 916 + 1,861 sentences",
        _FIXED,
    ),
)
LABELLED_SETS = {known.name: known for known in _SETS}
