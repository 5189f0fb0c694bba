"""The command `goldrank`: dispatch to the subcommands, and turn errors into a message and an exit code."""

from __future__ import annotations

import atexit
import errno
import gc
import os
import sys
from contextlib import suppress
from importlib import import_module
from typing import NoReturn

from goldrank import progress
from goldrank.cli import printing
from goldrank.cli.standard_streams import prepare_streams, write_failure
from goldrank.errors import GoldrankError, InputError, reason_of, shorten, unknown_name

COMMANDS = {
    "run": "evaluate models on tasks, store the results, show the leaderboard",
    "score": "score runs against gold, with any metric and convention",
    "compare": "compare runs by paired significance tests",
    "gate": "decide whether a run is worse than another: exit 0 no, 1 yes, 3 cannot tell",
    "baseline": "save the scores of a run, for goldrank gate",
    "diff": "show what differs between two runs or indexes, without gold",
    "explain": "explain a metric: formula, variants, and the tools that print it",
    "list": "list tasks, models, metrics, profiles and other names",
    "similarity": "compare texts by all similarity measures",
    "encode": "encode files of texts into shards of vectors",
    "index": "build, search and describe an index of texts",
    "sensitivity": "measure how scores depend on similarity and transform",
    "audit": "measure the effect of an approximate index on the metric",
    "judge": "make gold where there is none: pool the results of systems, and judge them",
    "plan": "estimate time, memory, network and storage of a job",
    "masked": "evaluate how well models name the person behind a mask",
    "report": "write a report of stored runs that opens offline",
    "plot": "draw figures from stored results",
    "serve": "explore all stored runs in a browser",
    "meta": "find which intrinsic evaluators predict downstream scores",
    "runs": "list, show, export and delete stored runs",
    "data": "check or convert a collection of documents, queries and gold",
    "cache": "list or remove cached vectors and other cache entries",
    "schema": "print the JSON Schema of what a command prints as JSON",
    "mcp": "serve commands to agents over the Model Context Protocol, read-only",
    "completion": "print the script that completes goldrank in bash, zsh or fish",
    "demo": "evaluate built-in models on built-in tasks, and write a report",
}

_USAGE = """\
goldrank: where did the right answer land?

usage: goldrank COMMAND …     goldrank help COMMAND     goldrank --version

commands:
{commands}

examples:
  goldrank run -m bm25 wordllama -t ./my-folder
  goldrank score qrels.txt bm25.run
  goldrank score qrels.txt *.run -M ndcg@10 -M mrr --format latex
  goldrank compare qrels.txt bm25.run dense.run -M ndcg@10
  goldrank gate qrels.txt main.run branch.run -M ndcg@10 --margin 0.01
  goldrank explain ndcg@10
  goldrank similarity "red wine" "white wine"
  goldrank index build articles.jsonl -m wordllama -o articles.index
  goldrank index search articles.index "sparkling wine" -k 3
"""


def main(argv: list[str] | None = None) -> int:
    """Run a command and return the exit code: 0 done, 1 failed, 2 bad input or usage, 70 internal error.

    A failure of `goldrank gate` is 70, too, because 1 is one of its answers.
    """
    prepare_streams()
    if argv is None:
        # A command creates many objects and few cycles: looking for these took a fifth of `goldrank run`.
        gc.set_threshold(200_000, 50, 50)
    arguments = sys.argv[1:] if argv is None else argv
    if argv is None:
        _limit_blas_threads(arguments)
        _explain_truncation(arguments)
    try:
        code = _run(arguments)
    except SystemExit:
        # argparse raises it after --help.
        if reason := write_failure():
            return _fail(reason, arguments)
        raise
    reason = write_failure()
    return code if reason is None else _fail(reason, arguments)


def _limit_blas_threads(arguments: list[str]) -> None:
    # These commands multiply no large matrices, and a thread of BLAS waits by spinning. numpy reads this only when it
    # is imported, so no module may import numpy before.
    if _command_name(arguments) in ("score", "compare", "gate", "baseline", "diff", "explain", "list"):
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")


def _explain_truncation(arguments: list[str]) -> None:
    """Let a process that ends because a mapped file was truncated say so."""
    from goldrank.native import truncation_guard

    # With a message the guard exits with 1, which is an answer of a gate; without one the process ends by its signal.
    if truncation_guard is not None and _failure(arguments) == 1:
        truncation_guard.set_message(_TRUNCATED)


INTERNAL_ERROR = 70
"""The exit code of an internal error: EX_SOFTWARE of sysexits.h."""


def _failure(arguments: list[str]) -> int:
    """Return the exit code of a failure that is not the user's."""
    return INTERNAL_ERROR if _command_name(arguments) == "gate" else 1


def _command_name(arguments: list[str]) -> str:
    return next((word for word in arguments if word not in _GENERAL), "")


def run_program() -> NoReturn:
    """Run the command of the command line and end the process, without finalizing the interpreter.

    A thread of Arrow may release a buffer of Python while the interpreter is finalized, which aborts a process that
    has done its work. Functions registered with `atexit` are called as usual.
    """
    try:
        code: object = main()
    except SystemExit as exit_request:
        code = exit_request.code
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        # `main` has reported what cannot be written.
        with suppress(OSError, ValueError):
            if stream is not None:
                stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


_TRUNCATED = (
    "goldrank: a file was truncated, or its disk failed, while it was read; run again when no process writes to it\n"
)


# Error codes of print and flush, whose errors have no file name.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF)


def _fail(reason: str, arguments: list[str]) -> int:
    # A closed pipe, as in `goldrank … | head`, is not an error for the user.
    if reason != os.strerror(errno.EPIPE).lower():
        printing.say(f"the output cannot be written ({reason}), and is incomplete; write to another place")
    return _failure(arguments)


def _shorten_message(message: str) -> str:
    """Return the message without its middle if a file name or an id makes it far too long."""
    return message if len(message) <= 2000 else f"{message[:1400]} … {message[-500:]}"


_GENERAL = ("--debug", "--quiet", "--verbose")
"""Options that stand before or after the command."""


def _run(arguments: list[str]) -> int:
    end = arguments.index("--") if "--" in arguments else len(arguments)
    general = {argument for argument in arguments[:end] if argument in _GENERAL}
    rest = [argument for at, argument in enumerate(arguments) if at >= end or argument not in _GENERAL]
    quiet, debug = "--quiet" in general, "--debug" in general
    with printing.verbosity(quiet=quiet, verbose="--verbose" in general), progress.shown(not quiet):
        return _run_reporting_errors(rest, general, debug=debug)


def _run_reporting_errors(arguments: list[str], general: set[str], *, debug: bool) -> int:
    try:
        if {"--quiet", "--verbose"} <= general:
            raise InputError("--quiet and --verbose contradict each other", remedy="leave one of the two out")
        return _dispatch(arguments)
    except GoldrankError as error:
        if debug:
            raise
        printing.say(_shorten_message(str(error)))
        return error.exit_code if error.exit_code != 1 else _failure(arguments)
    except KeyboardInterrupt:
        printing.say("interrupted")
        return 130
    except MemoryError:
        if debug:
            raise
        printing.say("this machine has too little memory; use less data or a larger machine")
        return _failure(arguments)
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in _WRITING:
            return _fail(write_failure() or reason_of(error).lower(), arguments)
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Print an unexpected error and return the exit code."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Any path of the user may be too long, wherever it is opened.
        printing.say(f"{shorten(error.filename)}: the file name is too long; check the path")
        return 2
    printing.say(f"internal error, {type(error).__name__}: {error}; run again with --debug and report it")
    return INTERNAL_ERROR


def _dispatch(arguments: list[str]) -> int:
    if arguments and arguments[0] == "help" and len(arguments) > 1:
        return _help(arguments[1:])
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        lines = "\n".join(f"  {name:<11} {text}" for name, text in COMMANDS.items())
        printing.show_prose(_USAGE.format(commands=lines), end="")
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version", "version"):
        printing.show(version())
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS, "goldrank --help")
    command = import_module(f"goldrank.cli.{name}_command")
    args = command.build_parser().parse_args(arguments[1:])
    if getattr(args, "format", None) != "json" or getattr(args, "action", None) == "export":
        # An export runs no code of others, and writes bytes to standard output.
        return int(command.run(args))
    with printing.results_to(sys.stdout):
        return int(command.run(args))


def _help(topic: list[str]) -> int:
    """Print the help of a command, or the explanation of a metric."""
    if topic[0] in COMMANDS:
        return _dispatch([*topic, "--help"])
    from goldrank.metrics import REGISTRY, Metric

    try:
        Metric.parse(topic[0])
    except GoldrankError:
        raise unknown_name("command", topic[0], [*COMMANDS, *REGISTRY], "goldrank help") from None
    return _dispatch(["explain", topic[0]])


def version() -> str:
    """Return the version, and whether compiled code is in use."""
    from goldrank import __version__, native

    return f"goldrank {__version__} ({'compiled' if native.COMPILED else 'numpy only, no compiled part'})"


if __name__ == "__main__":
    sys.exit(main())
