"""Probe tasks: the known sets of labelled texts, or any of the user's, that frozen vectors are probed with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from goldrank.data.labelled_sets import read_labelled_set
from goldrank.data.labelled_texts import LabelledTexts, read_labelled
from goldrank.data.sources import DATA_VARIABLE, DatasetDescription, find_local
from goldrank.errors import InputError
from goldrank.io.files import PathLike
from goldrank.tasks.measurement import MeasuredTask
from goldrank.tasks.probe_measuring import compare, measure

_USES = ("transform", "fit_on", "seed")
_NESTED = "Nested 5-fold cross-validation."
_CHOSEN = "Five folds of the training part choose the penalty."
_FIXED = "The development part chooses the penalty."


@dataclass(frozen=True)
class _Set:
    """One of the sets that sentence vectors are usually probed with."""

    name: str
    folders: tuple[str, ...]
    """What its folder may be called."""
    summary: str
    source: str
    counts: str
    notes: str = ""

    def read(self, split: str | None) -> LabelledTexts:
        """From the folder under $GOLDRANK_DATA."""
        names = [f"{before}{folder}" for before in ("", "sent_classification/") for folder in self.folders]
        if (found := find_local(*names)) is None:
            raise InputError(
                f"the data of probe-{self.name} is not here",
                remedy=f"write probe-{self.name}:PATH, or set {DATA_VARIABLE} to the folder that holds {names[0]}/",
            )
        return self.read_at(found, split)

    def read_at(self, path: Path, split: str | None) -> LabelledTexts:
        """From a folder of the user's."""
        _only_all(split)
        return read_labelled_set(self.name, path)

    def task(self) -> MeasuredTask:
        """The probe with this set."""
        about = DatasetDescription(self.source, "none stated", self.counts, notes=self.notes, data="by path")
        return _task(f"probe-{self.name}", self.read, self.read_at, self.summary, about)


def _task(
    name: str,
    read: Callable[[str | None], LabelledTexts],
    read_at: Callable[[Path, str | None], LabelledTexts] | None,
    summary: str,
    about: DatasetDescription | None = None,
) -> MeasuredTask:
    return MeasuredTask(name, "probe", read, measure, compare, read_at, summary, about=about, uses=_USES)


def _only_all(split: str | None) -> None:
    if split not in (None, "test"):
        raise InputError(f"there is no split {split!r} to evaluate", remedy="a probe is tested on test, or by folds")


_SETS = (
    _Set("mr", ("MR",), "film reviews: for or against", "Pang & Lee, Seeing Stars, 2005", "10,662 sentences", _NESTED),
    _Set(
        "cr",
        ("CR",),
        "product reviews: for or against",
        "Hu & Liu, Mining and Summarizing Customer Reviews, 2004",
        "3,771 sentences",
        _NESTED,
    ),
    _Set(
        "mpqa",
        ("MPQA",),
        "opinions in the news: for or against",
        "Wiebe, Wilson & Cardie, Annotating Expressions of Opinions, 2005",
        "10,603 phrases",
        _NESTED,
    ),
    _Set(
        "subj",
        ("SUBJ",),
        "subjective or objective",
        "Pang & Lee, A Sentimental Education, 2004",
        "10,000 sentences",
        _NESTED,
    ),
    _Set(
        "sst2",
        ("SST/binary", "SST", "SST2"),
        "film reviews with their phrases: for or against",
        "Socher et al., Recursive Deep Models, 2013",
        "67,349 + 872 + 1,821 texts",
        _FIXED,
    ),
    _Set(
        "sst5",
        ("SST/fine", "SST", "SST5"),
        "film reviews: five grades",
        "Socher et al., Recursive Deep Models, 2013",
        "8,544 + 1,101 + 2,210 sentences",
        _FIXED,
    ),
    _Set(
        "trec",
        ("TREC",),
        "what a question asks for: six classes",
        "Li & Roth, Learning Question Classifiers, 2002",
        "5,452 + 500 questions",
        _CHOSEN,
    ),
    _Set(
        "mrpc",
        ("MRPC",),
        "whether two sentences say the same",
        "Dolan, Quirk & Brockett, Unsupervised Construction of Large Paraphrase Corpora, 2004",
        "4,076 + 1,725 pairs",
        _CHOSEN,
    ),
    _Set(
        "sick-e",
        ("SICK", "SICK-E"),
        "whether one sentence follows from another, contradicts it, or neither",
        "Marelli et al., A SICK Cure, 2014",
        "4,500 + 500 + 4,927 pairs",
        _FIXED,
    ),
    _Set(
        "scicite",
        ("SCICITE", "scicite"),
        "why a paper is cited: background, method or result",
        "Cohan et al., Structural Scaffolds for Citation Intent Classification, 2019",
        "7,320 + 916 + 1,861 sentences",
        _FIXED,
    ),
)

PROBE_TASKS: tuple[MeasuredTask, ...] = tuple(known.task() for known in _SETS)


def probe_of(path: PathLike) -> MeasuredTask:
    """The probe that a labelled file, or a folder with one file per split, makes."""
    place = Path(path).expanduser()
    if not place.exists():
        raise InputError("there is no such file or folder", where=str(path), remedy="check the path")

    def read(split: str | None) -> LabelledTexts:
        _only_all(split)
        return read_labelled(place)

    name = place.resolve().name.partition(".")[0]
    return _task(f"probe:{name}", read, None, "labelled texts")
