"""The string that names a model: ``kind``, ``kind:argument`` or ``kind:argument(option=value, …)``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from goldrank.errors import InputError, shorten, unknown_name

_INSIDE = r"(?:'[^']*'|\"[^\"]*\"|[^()'\"])*"
_WRITTEN = rf"(?P<kind>[A-Za-z0-9_]+)(?::(?P<argument>.*?))?(?:\((?P<options>{_INSIDE})\))?"


@dataclass(frozen=True)
class Spec:
    """A model as asked for: which kind, which one of it, and options.

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
        """Read a spec; values that hold commas, brackets or outer blanks are quoted."""
        match = re.fullmatch(_WRITTEN, text.strip(), re.DOTALL)
        # A quote left open would otherwise pass all of "(option=…)" off as part of a file's name.
        if match is None or re.search(r"\([^()]*=.*\)$", match["argument"] or "", re.DOTALL):
            raise InputError(
                f"{shorten(text)} does not read as a model",
                remedy="write kind, kind:argument or kind:argument(option=value), quotes and brackets in quotes",
            )
        return cls(match["kind"].lower(), match["argument"] or "", _parse_options(match["options"] or "", text))

    def updated(self, options: Mapping[str, object]) -> Spec:
        """The same model with more options; None leaves one as it is."""
        written = {n: str(v).lower() if isinstance(v, bool) else str(v) for n, v in options.items() if v is not None}
        return Spec(self.kind, self.argument, {**self.options, **written})

    def completed(self, defaults: Mapping[str, str], presets: Mapping[str, Mapping[str, str]]) -> Spec:
        """Return the same model with every option written out, so that a changed default changes the identity.

        Args:
            defaults: the value of each option of this kind that is not given.
            presets: named sets of options; ``preset=NAME`` puts one before the defaults, given options before both.

        >>> Spec.parse("tfidf(preset=sdr)").completed({"tokens": "words"}, {"sdr": {"tokens": "split"}}).options
        {'tokens': 'split'}
        """
        given = dict(self.options)
        name = given.pop("preset", None)
        if name is not None and name not in presets:
            raise unknown_name(f"preset of {self.kind}", name, presets, f"write preset={'|'.join(presets)}")
        return Spec(self.kind, self.argument, {**defaults, **(presets[name] if name else {}), **given})

    def __str__(self) -> str:
        written = ",".join(f"{name}={_quoted(value)}" for name, value in self.options.items())
        return self.kind + (f":{self.argument}" if self.argument else "") + (f"({written})" if written else "")


_OPTION = re.compile(r"\s*(?P<name>\w+)\s*=\s*(?P<value>'[^']*'|\"[^\"]*\"|[^,]*?)\s*(?:,|$)")


def _parse_options(inside: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    at = 0
    while at < len(inside):
        match = _OPTION.match(inside, at)
        if match is None or match.end() == at:
            raise InputError(
                f"{shorten(inside[at:].strip())} in {shorten(text)} does not set an option", remedy="write option=value"
            )
        value = match["value"]
        options[match["name"]] = value[1:-1] if value[:1] in ("'", '"') else value
        at = match.end()
    return options


def _quoted(value: str) -> str:
    plain = re.fullmatch(r"[^,()'\"\s][^,()'\"]*", value) and value == value.strip()
    return value if plain else f"'{value}'" if "'" not in value else f'"{value}"'
