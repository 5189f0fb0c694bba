"""Test the pages for users of other tools: their commands run unchanged and print the output shown."""

import importlib.util
import re
from pathlib import Path

import pytest

from docs_pages import DOCS, assert_shown_lines_are_printed, blocks, run_pages

COMING_FROM = [
    f"coming-from/{path.name}" for path in sorted((DOCS / "coming-from").glob("*.md")) if path.stem != "index"
]
# The packages each page imports besides goldrank. Some are installed by `make test-all` only, or compile for long.
PEERS = {"pytrec_eval", "ir_measures"}
HEAVY_PEERS = {"ranx", "beir", "mteb", "sentence_transformers", "torch", "FlagEmbedding"}


def _peers(page):
    return set(re.findall(r"^\s*(?:import|from) (\w+)", "\n".join(blocks(page, "sh")), re.MULTILINE)) & (
        PEERS | HEAVY_PEERS
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=[pytest.mark.heavy] if _peers(page) & HEAVY_PEERS else []) for page in COMING_FROM],
)
def test_the_commands_of_a_page_for_users_of_another_tool_print_what_is_shown(tmp_path, request, page):
    for peer in sorted(_peers(page)):
        if importlib.util.find_spec(peer) is None:
            pytest.skip(f"{peer} is not installed")
    # Uncompiled, ranx cannot save its objects, and sorts ties in another order than the page shows.
    environment = {"NUMBA_DISABLE_JIT": "0"}
    if "GOLDRANK_TEST_DATA" in "".join(blocks(page, "sh")):
        environment["GOLDRANK_TEST_DATA"] = str(request.getfixturevalue("shared_data"))
    assert_shown_lines_are_printed([page], run_pages([page], tmp_path, **environment))


def test_there_is_a_page_for_users_of_each_tool_and_the_navigation_has_them_all():
    assert {Path(page).stem for page in COMING_FROM} == {
        "wikipedia-similarities", "evalrank", "bge-flagembedding", "masked-persons",
        "trec_eval", "ranx", "ir_measures", "pytrec_eval", "beir", "mteb", "sentence-transformers",
    }  # fmt: skip
    section = (DOCS.parent / "mkdocs.yml").read_text().split("  - Coming from:\n")[1].split("\n  - ")[0]
    pages = [f"coming-from/{path.name}" for path in (DOCS / "coming-from").glob("*.md")]
    assert sorted(re.findall(r": (\S+\.md)$", section, re.MULTILINE)) == sorted(pages)
