"""`goldrank completion`: print the script that completes commands, options and names in a shell."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

from goldrank.cli import options, printing
from goldrank.errors import GoldrankError

SHELLS = ("bash", "zsh", "fish")
_EXAMPLES = """\
  goldrank completion bash
  goldrank completion zsh
  goldrank completion fish

Write the script where the shell looks for completions:
- bash: ~/.local/share/bash-completion/completions/goldrank
- zsh: _goldrank in a folder of $fpath
- fish: ~/.config/fish/completions/goldrank.fish
"""


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the command."""
    parser = options.new_parser("completion", "Print a script that completes goldrank in a shell.", _EXAMPLES)
    parser.add_argument("shell", choices=SHELLS, metavar="SHELL", help=", ".join(SHELLS))
    options.add_general(parser)
    return parser


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    try:
        import shtab
    except ImportError:
        raise GoldrankError("completion needs shtab, which is not installed; run: pip install shtab") from None
    printing.show(shtab.complete(_whole_parser(), args.shell, preamble=_functions(args.shell)))
    return 0


def _whole_parser() -> argparse.ArgumentParser:
    """Return one parser for all commands; the commands themselves are loaded one at a time."""
    from goldrank.cli.main import COMMANDS

    whole = argparse.ArgumentParser("goldrank")
    whole.add_argument("--version", action="version", help="print the version")
    commands = whole.add_subparsers(dest="command")
    for name, text in COMMANDS.items():
        commands.add_parser(name, help=text)
        parser = import_module(f"goldrank.cli.{name}_command").build_parser()
        commands._name_parser_map[name] = parser
        for action in _actions(parser):
            _complete(action)
    commands.add_parser("help", help="show the help of a command").add_argument("topic", choices=tuple(COMMANDS))
    return whole


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for inner in action.choices.values():
                yield from _actions(inner)
        else:
            yield action


# What an argument is, by its placeholder in the help.
_NAMES = {"MODEL": "models", "TASK": "tasks", "METRIC": "metrics", "PROFILE": "profiles", "SCORER": "scorers"}
_PATHS = ("FILE", "FOLDER", "PATH", "GOLD", "RUN", "DATA", "OUT", "TABLE", "STORE", "INDEX", "N|FILE", "FILE|FOLDER")


def _complete(action: argparse.Action) -> None:
    """Let shtab complete the values of an option or argument."""
    import shtab

    if action.choices is not None:
        return
    placeholder = str(action.metavar or "")
    if placeholder in _NAMES:
        function = f"_goldrank_{_NAMES[placeholder]}"
        action.complete = {"bash": function, "zsh": function, "fish": f"({function})"}  # type: ignore[attr-defined]
    elif placeholder in _PATHS:
        action.complete = shtab.FILE  # type: ignore[attr-defined]


def _names() -> dict[str, Iterable[str]]:
    from goldrank.encoders import KINDS
    from goldrank.encoders.pair_scorers import PAIR_KINDS
    from goldrank.metrics import PROFILES, REGISTRY
    from goldrank.tasks import TASKS

    usual = ("ndcg@10", "mrr@10", "recall@100", "precision@10", "hit_rate@10")
    # A kind that is useless without an argument is completed with its colon.
    models = [name if _stands_alone(kind) else f"{name}:" for name, kind in KINDS.items()]
    return {
        "models": [*models, "fuse:rrf"],
        "tasks": list(TASKS),
        "metrics": [*REGISTRY, *usual],
        "profiles": list(PROFILES),
        "scorers": list(PAIR_KINDS),
    }


def _stands_alone(kind: Any) -> bool:
    return ":" not in kind.example.partition("(")[0]


def _functions(shell: str) -> str:
    """Return the functions that list names; tasks and models may also be files."""
    functions = []
    for what, names in _names().items():
        words = " ".join(names)
        files = what in ("models", "tasks")
        if shell == "bash":
            also = '; compgen -f -- "$1"' if files else ""
            functions.append(f'_goldrank_{what}() {{ compgen -W {shlex.quote(words)} -- "$1"{also}; }}')
        elif shell == "zsh":
            escaped = words.replace(":", r"\:")
            also = " 'files:file:_files'" if files else ""
            functions.append(f"_goldrank_{what}() {{ _alternative '{what}:{what}:({escaped})'{also} }}")
        else:
            also = "; __fish_complete_path (commandline -ct)" if files else ""
            functions.append(f"function _goldrank_{what}; string split ' ' -- {shlex.quote(words)}{also}; end")
    return "\n".join(functions)
