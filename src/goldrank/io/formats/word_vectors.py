"""Read word-vector files: GloVe and word2vec text, word2vec binary, fastText .vec and Parquet, compressed or not.

The first reading writes matrix and words to the cache folder; later ones map them into memory.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from statistics import mode
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from goldrank.errors import InputError, shorten
from goldrank.io.arrays import load_array
from goldrank.io.compression import compression_of, open_archive
from goldrank.io.files import cache_folder, nearest_path
from goldrank.io.fingerprints import file_digest, file_state
from goldrank.io.formats.parquet import load_pyarrow, parquet_faults
from goldrank.io.formats.word_vocabulary import MappedVocabulary, write_vocabulary
from goldrank.io.private_files import make_private_folder

Rule = Literal["plain", "evalrank"]
Matrix = NDArray[np.float32]
_FORMAT = "2"
_BLOCK = 1 << 22
_EVALRANK_TOKENS = 25
_FASTTEXT_MAGIC = b"\xba\x16\x4f\x2f"
_WORD_COLUMNS = ("word", "token", "key", "term", "index", "text")


@dataclass(frozen=True, eq=False)
class WordVectors:
    """Words with one row each, and the number of lines that were left out."""

    matrix: Matrix
    row: Mapping[str, int]
    """The row of each word, in the order of the file, which is usually that of frequency."""
    duplicates: int = 0
    """The number of lines with a repeated word; the first line of a word counts."""
    skipped: int = 0
    """The number of lines that are too short to be a vector by the rule ``evalrank``, and of headers."""

    @property
    def words(self) -> list[str]:
        """The words in the order of their rows."""
        return list(self.row)

    @property
    def dim(self) -> int:
        """Dimensions of a vector."""
        return int(self.matrix.shape[1])


def read_word_vectors(
    path: str | os.PathLike[str], *, rule: Rule = "plain", encoding: str = "utf-8", cache: bool = True
) -> WordVectors:
    """Read a word-vector file of any supported format, or map the cached result of an earlier call.

    Args:
        path: the file; Parquet needs a column of words and one of vectors, or a lone .npy file beside it.
        rule: ``evalrank`` reads as that benchmark does: split at one space, lines under 25 tokens skipped, words
            lower-cased. Either way the first occurrence of a word counts.
        encoding: of the words.
        cache: keep the result under `cache_folder` for the next time.
    """
    file = Path(path).expanduser()
    if not file.is_file():
        raise InputError("there is no such file of word vectors", where=str(file), remedy=nearest_path(file))
    state = file_state(file)
    folder = cache_folder() / "words" / _key(file, rule, encoding)
    if cache and (vectors := _mapped(folder)) is not None:
        return vectors
    vectors = _first_wins(*_read(file, rule, encoding))
    # If the file changed while it was read, the result belongs to neither content.
    if cache and file_state(file) == state:
        _keep(vectors, folder)
    return vectors


def word_vector_files(file: Path) -> list[Path]:
    """Return the files of the vectors: the file itself, and the only .npy file beside a Parquet file."""
    with file.open("rb") as stream:
        packed = stream.read(4) == b"PAR1"
    beside = sorted(file.parent.glob("*.npy")) if packed else []
    return [file, *(beside if len(beside) == 1 else [])]


def _key(file: Path, rule: str, encoding: str) -> str:
    """Return a cache key of the content of the files and how they are read, not of their paths or times."""
    parts = (_FORMAT, [file_digest(part) for part in word_vector_files(file)], rule, encoding)
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]


def _mapped(folder: Path) -> WordVectors | None:
    try:
        counts = json.loads((folder / "counts.json").read_bytes())
        matrix, words = load_array(folder / "matrix.npy"), MappedVocabulary(folder)
        if matrix.dtype != np.float32 or matrix.ndim != 2 or len(matrix) != len(words):
            return None
        return WordVectors(matrix, words, int(counts["duplicates"]), int(counts["skipped"]))
    except (OSError, ValueError, LookupError, TypeError, RecursionError, InputError):
        return None


def _keep(vectors: WordVectors, folder: Path) -> None:
    """Write a new folder and rename it, so that it is never incomplete; errors of the cache are ignored."""
    temporary = folder.with_name(f".{folder.name}.{os.urandom(6).hex()}")
    try:
        make_private_folder(temporary)
        np.save(temporary / "matrix.npy", vectors.matrix)
        write_vocabulary(temporary, vectors.words)
        counts = {"duplicates": vectors.duplicates, "skipped": vectors.skipped}
        (temporary / "counts.json").write_text(json.dumps(counts), encoding="utf-8")
        shutil.rmtree(folder, ignore_errors=True)  # exists only if it could not be read
        temporary.rename(folder)
    except OSError:
        shutil.rmtree(temporary, ignore_errors=True)


def _first_wins(words: list[str], matrix: Matrix, skipped: int) -> WordVectors:
    first: dict[str, int] = {}
    for at, word in enumerate(words):
        first.setdefault(word, at)
    if len(first) == len(words):
        return WordVectors(matrix, first, 0, skipped)
    first_rows = list(first.values())
    rows = {word: row for row, word in enumerate(first)}
    return WordVectors(matrix[first_rows], rows, len(words) - len(first), skipped)


def _read(file: Path, rule: Rule, encoding: str) -> tuple[list[str], Matrix, int]:
    try:
        with _opened(file) as stream:
            head = stream.read(4)
        if head == b"PAR1":
            return (*_read_parquet(file), 0)
        if head == _FASTTEXT_MAGIC:
            raise InputError("this is a fastText model in binary form", where=str(file), remedy="give its .vec file")
        with _opened(file) as stream:
            return _read_stream(stream, file, rule, encoding)
    except (EOFError, OSError) as error:
        raise InputError(f"the file cannot be read ({error})", where=str(file), remedy="copy it again") from None


def _opened(file: Path) -> BinaryIO:
    with file.open("rb") as stream:
        compression = compression_of(stream.read(16))
    return file.open("rb") if compression is None else open_archive(file, compression)


def _read_stream(stream: BinaryIO, file: Path, rule: Rule, encoding: str) -> tuple[list[str], Matrix, int]:
    lines = stream.readlines(_BLOCK)
    if lines:
        lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
    if not any(line.strip() for line in lines):
        raise InputError("the file is empty", where=str(file), remedy="check that it was written completely")
    header = _header(lines[0]) if rule == "plain" else None
    if header is not None and _is_binary(lines[1:], header[1]):
        with _opened(file) as again:
            again.readline()
            return (*_read_binary(again, *header, file, encoding), 0)
    reader = _TextReader(file, rule, encoding, header[1] if header else None)
    start = 1 if header else 0
    reader.take(lines[start:], start + 1)
    number = len(lines) + 1
    while lines := stream.readlines(_BLOCK):
        reader.take(lines, number)
        number += len(lines)
    words, matrix, skipped = reader.result()
    if header is not None and header[0] != len(words):
        raise InputError(
            f"the first line promises {header[0]} words, the file has {len(words)}",
            where=str(file),
            remedy="copy or write the file again; it is not complete",
        )
    return words, matrix, skipped


def _header(line: bytes) -> tuple[int, int] | None:
    tokens = line.split()
    if len(tokens) == 2 and all(token.isdigit() for token in tokens) and int(tokens[1]) > 0:
        return int(tokens[0]), int(tokens[1])
    return None


def _is_binary(lines: list[bytes], dim: int) -> bool:
    """Return True if the line after the header is not a text line with *dim* numbers."""
    if not lines:
        return False
    numbers = lines[0].rstrip().rsplit(b" ", dim)[1:]
    try:
        return len(numbers) != dim or not np.isfinite([float(number) for number in numbers]).all()
    except ValueError:
        # A malformed number is still text: only binary data has control characters.
        return any(byte < 9 or 14 <= byte < 32 for byte in lines[0])


def _read_binary(stream: BinaryIO, count: int, dim: int, file: Path, encoding: str) -> tuple[list[str], Matrix]:
    words: list[str] = []
    size = 4 * dim
    try:
        matrix = np.empty((count, dim), np.float32)
    except (MemoryError, ValueError):
        raise _cut_short(file, count, 0) from None
    data, at = b"", 0
    for row in range(count):
        end = data.find(b" ", at)
        if end < 0 or end + 1 + size > len(data):
            data, at = data[at:] + stream.read(max(_BLOCK, size)), 0
            end = data.find(b" ")
            if end < 0 or end + 1 + size > len(data):
                raise _cut_short(file, count, row)
        words.append(_decoded(data[at:end].lstrip(b"\n"), encoding, f"{file}: word {row + 1}"))
        matrix[row] = np.frombuffer(data, "<f4", dim, end + 1)
        at = end + 1 + size
    if not np.isfinite(matrix).all():
        row = int(np.flatnonzero(~np.isfinite(matrix).all(axis=1))[0])
        raise InputError(f"the vector of {shorten(words[row])} is not finite", where=f"{file}: word {row + 1}")
    return words, matrix


def _cut_short(file: Path, count: int, row: int) -> InputError:
    return InputError(
        f"the file ends in word {row + 1} of the {count} that its first line promises",
        where=str(file),
        remedy="copy it again; it is not complete",
    )


class _TextReader:
    """Parse a text file block by block; a block of well-formed lines is parsed at once."""

    def __init__(self, file: Path, rule: Rule, encoding: str, dim: int | None) -> None:
        self._file, self._rule, self._encoding, self._dim = file, rule, encoding, dim
        self._words: list[str] = []
        self._blocks: list[Matrix] = []
        self._skipped = 0

    def take(self, lines: list[bytes], first: int) -> None:
        """Parse some lines, the first of which has the number *first*."""
        rows = [(first + at, stripped) for at, line in enumerate(lines) if (stripped := line.rstrip(b" \t\r\n"))]
        if self._rule == "evalrank":
            long = [row for row in rows if row[1].count(b" ") + 1 >= _EVALRANK_TOKENS]
            self._skipped += len(rows) - len(long)
            rows = long
        if not rows:
            return
        if self._dim is None:
            # The most common length, because the first word may contain a space.
            self._dim = mode(len(line.split()) - 1 for _, line in islice(rows, 1000)) or 1
        parts = [line.partition(b" ") for _, line in rows]
        block = self._whole([rest for _, _, rest in parts])
        if block is None:
            pairs = [self._line(number, line) for number, line in rows]
            block = np.array([numbers for _, numbers in pairs], np.float32)
            keys = [word for word, _ in pairs]
        else:
            keys = [word for word, _, _ in parts]
        if not np.isfinite(block).all():
            at = int(np.flatnonzero(~np.isfinite(block).all(axis=1))[0])
            raise InputError(
                f"the vector of {shorten(keys[at])} is not finite",
                where=f"{self._file}:{rows[at][0]}",
                remedy="drop it",
            )
        self._blocks.append(block)
        self._words += self._named(keys, [number for number, _ in rows])

    def result(self) -> tuple[list[str], Matrix, int]:
        """Return the vectors of all blocks."""
        if not self._blocks:
            raise InputError(
                f"no line holds a word vector ({self._skipped} were too short)",
                where=str(self._file),
                remedy="check the file; the rule evalrank needs 24 dimensions or more",
            )
        return self._words, np.concatenate(self._blocks), self._skipped

    def _whole(self, rests: list[bytes]) -> Matrix | None:
        assert self._dim is not None
        between = self._dim - 1
        if any(rest.count(b" ") != between for rest in rests):
            return None
        try:
            numbers = _parsed(rests)
        except ValueError:
            return None
        return numbers.reshape(-1, self._dim) if len(numbers) == len(rests) * self._dim else None

    def _line(self, number: int, line: bytes) -> tuple[bytes, list[float]]:
        assert self._dim is not None
        where = f"{self._file}:{number}"
        # Split from the right, because a word may contain spaces; split at tabs and runs of blanks only if that fails.
        pieces = line.rsplit(b" ", self._dim)
        if len(pieces) <= self._dim or b"" in pieces[1:] or b"\t" in line:
            pieces = line.rsplit(None, self._dim)
        if len(pieces) <= self._dim:
            raise InputError(
                f"{shorten(line.decode('utf-8', 'replace'), 30)} has {len(pieces) - 1} numbers where other lines have "
                f"{self._dim}",
                where=where,
                remedy="repair or drop the line",
            )
        try:
            numbers = [float(piece) for piece in pieces[1:]]
        except ValueError as error:
            raise InputError(
                f"the vector of {shorten(pieces[0].decode('utf-8', 'replace'))} holds something that is not a number "
                f"({str(error).rpartition(': ')[2]})",
                where=where,
                remedy="repair or drop the line",
            ) from None
        return pieces[0], numbers

    def _named(self, keys: list[bytes], numbers: list[int]) -> list[str]:
        try:
            words = b"\n".join(keys).decode(self._encoding).split("\n")
        except UnicodeDecodeError:
            words = [
                _decoded(key, self._encoding, f"{self._file}:{number}")
                for key, number in zip(keys, numbers, strict=True)
            ]
        return [word.lower() for word in words] if self._rule == "evalrank" else words


def _parsed(rests: list[bytes]) -> Matrix:
    import warnings

    with warnings.catch_warnings():
        # Some versions of NumPy only warn about text that is not a number.
        warnings.simplefilter("error", DeprecationWarning)
        try:
            return np.fromstring(b" ".join(rests), np.float32, sep=" ")
        except DeprecationWarning as error:
            raise ValueError(str(error)) from None


def _decoded(word: bytes, encoding: str, where: str) -> str:
    try:
        return word.decode(encoding)
    except UnicodeDecodeError:
        raise InputError(
            f"the word {shorten(word)} is not valid {encoding}", where=where, remedy="try encoding=latin-1"
        ) from None


def _read_parquet(file: Path) -> tuple[list[str], Matrix]:
    pa, pq = load_pyarrow()
    with parquet_faults(str(file)):
        table = pq.read_table(file)
    types = dict(zip(table.column_names, table.schema.types, strict=True))
    texts = [n for n, t in types.items() if pa.types.is_string(t) or pa.types.is_large_string(t)]
    named = [n for n in texts if n.lower() in _WORD_COLUMNS] or texts
    if not named:
        raise InputError("no column holds words", where=str(file), remedy="call a column of strings 'word'")
    words = table.column(named[0]).to_pylist()
    if None in words:
        raise InputError("a word is missing", where=f"{file}: row {words.index(None) + 1}", remedy="drop the row")
    return words, _parquet_matrix(pa, table, types, file)


def _parquet_matrix(pa: Any, table: Any, types: dict[str, Any], file: Path) -> Matrix:
    lists = [
        n
        for n, t in types.items()
        if pa.types.is_list(t) or pa.types.is_large_list(t) or pa.types.is_fixed_size_list(t)
    ]
    numbers = [n for n, t in types.items() if pa.types.is_floating(t)]
    if lists:
        column = table.column(lists[0]).combine_chunks()
        lengths = {len(cell) if cell is not None else 0 for cell in column.to_numpy(zero_copy_only=False)}
        if len(lengths) != 1 or 0 in lengths:
            raise InputError(f"the vectors have different lengths ({sorted(lengths)[:5]})", where=str(file))
        matrix = column.flatten().to_numpy(zero_copy_only=False).reshape(len(column), -1)
    elif numbers:
        matrix = np.column_stack([table.column(n).to_numpy() for n in numbers])
    else:
        matrix = _matrix_beside(file)
        if len(matrix) != table.num_rows:
            raise InputError(f"{table.num_rows} words, but {len(matrix)} vectors beside them", where=str(file))
    if matrix.dtype.kind not in "iuf" or not np.isfinite(matrix).all():
        raise InputError("a vector holds something that is not a finite number", where=str(file), remedy="drop the row")
    return np.ascontiguousarray(matrix, np.float32)


def _matrix_beside(file: Path) -> NDArray[Any]:
    beside = sorted(file.parent.glob("*.npy"))
    if len(beside) == 1:
        with suppress(InputError):
            matrix = load_array(beside[0])
            if matrix.ndim == 2:
                return matrix
    raise InputError(
        "no column holds vectors",
        where=str(file),
        remedy="add a column of lists, or put the matrix beside it as one .npy",
    )
