"""An option means the same in every command: it sets the same attribute and takes the same kind of value."""

import argparse
import importlib
from collections import defaultdict
from itertools import combinations

import pytest

from goldrank.cli.main import COMMANDS

# Options whose values depend on the kind of the output.
DEPENDENT = {"--format"}


def actions_of(parser, command):
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, subparser in action.choices.items():
                yield from actions_of(subparser, f"{command} {name}")
        elif action.help != argparse.SUPPRESS:
            yield command, action


def uses():
    """Return every option with the commands that have it."""
    by_option = defaultdict(list)
    for command in COMMANDS:
        parser = importlib.import_module(f"goldrank.cli.{command}_command").build_parser()
        for name, action in actions_of(parser, command):
            for option in action.option_strings:
                by_option[option].append((name, action))
    return by_option


def kind_of(action):
    """Return the kind of value: flag, number, path, None for one of several names, or otherwise the metavar."""
    metavar = (action.metavar or "").split("|")[0].rstrip(",…")
    if action.nargs in (0, "?"):
        return "flag"
    if action.choices is not None:
        return None
    if action.type in (int, float) or metavar in ("N", "K"):
        return "number"
    return "path" if metavar in ("FILE", "FOLDER") else metavar


def agree(action, other):
    if action.dest.removesuffix("s") != other.dest.removesuffix("s"):
        return False
    kinds = {kind_of(action), kind_of(other)}
    if action.choices and other.choices:
        return not set(action.choices).isdisjoint(other.choices)
    return len(kinds) == 1 or (None in kinds and not kinds & {"flag", "number", "path"})


@pytest.mark.parametrize("option", sorted(uses().keys() - DEPENDENT))
def test_an_option_means_the_same_in_every_command(option):
    for (command, action), (other_command, other) in combinations(uses()[option], 2):
        assert agree(action, other), f"{option} differs between goldrank {command} and goldrank {other_command}"


def test_every_option_has_a_help_text():
    without = [f"{name} {option}" for option, used in uses().items() for name, action in used if not action.help]
    assert without == []


@pytest.mark.parametrize("short", ["-m", "-M", "-t", "-o", "-q", "-l"])
def test_a_short_option_has_one_long_form(short):
    assert len({tuple(action.option_strings) for _, action in uses()[short]}) == 1
