"""Read and write JSON (queries mapped to items, or a list of records) and JSON Lines (one record per line)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from json.scanner import make_scanner
from typing import NoReturn

from goldrank import native
from goldrank.errors import InputError, shorten
from goldrank.io.checks import id_strings, numeric_values, parse_ranks
from goldrank.io.column_names import QUERY, describe_found, describe_table, find_columns, normal, query_column
from goldrank.io.columns import (
    VALUE_WORD,
    Columns,
    TableKind,
    expand_subtopics,
    group,
    number_text,
    refuse_empty_queries,
    row_queries,
)
from goldrank.io.mappings import from_pairs, unfold
from goldrank.io.packed import PackedRun
from goldrank.io.positions import ambiguous_rows, columns_by_position, is_by_position

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[{}]|NaN|-?Infinity')
_COLON = re.compile(r"\s*:")
_MTEB_MODEL = "mteb_model_meta"
_MTEB_SCORES = re.compile(r'\s*\{[^{\[]{0,500}"mteb_version"[^{\[]{0,500}"scores"\s*:\s*\{')
# The fourth cell of a record that has none.
_ABSENT = object()
_QUERY_NAMES = frozenset(name for names in QUERY for name in names)


class _RefusedError(Exception):
    """The text is JSON for Python, but repeats a key or contains NaN or Infinity."""


def load(data: bytes, kind: TableKind, name: str, format: str) -> Columns:
    """Read JSON, or JSON Lines whose records have a query with one item and its value, or with its *results*."""
    if format == "json":
        return _load_json(data, kind, name)
    lines = data.decode().split("\n")
    records = ((n, decode(line, name, first_line=n)) for n, line in enumerate(lines, start=1) if line.strip())
    return _from_records(records, kind, name, lambda number: f"{name}:{number}")


def pack(data: bytes, name: str, format: str) -> PackedRun | None:
    """Read a run of the form ``{"q1": {"d3": 0.5}}``; return None for any other, which `load` has to read."""
    packed = native.pack_json(data) if format == "json" else None
    return None if packed is None else PackedRun.from_packed(packed, name)


def _load_json(data: bytes, kind: TableKind, name: str) -> Columns:
    """Read ``{"q1": {"d3": 2}}``, ``{"q1": ["d3", "d7"]}``, a list of records, or a list of lists by position.

    In gold, the items of a list have grade 1. In a run, a list is a ranking, best first, and its items get the scores
    n, n - 1, …, 1. The evaluation script of FlagEmbedding writes a run under the key ``search_results``.
    """
    text = data.decode()
    if _MTEB_SCORES.match(text):
        raise InputError(
            "this is mteb's result of a task, which holds its scores and no rankings",
            where=name,
            remedy="let mteb keep the rankings (mteb.evaluate(..., prediction_folder=FOLDER)) and give "
            "FOLDER/TASK_predictions.json",
        )
    content = decode(text, name, first_line=1)
    if isinstance(content, dict) and _MTEB_MODEL in content:
        content = _mteb_rankings(content, name)
    if kind == "run" and isinstance(content, dict) and isinstance(content.get("search_results"), dict):
        content = content["search_results"]
    if isinstance(content, list) and content and all(isinstance(entry, list) for entry in content):
        by_position = is_by_position(content)
        if by_position is None:
            raise ambiguous_rows(kind, name)
        if by_position:
            return columns_by_position(content, kind, name)
    if isinstance(content, dict) and _is_record(content):
        content = [content]
    if isinstance(content, list):
        records = enumerate(content, start=1)
        return _from_records(records, kind, name, lambda number: f"{name}: record {number}")
    if isinstance(content, dict):
        return from_pairs(content.items(), kind, name, integers=True)
    raise InputError(
        f"the file holds {shorten(content)}, not queries with their items",
        where=name,
        remedy=f'write {{"query": {{"item": {VALUE_WORD[kind]}}}}}',
    )


def _mteb_rankings(content: dict[str, object], name: str) -> object:
    """Return the rankings in a predictions file of mteb, which must have a single subset and split.

    The results of a query are in heap order in the file; they are sorted by score.
    """
    by_split = {
        f"{subset}/{split}": rankings
        for subset, splits in content.items()
        if subset != _MTEB_MODEL and isinstance(splits, dict)
        for split, rankings in splits.items()
    }
    if len(by_split) != 1:
        raise InputError(
            f"mteb's predictions are of {len(by_split)} splits ({', '.join(by_split) or 'none'}), not of one",
            where=name,
            remedy="write the split that is meant to a file of its own",
        )
    (rankings,) = by_split.values()
    if isinstance(rankings, dict) and all(isinstance(results, dict) for results in rankings.values()):
        with suppress(TypeError):  # scores that are not numbers, which the reader refuses with their place
            return {
                query: dict(sorted(results.items(), key=lambda entry: -entry[1])) for query, results in rankings.items()
            }
    return rankings


def _is_record(content: dict[str, object]) -> bool:
    return any(normal(key) in _QUERY_NAMES and isinstance(cell, (str, int)) for key, cell in content.items())


def decode(text: str, name: str, first_line: int) -> object:
    """Decode a JSON document; repeated keys, NaN and syntax errors are refused with their line."""
    try:
        return _decode(text)
    except _RefusedError:
        raise _refusal(text, name, first_line) from None
    except json.JSONDecodeError as error:
        raise InputError(
            f"this is not valid JSON ({error.msg[:1].lower()}{error.msg[1:]} at column {error.colno})",
            where=f"{name}:{error.lineno + first_line - 1}",
            remedy="repair the JSON there, or write the file again",
        ) from None
    except (RecursionError, ValueError) as error:
        deep = isinstance(error, RecursionError)
        raise InputError(
            "the JSON is nested too deeply" if deep else "the JSON holds a number of thousands of digits",
            where=f"{name}:{first_line}",
            remedy="write flat records with numbers of a usual size",
        ) from None


def _decode(text: str) -> object:
    # As `_DECODER.decode`, whose search for white space and place of errors takes as long as decoding a short line.
    try:
        content, end = _SCAN(text, 0)
    except StopIteration:
        return _DECODER.decode(text)
    return content if end == len(text) or not text[end:].strip(" \t\n\r") else _DECODER.decode(text)


def decode_text(text: str, name: str, first_line: int) -> object:
    """Decode a JSON document as `decode` does, and refuse strings that cannot be encoded as UTF-8."""
    content = decode(text, name, first_line)
    if "\\" in text:
        refuse_surrogates(content, text, f"{name}:{first_line}")
    return content


def refuse_surrogates(content: object, written: str, where: str) -> None:
    """Raise InputError if a string of *content* contains an unpaired surrogate, which only an escape can express."""
    if "\\u" not in written and "\\U" not in written:
        return
    waiting = [content]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            waiting += [*value, *value.values()]
        elif isinstance(value, (list, tuple)):
            waiting += value
        elif isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError as error:
                raise InputError(
                    f"the text {shorten(value[max(error.start - 20, 0) : error.start + 20])} holds half of a surrogate "
                    "pair, which is not a character",
                    where=where,
                    remedy="repair the text; it cannot be written as UTF-8",
                ) from None


def _unrepeated(pairs: list[tuple[str, object]]) -> dict[str, object]:
    content = dict(pairs)
    if len(content) != len(pairs):
        raise _RefusedError
    return content


def _refuse_constant(_: str) -> NoReturn:
    raise _RefusedError


# One decoder for all lines, because creating one takes as long as decoding a short line.
_DECODER = json.JSONDecoder(object_pairs_hook=_unrepeated, parse_constant=_refuse_constant)
_SCAN = make_scanner(_DECODER)  # type: ignore[arg-type]  # its stub names another class


def _refusal(text: str, name: str, first_line: int) -> InputError:
    # The parser does not report where it calls its hooks, so the text is parsed again to find the place.
    open_objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        text_of_token = token.group()
        if text_of_token == "{":
            open_objects.append(set())
        elif text_of_token == "}":
            open_objects.pop()
        elif text_of_token[0] != '"':
            what, remedy = f"{text_of_token} is not a finite number", "write finite decimal numbers"
            break
        elif _COLON.match(text, token.end()):
            key = json.loads(text_of_token)
            if key in open_objects[-1]:
                what = f"the key {shorten(key)} is listed twice in one object"
                remedy = "keep one entry per query and item"
                break
            open_objects[-1].add(key)
    line = text.count("\n", 0, token.start()) + first_line
    return InputError(what, where=f"{name}:{line}", remedy=remedy)


def _from_records(
    records: Iterable[tuple[int, object]], kind: TableKind, name: str, place_of: Callable[[int], str]
) -> Columns:
    listed: list[object] = []
    listed_at: list[int] = []
    row_query: list[int] = []
    items: list[object] = []
    values: list[object] = []
    fourth: list[object] = []
    keys_of: dict[tuple[str, ...], list[str]] = {}
    for number, record in records:
        if not isinstance(record, dict):
            raise InputError(
                f"{shorten(record)} is not a record",
                where=place_of(number),
                remedy=f'write {{"query": …, "item": …, "{VALUE_WORD[kind]}": …}}',
            )
        layout = tuple(record)
        if layout not in keys_of:
            keys_of[layout] = _record_keys(layout, kind, place_of(number))
        query_key, item_key, *more_keys = keys_of[layout]
        if more_keys:
            more_items, more_values = [record[item_key]], [record[more_keys[0]]]
        else:
            more_items, more_values = unfold(record[item_key], kind, where=place_of(number))
        items += more_items
        values += more_values
        fourth += [record[more_keys[1]] if len(more_keys) > 1 else _ABSENT] * len(more_items)
        row_query += [len(listed)] * len(more_items)
        listed.append(record[query_key])
        listed_at.append(number)

    def place(row: int) -> str:
        return place_of(listed_at[row_query[row]])

    queries = id_strings(listed, role="query", integers=True, place=lambda entry: place_of(listed_at[entry]))
    ids = id_strings(items, role="item", integers=True, place=place)
    numbers = numeric_values(values, value=VALUE_WORD[kind], place=place)
    absent = sum(cell is _ABSENT for cell in fourth)
    ranks = subtopics = None
    if kind == "gold" and absent < len(fourth):
        if absent:
            raise InputError(
                f"{absent} of {len(items)} records have no subtopic",
                where=name,
                remedy="give every record a subtopic, or none",
            )
        subtopics = id_strings(fourth, role="subtopic", integers=True, place=place)
    elif absent < len(fourth):
        ranks = parse_ranks(fourth)
    rows = [queries[entry] for entry in row_query]
    columns = group(
        rows, ids, numbers, kind, source=name, place=place, listed=queries, ranks=ranks, subtopics=subtopics
    )
    return replace(columns, reading=_describe(keys_of, kind, name))


def _describe(keys_of: dict[tuple[str, ...], list[str]], kind: TableKind, name: str) -> str:
    """Return how the fields were read: those of the first record, and the other fields of all records."""
    if not keys_of:
        return ""
    names = list(dict.fromkeys(key for layout in keys_of for key in layout))
    positions = [names.index(key) for key in next(iter(keys_of.values()))]
    if len(positions) == 2:
        return describe_table(name, names, {"query": positions[0], "results": positions[1]})
    return describe_found(name, names, kind, positions)


def _record_keys(layout: tuple[str, ...], kind: TableKind, where: str) -> list[str]:
    """Return the keys of a record in the order of `find_columns`; of one with *results*, those of query and results."""
    results = next((key for key in layout if normal(key) == "results"), None)
    if results is None:
        return [layout[position] for position in find_columns(layout, kind, where=where)]
    return [layout[query_column(layout, where=where)], results]


def dump(columns: Columns, kind: TableKind, format: str, tag: str = "") -> bytes:
    """Return the content of the file."""
    return _dump_json(columns, kind) if format == "json" else _dump_jsonl(columns, kind)


def _dump_json(columns: Columns, kind: TableKind) -> bytes:
    """Write ``{"q1": {"d3": 2}}``, one query per line; gold by subtopic is ``{"q1": {"d3": {"1": 2}}}``."""
    encoder = json.JSONEncoder(ensure_ascii=False)
    values = columns.values.tolist()

    def value_of(row: int) -> str:
        if columns.subtopics is None:
            return number_text(values[row], kind)
        grades = columns.subtopics[row].items()
        return "{" + ", ".join(f"{encoder.encode(name)}: {number_text(grade, kind)}" for name, grade in grades) + "}"

    lines = []
    for query, rows in columns.rows_by_query():
        numbers = range(rows.start, rows.stop)
        answer = ", ".join(f"{encoder.encode(columns.items[row])}: {value_of(row)}" for row in numbers)
        lines.append(f"  {encoder.encode(query)}: {{{answer}}}")
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _dump_jsonl(columns: Columns, kind: TableKind) -> bytes:
    """Write ``{"query": "q1", "item": "d3", "grade": 2}``, one row per line."""
    refuse_empty_queries(columns, "JSON Lines")
    encoder = json.JSONEncoder(ensure_ascii=False)
    encoded = {query: encoder.encode(query) for query in columns.queries}
    word = VALUE_WORD[kind]
    ends = [""] * len(columns.items)
    if columns.subtopics is not None:
        columns, subtopics = expand_subtopics(columns)
        ends = [f', "subtopic": {encoder.encode(subtopic)}' for subtopic in subtopics]
    return "".join(
        f'{{"query": {encoded[query]}, "item": {encoder.encode(item)}, "{word}": {number_text(value, kind)}{end}}}\n'
        for query, item, value, end in zip(
            row_queries(columns), columns.items, columns.values.tolist(), ends, strict=True
        )
    ).encode()
