"""Parse spec strings such as ``kind:argument(option=value, …)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from goldrank.errors import InputError, shorten, unknown_name
from goldrank.redaction import redact

_INSIDE = r"(?:'[^']*'|\"[^\"]*\"|[^()'\"])*"
_WRITTEN = rf"(?P<kind>[A-Za-z0-9_]+)(?::(?P<argument>.*?))?(?:\((?P<options>{_INSIDE})\))?"


@dataclass(frozen=True)
class Spec:
    """A parsed spec of a model: its kind, argument and options.

    >>> Spec.parse("st:BAAI/bge-base-en-v1.5(dim=256, query_prompt='query: ')")
    Spec(kind='st', argument='BAAI/bge-base-en-v1.5', options={'dim': '256', 'query_prompt': 'query: '})
    >>> str(Spec.parse("lsa:128"))
    'lsa:128'
    """

    kind: str
    argument: str = ""
    options: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str) -> Spec:
        """Parse a spec; values that contain commas or brackets, or begin or end with a space, must be quoted."""
        match = re.fullmatch(_WRITTEN, text.strip(), re.DOTALL)
        # With an unclosed quote, "(option=…)" would otherwise be read as part of a file name.
        if match is None or re.search(r"\([^()]*=.*\)$", match["argument"] or "", re.DOTALL):
            raise InputError(f"{shorten(text)} is not a valid model", remedy=_remedy(text.strip()))
        return cls(match["kind"].lower(), match["argument"] or "", parse_options(match["options"] or "", text))

    def updated(self, options: Mapping[str, object]) -> Spec:
        """Return the spec with *options* set, except those that are None."""
        texts = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in options.items() if v is not None}
        return Spec(self.kind, self.argument, {**self.options, **texts})

    def completed(self, defaults: Mapping[str, str], presets: Mapping[str, Mapping[str, str]]) -> Spec:
        """Return the spec with every option set, so that a changed default changes the identity of the model.

        Args:
            defaults: The default of each option of this kind.
            presets: Named sets of options; the options of ``preset=NAME`` override the defaults, and options that are
                given override both.

        >>> Spec.parse("tfidf(preset=sdr)").completed({"tokens": "words"}, {"sdr": {"tokens": "split"}}).options
        {'tokens': 'split'}
        """
        given = dict(self.options)
        name = given.pop("preset", None)
        if name is not None and name not in presets:
            raise unknown_name(f"preset of {self.kind}", name, presets, f"write preset={'|'.join(presets)}")
        return Spec(self.kind, self.argument, {**defaults, **(presets[name] if name else {}), **given})

    def __str__(self) -> str:
        options = ",".join(f"{name}={_quoted(value)}" for name, value in self.options.items())
        return self.kind + (f":{self.argument}" if self.argument else "") + (f"({options})" if options else "")


_KINDS_BY_SUFFIX = {
    **dict.fromkeys((".npz", ".npy"), "vectors"),
    **dict.fromkeys((".run", ".trec"), "run"),
    **dict.fromkeys((".vec", ".txt", ".bin", ".kv"), "words"),
}


def _remedy(text: str) -> str:
    """Say how a file, or the name of a model on the Hugging Face hub, is written as a spec.

    >>> _remedy("BAAI/bge-small")
    "did you mean 'st:BAAI/bge-small'? A model of sentence-transformers is written st:NAME (goldrank list models)"
    >>> _remedy("./dense.npz")
    "did you mean 'vectors:./dense.npz'? (goldrank list models)"
    """
    kind = _KINDS_BY_SUFFIX.get(Path(text).suffix.lower())
    if kind is not None:
        return f"did you mean '{kind}:{text}'? (goldrank list models)"
    if text.startswith("text-embedding-"):
        return f"did you mean {shorten(f'openai:{text}')}? (goldrank list models)"
    if re.fullmatch(r"(?:\.{1,2}/|/)?[\w.-]+(?:/[\w.-]+)*/?(?:\(.*\))?", text):
        return (
            f"did you mean {shorten(f'st:{text}')}? A model of sentence-transformers is written st:NAME "
            "(goldrank list models)"
        )
    return "write kind, kind:argument or kind:argument(option=value), quotes and brackets in quotes"


_OPTION = re.compile(r"(?P<name>\w+)\s*=\s*(?P<value>.*)", re.DOTALL)
_CLOSING = {"(": ")", "{": "}"}


def parse_options(inside: str, text: str, noun: str = "option") -> dict[str, str]:
    """Parse ``name=value, name='value'``, and return the unquoted values by name.

    Args:
        inside: The text between the brackets.
        text: The whole spec, for error messages.
        noun: The word for an option in error messages.

    >>> parse_options("dim=256, query_prompt='query: '", "st:x(…)")
    {'dim': '256', 'query_prompt': 'query: '}
    """
    options: dict[str, str] = {}
    for piece in filter(None, split_at_commas(inside, text)):
        match = _OPTION.fullmatch(piece)
        if match is None:
            raise InputError(f"{shorten(piece)} in {shorten(redact(text))} has no value", remedy=f"write {noun}=value")
        if match["name"] in options:
            raise InputError(
                f"the {noun} {match['name']} is set twice in {shorten(redact(text))}", remedy=f"set each {noun} once"
            )
        value = match["value"]
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
        options[match["name"]] = value[1:-1] if quoted else value
    return options


def split_options(text: str) -> tuple[str, str]:
    """Split ``NAME(option=value, …)`` into the name and the text between the brackets; "" if it ends without any.

    >>> split_options("faq.csv(query='Question (English)')"), split_options("IVF64(HNSW32),Flat")
    (('faq.csv', "query='Question (English)'"), ('IVF64(HNSW32),Flat', ''))
    """
    match = re.fullmatch(rf"(?P<name>.+?)\((?P<options>{_INSIDE})\)", text.strip(), re.DOTALL)
    return (text.strip(), "") if match is None else (match["name"], match["options"])


def split_at_commas(inside: str, text: str) -> list[str]:
    """Split text at the commas that are not within brackets, braces or quotes, and strip the parts.

    >>> split_at_commas("bm25(k1=0.9, b=0.4)*2, st:'a,b'", "…")
    ['bm25(k1=0.9, b=0.4)*2', "st:'a,b'"]
    """
    pieces, start, quote = [], 0, ""
    expected: list[str] = []
    for at, character in enumerate(inside):
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        elif character in _CLOSING:
            expected.append(_CLOSING[character])
        elif character in _CLOSING.values():
            if not expected or expected.pop() != character:
                expected = [character]
                break
        elif character == "," and not expected:
            pieces.append(inside[start:at].strip())
            start = at + 1
    if quote or expected:
        problem = f"a quote {quote} is not closed" if quote else "the brackets do not match"
        raise InputError(
            f"{problem} in {shorten(redact(text))}", remedy="close it, or put that part of the spec into quotes"
        )
    return [*pieces, inside[start:].strip()]


def _quoted(value: str) -> str:
    plain = re.fullmatch(r"[^,(){}'\"\s][^,(){}'\"]*", value) and value == value.strip()
    return value if plain else f"'{value}'" if "'" not in value else f'"{value}"'
