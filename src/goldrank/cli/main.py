"""The command `goldrank`: finds the subcommand, and turns errors into one sentence and an exit code."""

from __future__ import annotations

import errno
import os
import sys
from importlib import import_module

from goldrank.cli import printing
from goldrank.cli.standard_streams import prepare_streams, write_failure
from goldrank.errors import GoldrankError, reason_of, shorten, unknown_name
from goldrank.native import truncation_guard

COMMANDS = {
    "run": "evaluate any models on any tasks, store the results, show who is better",
    "score": "score runs against gold: any metric, any convention, with intervals",
    "compare": "compare runs query by query: is the difference real?",
    "rbo": "how alike the rankings of two runs are, without gold",
    "explain": "what a metric means, its formula and variants, and which tool prints which",
    "list": "list tasks, models, metrics, profiles and everything else that has a name",
    "similarity": "how alike texts are, by every measure side by side",
    "encode": "texts in shards to vectors in shards, here or by a cluster",
    "index": "build, search and describe an index of texts",
    "sensitivity": "how far evaluators move, and whether models change order, by similarity and transform alone",
    "audit": "what an approximate index does to the metric",
    "plan": "what a job of any size would take: time, memory, network, storage",
    "masked": "can a model name the person behind the mask?",
    "report": "stored runs in one file that opens offline: the verdict, figures, and what lies behind",
    "plot": "figures from stored results, no model needed",
    "serve": "explore all stored runs in a browser",
    "meta": "which intrinsic evaluator predicts which downstream score",
    "runs": "list, show, export and delete stored runs",
    "data": "check or convert a collection of documents, queries and gold",
    "cache": "what encoded texts are kept, and removing them",
    "demo": "five built-in models on three built-in tasks, and a report",
}

_USAGE = """\
goldrank: where did the right answer land?

usage: goldrank COMMAND …        goldrank COMMAND --help        goldrank --version

commands:
{commands}

examples:
  goldrank run -m bm25 wordllama -t ./my-folder
  goldrank score qrels.txt bm25.run
  goldrank score qrels.txt *.run -M ndcg@10 -M mrr --format latex
  goldrank compare qrels.txt bm25.run dense.run -M ndcg@10
  goldrank explain ndcg@10
  goldrank similarity "red wine" "white wine"
  goldrank index build articles.jsonl -m wordllama -o articles.index
  goldrank index search articles.index "sparkling wine" -k 3
"""


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns the exit code (0 done, 1 failed, 2 bad input or usage)."""
    prepare_streams()
    if argv is None and truncation_guard is not None:
        truncation_guard.set_message(_TRUNCATED)
    arguments = sys.argv[1:] if argv is None else argv
    try:
        code = _run(arguments)
    except SystemExit:
        # The end of --help.
        if reason := write_failure():
            return _fail(reason)
        raise
    reason = write_failure()
    return code if reason is None else _fail(reason)


_TRUNCATED = (
    "goldrank: a file was truncated, or its disk failed, while it was read; run again when nobody writes to it\n"
)


# What a print raises, which knows no file name, at once or when the output is flushed.
_WRITING = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EPIPE, errno.EBADF)


def _fail(reason: str) -> int:
    # A reader that has gone, as in `goldrank … | head`, wants to hear nothing.
    if reason != os.strerror(errno.EPIPE).lower():
        printing.say(f"the output cannot be written ({reason}); nothing of it is complete")
    return 1


def _readable(sentence: str) -> str:
    """The sentence without the middle of what is far too long, as where a file name or an id is."""
    return sentence if len(sentence) <= 2000 else f"{sentence[:1400]} … {sentence[-500:]}"


def _run(arguments: list[str]) -> int:
    debug = "--debug" in arguments
    try:
        return _dispatch([argument for argument in arguments if argument != "--debug"])
    except GoldrankError as error:
        if debug:
            raise
        printing.say(_readable(str(error)))
        return error.exit_code
    except KeyboardInterrupt:
        printing.say("interrupted")
        return 130
    except MemoryError:
        if debug:
            raise
        printing.say("the memory of this machine is not enough; give less data or a larger machine")
        return 1
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno in _WRITING:
            return _fail(write_failure() or reason_of(error).lower())
        if debug:
            raise
        return _report(error)


def _report(error: Exception) -> int:
    """Say what nothing else has turned into a sentence, and return the exit code."""
    if isinstance(error, OSError) and error.errno == errno.ENAMETOOLONG:
        # Any name of a file may be too long, wherever it is looked for.
        printing.say(f"{shorten(error.filename)}: the name is too long for a file; check the path")
        return 2
    printing.say(f"internal error, {type(error).__name__}: {error}; run again with --debug and report it")
    return 1


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        lines = "\n".join(f"  {name:<11} {text}" for name, text in COMMANDS.items())
        printing.show(_USAGE.format(commands=lines), end="")
        return 0 if arguments else 2
    if arguments[0] in ("-V", "--version", "version"):
        printing.show(version())
        return 0
    name = arguments[0]
    if name not in COMMANDS:
        raise unknown_name("command", name, COMMANDS, "goldrank --help")
    if name in ("score", "compare", "rbo", "explain", "list"):
        # These multiply nothing large; the idle threads of a BLAS would cost more than their work.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    command = import_module(f"goldrank.cli.{name}_command")
    return int(command.run(command.parser().parse_args(arguments[1:])))


def version() -> str:
    """The version, and whether the compiled part is in use."""
    from goldrank import __version__, native

    return f"goldrank {__version__} ({'compiled' if native.COMPILED else 'numpy only, no compiled part'})"


if __name__ == "__main__":
    sys.exit(main())
