"""Every planted error of the trap suite is rejected, warned about or scored correctly; none silently changes scores."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks.traps import peers
from benchmarks.traps.all_traps import TRAPS
from benchmarks.traps.trap import ask_goldrank, classify

PAGE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "traps.md"
HEAVY = {"sentence-transformers", "mteb"}
# Tests run ranx uncompiled, which sorts ties in another order; the page on ranx is tested with compiled code.
ELSEWHERE = {("ranx", "all scores equal")}
CONTROLS = [trap for trap in TRAPS if "(the control)" in trap.error]


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_goldrank_refuses_warns_or_is_right(trap):
    answer = ask_goldrank(trap)
    assert classify(trap, answer) in trap.outcome.split("|"), (trap.says, answer)


def test_there_are_at_least_sixty_traps_with_different_names_and_errors():
    planted = [trap for trap in TRAPS if trap not in CONTROLS]
    assert len(planted) >= 60
    assert len({trap.name for trap in TRAPS}) == len({trap.error for trap in TRAPS}) == len(TRAPS)


@pytest.mark.parametrize("trap", CONTROLS, ids=lambda trap: trap.name)
def test_sound_data_gives_no_warning(trap):
    answer = ask_goldrank(trap)
    assert answer.code == 0
    assert "arning" not in answer.text


def _table():
    """The table of the docs page: the outcome of each tool by planted error."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().splitlines()
        if line[:2] == "| "
    ]
    heading, *body = rows
    return {row[0]: dict(zip(heading[1:], row[1:], strict=True)) for row in body if not row[0].startswith((":", "**"))}


def test_the_docs_page_shows_what_goldrank_does_about_every_trap():
    table = _table()
    assert list(table) == [trap.error for trap in TRAPS]
    for trap in TRAPS:
        assert table[trap.error]["goldrank"] in trap.outcome.split("|"), trap.name
    totals = re.search(r"\*\*SILENT\*\* \| (\d+)", PAGE.read_text())
    assert totals is not None
    assert totals[1] == "0"


def _check_peer(name):
    table = _table()
    wrong = [
        (trap.name, shown, outcome)
        for trap in TRAPS
        if (name, trap.name) not in ELSEWHERE
        and (outcome := peers.ask(name, trap)) != (shown := table[trap.error][name])
    ]
    assert not wrong
    assert {peers.ask(name, trap) for trap in CONTROLS} - {"–"} == {"right"}


@pytest.mark.slow
@pytest.mark.oracle
@pytest.mark.parametrize("name", [name for name in peers.PEERS if name not in HEAVY])
def test_the_docs_page_shows_what_the_peer_does(name):
    if name not in peers.installed():
        pytest.skip(f"{name} is not installed")
    _check_peer(name)


@pytest.mark.heavy
@pytest.mark.parametrize("name", sorted(HEAVY))
def test_the_docs_page_shows_what_the_heavy_peer_does(name):
    if name not in peers.installed():
        pytest.skip(f"{name} is not installed")
    _check_peer(name)


def test_readme_and_changelog_tell_the_number_of_planted_errors():
    count = len(TRAPS) - len(CONTROLS)
    for name in ("README.md", "CHANGELOG.md"):
        assert f"{count} planted errors" in (PAGE.parents[2] / name).read_text()
