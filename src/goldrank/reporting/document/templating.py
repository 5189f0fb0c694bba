"""Render HTML templates in which all text is escaped and text from data is isolated in its writing direction."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from goldrank.errors import MissingExtraError, counts

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

# Characters that HTML forbids: controls other than tab and line ends, and lone surrogates.
_UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")

_BREAK = re.compile(r"(?<=[:,(/])(?=\w)")


@lru_cache
def environment(package: str) -> Environment:
    """Return the jinja2 environment of the templates in the folder ``templates`` of a package.

    Raises:
        MissingExtraError: jinja2 is not installed.
    """
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise MissingExtraError("an HTML page", "jinja2", "report") from None

    templates = Environment(
        autoescape=True,
        finalize=_without_unfit,
        loader=PackageLoader(package),
        lstrip_blocks=True,
        trim_blocks=True,
        undefined=StrictUndefined,
    )
    templates.filters |= {"bdi": isolated, "name": breakable, "split_at": split_at}
    templates.globals |= {"counts": counts}
    templates.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    return templates


def _without_unfit(value: Any) -> Any:
    """Replace the characters that HTML forbids; markup has none of them."""
    return _UNFIT.sub("\ufffd", value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def isolated(text: str) -> Markup:
    """Return text from data as an element with a writing direction of its own.

    >>> isolated("<b>" + chr(7))
    Markup('<bdi dir="auto">&lt;b&gt;\ufffd</bdi>')
    """
    from markupsafe import Markup

    return Markup('<bdi dir="auto">{}</bdi>').format(_without_unfit(text))


def breakable(text: str) -> Markup:
    """Return a name of a run as `isolated` does, with places for line breaks: specs are long and have no spaces.

    >>> breakable("fuse:rrf(bm25,lsa)")
    Markup('<bdi dir="auto">fuse:<wbr>rrf(<wbr>bm25,<wbr>lsa)</bdi>')
    """
    from markupsafe import Markup

    return Markup('<bdi dir="auto">{}</bdi>').format(Markup("<wbr>").join(_BREAK.split(_without_unfit(text))))


def split_at(text: str, limit: int) -> tuple[str, str]:
    """Split a text that is longer than *limit* into its beginning and its rest, between words where it can be.

    >>> split_at("one two", 100), split_at("one two three", 8)
    (('one two', ''), ('one two', 'three'))
    """
    if len(text) <= limit:
        return text, ""
    space = text.rfind(" ", limit // 2, limit)
    at = limit if space < 0 else space
    return text[:at], text[at:].lstrip()
