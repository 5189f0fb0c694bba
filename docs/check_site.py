"""Check that the built site works from files alone: nothing is loaded from another host, and the search answers.

`python docs/check_site.py site` reads every page; where there is a browser, it also opens some from `file://`.
"""

from __future__ import annotations

import re
import sys
import time
from html.parser import HTMLParser
from pathlib import Path

# The browser is the one that the tests use.
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from web.browser import Browser, browser, missing

PAGES = ("index.html", "tutorials/index.html", "reference/commands.html", "reference/api.html", "guide/seeing.html")
# What a browser loads by itself, in contrast to a link.
_LOADED = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src", "video": "src"}
_RELATIONS_THAT_LOAD_NOTHING = {"canonical", "next", "prev", "alternate"}


class _Addresses(HTMLParser):
    """Collects the addresses of other hosts that a page loads."""

    def __init__(self) -> None:
        super().__init__()
        self.foreign: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        address = values.get(_LOADED.get(tag, "")) or ""
        if values.get("rel") not in _RELATIONS_THAT_LOAD_NOTHING and re.match(r"(https?:)?//", address):
            self.foreign.append(address)


def foreign_addresses(site: Path) -> dict[str, list[str]]:
    """Return the addresses of other hosts that each page or stylesheet loads."""
    ids = {}
    for page in site.rglob("*.html"):
        parser = _Addresses()
        parser.feed(page.read_text(encoding="utf-8"))
        ids[page.relative_to(site).as_posix()] = parser.foreign
    for sheet in site.rglob("*.css"):
        addresses = re.findall(r"url\([\"']?((?:https?:)?//[^)\"']+)", sheet.read_text(encoding="utf-8"))
        ids[sheet.relative_to(site).as_posix()] = addresses
    return {name: addresses for name, addresses in ids.items() if addresses}


def check_in_browser(site: Path) -> list[str]:
    """Open pages from `file://`, search, and return what went wrong."""
    problems = []
    with browser(site.as_uri() + "/", size=(1400, 900)) as page:
        for name in PAGES:
            page.driver.get(page.home + name)
            if hosts := page.hosts():
                problems.append(f"{name} asked {', '.join(sorted(hosts))}")
            problems += [f"{name}: {complaint}" for complaint in page.complaints()]
        page.driver.get(page.home + "index.html")
        if not _search(page, "ndcg"):
            problems.append("the search for ndcg has no result")
        if hosts := page.hosts():
            problems.append(f"the search asked {', '.join(sorted(hosts))}")
    return problems


def _search(page: Browser, words: str, patience: float = 60.0) -> bool:
    page.run("document.querySelector('[data-md-component=search-query]').focus()")
    field = page.one("[data-md-component=search-query]")
    field.send_keys(words)
    until = time.monotonic() + patience
    while time.monotonic() < until:
        if page.all(".md-search-result__item a"):
            return True
        time.sleep(0.2)
    return False


def main(site: Path) -> int:
    """Print the problems of the site and return the exit code."""
    problems = [f"{name} loads {', '.join(addresses)}" for name, addresses in foreign_addresses(site).items()]
    if why := missing():
        print(f"the site was not opened in a browser: {why}", file=sys.stderr)
    else:
        problems += check_in_browser(site)
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]).resolve(strict=True)))
