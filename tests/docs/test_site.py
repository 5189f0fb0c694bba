"""Test the check of the built site that `make docs` runs, and the list of pages of the site."""

import importlib.util

import pytest
import yaml

from docs_pages import DOCS


@pytest.fixture(scope="module")
def check_site():
    spec = importlib.util.spec_from_file_location("check_site", DOCS / "check_site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_a_page_loads_from_another_host_is_named(check_site, tmp_path):
    loads = (
        '<script src="https://unpkg.com/shim"></script><img src="a.png"><link rel="icon" href="//cdn.example/i.png">'
    )
    links = '<a href="https://semver.org">versions</a><link rel="canonical" href="https://example.org/">'
    (tmp_path / "page.html").write_text(loads + links)
    (tmp_path / "plain.html").write_text(links)
    (tmp_path / "fonts.css").write_text("@font-face { src: url(https://fonts.example/a.woff2) } a { src: url(b.png) }")
    assert check_site.foreign_addresses(tmp_path) == {
        "page.html": ["https://unpkg.com/shim", "//cdn.example/i.png"],
        "fonts.css": ["https://fonts.example/a.woff2"],
    }


def test_the_navigation_has_every_page():
    def pages(nav):
        for entry in nav:
            (value,) = entry.values()
            yield from pages(value) if isinstance(value, list) else [value]

    settings = yaml.safe_load((DOCS.parent / "mkdocs.yml").read_text(encoding="utf-8"))
    written = {page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")}
    listed = list(pages(settings["nav"]))
    assert len(listed) == len(set(listed))
    assert {page for page in listed if not page.startswith("reference/")} == {
        page for page in written if not page.startswith("reference/")
    }
