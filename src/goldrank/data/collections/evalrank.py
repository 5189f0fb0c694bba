"""Read EvalRank data: positive pairs of words or sentences, and a background among which each positive is ranked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from goldrank.data.collections.collection import Collection, Document, Documents
from goldrank.data.collections.splits import choose_split, files_in, stem_and_suffix
from goldrank.data.collections.streams import read_lines
from goldrank.errors import InputError, counts
from goldrank.io.column_names import describe_table, normal
from goldrank.io.files import PathLike
from goldrank.io.mappings import from_pairs

_SUFFIXES = (".txt", ".tsv")
_HEADERS = {
    ("query", "item"),
    ("query", "positive"),
    ("anchor", "positive"),
    ("sentence1", "sentence2"),
    ("text1", "text2"),
    ("word1", "word2"),
}


@dataclass(frozen=True)
class PositivePair:
    """A text, and a text with the same meaning."""

    text: str
    positive: str


def matches(path: Path) -> bool:
    """Return True if this is a folder with a file of pairs and at least one of background texts."""
    pairs, background = _files(path)
    return bool(pairs and background)


def read(path: PathLike, split: str | None = None) -> Collection:
    """Read positive pairs and the background from a folder.

    The pairs are in ``pos_pair….txt`` or ``pairs.tsv``, with two texts per line, separated by a tab. The background is
    in ``background….txt`` or in files of words, ``basic_vocab.txt`` before ``wiki_vocab.txt``, with one text per line.
    The corpus consists of the texts of the pairs, then those of the files, each once.
    """
    folder = Path(path)
    pair_files, background_files = _files(folder)
    if len(pair_files) != 1 or not background_files:
        files = f"{len(pair_files)} files of pairs and {len(background_files)} of background texts"
        raise InputError(
            f"the folder holds {files}",
            where=str(path),
            remedy="put one pairs.tsv (or pos_pair.txt) there and the background in background.txt",
        )
    choose_split(split, ("test",), str(path))
    remarks: list[str] = []
    pairs, header = _read_pairs(pair_files[0], remarks)
    background = [text for file in background_files for text in read_texts(file, remarks)]
    collection = collection_of(pairs, background, folder.resolve().name, str(path), remarks)
    source = str(pair_files[0]) + ("" if header else " (no header)")
    names = header or ["column 1", "column 2"]
    return replace(collection, readings=(describe_table(source, names, {"query": 0, "positive": 1}),))


def collection_of(
    pairs: Sequence[PositivePair], background: Iterable[str], name: str, source: str, remarks: list[str]
) -> Collection:
    """Return the collection in which the text of each pair is a query for its positive, ranked among all texts.

    The id of a text is the text itself if all texts are words, else a number. A text of several pairs is one query
    with several relevant items. Repeated pairs count once. A pair of a text with itself is ranked like any other.
    """
    texts = dict.fromkeys(text for pair in pairs for text in (pair.text, pair.positive))
    in_pairs = len(texts)
    given = dict.fromkeys(background)
    texts |= given
    is_words = not any(character.isspace() for text in texts for character in text)
    ids = {text: text if is_words else f"s{number}" for number, text in enumerate(texts, 1)}
    gold: dict[str, dict[str, int]] = {}
    for pair in pairs:
        gold.setdefault(ids[pair.text], {})[ids[pair.positive]] = 1
    row_of = {judged: at for at, judged in enumerate((query, item) for query, row in gold.items() for item in row)}
    listed = dict.fromkeys(row_of[ids[pair.text], ids[pair.positive]] for pair in pairs)
    if again := len(pairs) - len(row_of):
        remarks.append(f"{counts(again, 'pair')} given again left out")
    if themselves := sum(query in row for query, row in gold.items()):
        remarks.append(f"{counts(themselves, 'pair')} of a text with itself, which ranks first by cosine")
    if missing := sum(text not in given for text in list(texts)[:in_pairs]):
        remarks.append(f"{counts(missing, 'text')} of pairs not in the background, added to it")
    documents = Documents([Document.plain(text_id, text) for text, text_id in ids.items()], source)
    return Collection(
        name=name,
        items=documents,
        queries=documents,
        gold=from_pairs(gold.items(), "gold", source, integers=False),
        source=source,
        format="evalrank",
        remarks=remarks,
        gold_order=tuple(listed),
    )


def _files(folder: Path) -> tuple[list[Path], list[Path]]:
    """Return the files of pairs and of background texts, sorted by name, so that basic_vocab comes first."""
    parts = ((*stem_and_suffix(file), file) for file in files_in(folder))
    named = sorted((stem.lower(), file) for stem, suffix, file in parts if suffix in _SUFFIXES)
    pairs = [file for stem, file in named if stem == "pairs" or stem.startswith("pos_pair")]
    background = [file for stem, file in named if stem.startswith("background") or stem.endswith("_vocab")]
    return pairs, background


def _read_pairs(file: Path, remarks: list[str]) -> tuple[list[PositivePair], list[str]]:
    """Return the pairs and the header, which is empty if the file has none."""
    pairs: list[PositivePair] = []
    header: list[str] = []
    for number, line in enumerate(read_lines(file, remarks), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if number == 1 and tuple(map(normal, cells)) in _HEADERS:
            header = cells
            continue
        place = f"{file}:{number}"
        if len(cells) != 2:
            raise InputError(
                f"the line has {counts(len(cells), 'column')}, not two texts",
                where=place,
                remedy="write text, tab, positive; pairs with scores are read with from_pairs",
            )
        if not all(cells):
            raise InputError("a text of the pair is empty", where=place, remedy="give both texts, or drop the line")
        pairs.append(PositivePair(*cells))
    if not pairs:
        raise InputError("there are no pairs", where=str(file), remedy="check that the file was written completely")
    return pairs, header


def read_texts(file: Path, remarks: list[str]) -> list[str]:
    """Read a file with one text per line, without blank lines."""
    return [text for line in read_lines(file, remarks) if (text := line.strip())]
