"""Test that text is wrapped at the width of the terminal, and that width and colours follow the environment."""

import io

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from goldrank import terminal


@given(st.text(st.sampled_from("ab cde-/日\u0301")), st.integers(2, 30), st.sampled_from(["", "  "]))
@example("a" * 11, 6, "  ")  # the lines that follow have less space than the first one
def test_no_wrapped_line_is_too_long_and_no_character_is_lost(text, width, hanging):
    lines = terminal.wrap(text, width, hanging=hanging)
    assert all(terminal.display_width(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(st.sampled_from("abc日\u0301"), max_size=60), st.integers(3, 30))
def test_a_shortened_name_fits(name, width):
    short = terminal.shorten_name(name, width)
    assert terminal.display_width(short) <= width
    assert short == name or "…" in short


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(
    ("columns", "width"),
    [("100", 100), ("5", terminal.NARROWEST), ("0", None), ("-3", None), ("wide", None), ("²", None)],
)
def test_the_variable_columns_counts_if_it_is_a_width(monkeypatch, columns, width):
    monkeypatch.setenv("COLUMNS", columns)
    assert terminal.output_width(io.StringIO()) == width


@pytest.mark.parametrize(
    ("variables", "on_terminal", "in_file"),
    [
        ({}, True, False),
        ({"NO_COLOR": "1"}, False, False),
        ({"NO_COLOR": ""}, True, False),
        ({"FORCE_COLOR": "1"}, True, True),
        ({"FORCE_COLOR": "0"}, True, False),
        ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, False, False),
        ({"TERM": "dumb"}, False, False),
    ],
)
def test_colours_follow_the_environment(monkeypatch, variables, on_terminal, in_file):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (terminal.has_colours(Terminal()), terminal.has_colours(io.StringIO())) == (on_terminal, in_file)
