"""Errors and warnings for users, which name the problem, the place and the remedy, and the parts of their messages."""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from goldrank.redaction import redact


class GoldrankError(Exception):
    """The base of all errors that goldrank raises for users; the command line prints it in one line and exits with 1.

    Secrets that `redact` recognises are removed from the message.
    """

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(redact(message))


class InputError(GoldrankError):
    """Bad input or usage: *what* is wrong, *where* it is and the *remedy*; the command line exits with 2.

    >>> str(InputError("the score 'abc' is not a number", where="bm25.run:7", remedy="write a decimal number"))
    "bm25.run:7: the score 'abc' is not a number; write a decimal number"
    """

    exit_code = 2

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what, self.where, self.remedy = redact(what), where and redact(where), remedy and redact(remedy)
        super().__init__((f"{where}: " if where else "") + what + (f"; {remedy}" if remedy else ""))


class UnknownNameError(InputError):
    """No metric, task, stored run or other object has the given name."""


class UnknownArgumentError(UnknownNameError, TypeError):
    """A function was called with a keyword argument that it does not have."""


class AmbiguousNameError(InputError):
    """Several names begin with the given prefix."""


class MissingExtraError(GoldrankError):
    """A feature needs a package that is not installed; the message says how to install it."""

    exit_code = 2

    def __init__(self, feature: str, package: str, extra: str) -> None:
        super().__init__(f"{feature} needs {package}, which is not installed; run: pip install 'goldrank[{extra}]'")


@dataclass(frozen=True)
class DataWarning:
    """A property of the data that makes a score misleading; shown before the scores, and in JSON output.

    >>> str(DataWarning("all-tied", "All scores are equal.", subject="bm25.run", remedy="Write scores that differ."))
    'bm25.run: All scores are equal. Write scores that differ.'
    """

    code: str
    """A stable identifier in kebab case, for programs."""
    message: str
    """One full sentence."""
    subject: str = ""
    """The run, file or collection concerned."""
    remedy: str = ""
    """What to do, as a full sentence."""

    def __str__(self) -> str:
        return (f"{self.subject}: " if self.subject else "") + self.message + (f" {self.remedy}" if self.remedy else "")

    def to_dict(self) -> dict[str, str]:
        """Return the fields for JSON."""
        return asdict(self)


def unknown_name(
    kind: str, name: str, known: Iterable[str], listing: str, *, where: str | None = None
) -> UnknownNameError:
    """Return the error for a name that does not exist, with the most similar names that do.

    >>> str(unknown_name("metric", "ndgc", ["ndcg", "map"], "goldrank list metrics"))
    "there is no metric 'ndgc'; did you mean 'ndcg'? (goldrank list metrics)"
    """
    near = similar_names(name, known)
    meant = f"did you mean {' or '.join(repr(n) for n in near)}?" if near else "see the list"
    return UnknownNameError(f"there is no {kind} {shorten(name)}", where=where, remedy=f"{meant} ({listing})")


def similar_names(name: str, known: Iterable[str]) -> list[str]:
    """Return the known names that are most similar to a misspelt one, at most three unless they are anagrams of it.

    >>> similar_names("ndgc", ["ndcg", "map"]), similar_names("mrr", ["ndcg", "map"])
    (['ndcg'], [])
    """
    import difflib

    names = list(known)
    # Letters in another order, as in ngcd, are the likeliest slip.
    near = [other for other in names if sorted(other) == sorted(name.lower())]
    return near or difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.6)


def shorten(text: object, limit: int = 60) -> str:
    """Return a repr that is short enough for an error message, whatever the input is, without secrets.

    >>> shorten("x" * 1000, limit=8), shorten([{"text": "x" * 1000}], limit=8)
    ("'xxxxxxxx…'", "[{'text': 'xxxxxxxx…'}]")
    """
    return _ShortRepr(limit).repr(text)


def counts(number: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun, in the singular or the plural.

    >>> counts(1, "column"), counts(5, "column"), counts(2, "query", "queries")
    ('1 column', '5 columns', '2 queries')
    """
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def list_first(names: Sequence[object], most: int, write: Callable[[object], str] = str) -> str:
    """Return the first names for a message, and how many more there are.

    >>> list_first(["bm25", "lsa"], 2), list_first(["bm25", "lsa", "tfidf", "st"], 2, repr)
    ('bm25, lsa', "'bm25', 'lsa' and 2 more")
    """
    return ", ".join(map(write, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def reason_of(error: BaseException, limit: int = 160) -> str:
    """Return the message of an exception as a part of a sentence: its first line without a full stop, or its type.

    >>> reason_of(ValueError("no header.\\nand more")), reason_of(KeyError())
    ('no header', 'KeyError')
    """
    message = getattr(error, "strerror", None) or str(error).strip()
    return message.partition("\n")[0][:limit].rstrip(".") or type(error).__name__


class _ShortRepr(reprlib.Repr):
    """Abbreviates strings, numbers and containers of any size and depth; shows small ones as `repr` does."""

    def __init__(self, limit: int) -> None:
        super().__init__()
        self.maxlevel = 4
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxdict = 12
        self._limit = self.maxother = limit

    def repr(self, x: object) -> str:
        shown = super().repr(x)
        most = 2 * self._limit + 8
        return shown if isinstance(x, (str, bytes)) or len(shown) <= most else shown[:most] + "…"

    def repr_str(self, x: str, level: int) -> str:
        # Redacted before it is cut, because `redact` does not recognise half of a URL.
        return self._cut(redact(x))

    def repr_bytes(self, x: bytes, level: int) -> str:
        return self._cut(x)

    def _cut(self, x: str | bytes) -> str:
        return repr(x) if len(x) <= self._limit else repr(x[: self._limit])[:-1] + "…" + repr(x[:1])[-1]

    def repr_int(self, x: int, level: int) -> str:
        # Python refuses to convert integers of more than some thousands of digits to text.
        digits = int(x.bit_length() * 0.30103) + 1
        return repr(x) if digits <= self._limit else f"a whole number of about {digits} digits"

    def repr_dict(self, x: dict[object, object], level: int) -> str:
        # Unlike `reprlib`, in the order of the dictionary.
        if level <= 0:
            return "{…}"
        pairs = [f"{self.repr1(key, level - 1)}: {self.repr1(x[key], level - 1)}" for key in islice(x, self.maxdict)]
        return "{" + ", ".join(pairs + ["…"] * (len(x) > self.maxdict)) + "}"
