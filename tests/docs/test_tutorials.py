"""Test the tutorials: their commands and code run in an empty folder and print the output shown."""

import sys

import pytest

from docs_pages import DOCS, assert_shown_lines_are_printed, blocks, run_pages

PAGES = sorted(page.relative_to(DOCS).as_posix() for page in (DOCS / "tutorials").glob("*.md"))
TUTORIALS = [page for page in PAGES if page != "tutorials/index.md"]


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_runs_in_an_empty_folder_and_prints_what_is_shown(tmp_path, page):
    """The commands run first, in one shell; then the code, as one program."""
    code = tmp_path / "tutorial.py"
    code.write_text("\n".join(blocks(page, "python")), encoding="utf-8")
    command = f"{sys.executable} {code}\n" if code.stat().st_size else ""
    assert_shown_lines_are_printed((page,), run_pages((page,), tmp_path, command))


def test_the_index_of_the_tutorials_links_each():
    index = (DOCS / "tutorials" / "index.md").read_text(encoding="utf-8")
    assert TUTORIALS
    assert all(f"({page.partition('/')[2]})" in index for page in TUTORIALS)
