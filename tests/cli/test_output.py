"""Commands report a full or closed standard output in one sentence, and print in any encoding and width."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pytest

fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))

COMMANDS = [["score", "qrels", "a.run", "b.run"], ["explain", "ndcg"], ["list", "metrics"], ["--help"], ["--version"]]


@pytest.fixture
def files(tmp_path):
    (tmp_path / "qrels").write_text("q1 0 d1 1\nq2 0 dα 1\n")
    (tmp_path / "a.run").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\n")
    (tmp_path / "b.run").write_text("q1 Q0 d2 1 2 t\nq2 Q0 dα 1 2 t\n")
    return tmp_path


def run(arguments, folder, **options):
    command = [sys.executable, "-m", "goldrank", *arguments]
    environment = {**os.environ, **options.pop("environment", {})}
    return subprocess.run(command, cwd=folder, stderr=subprocess.PIPE, env=environment, check=False, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
@pytest.mark.parametrize(
    ("arguments", "unbuffered"),
    [*((arguments, "") for arguments in COMMANDS), (COMMANDS[0], "1"), (COMMANDS[-1], "1")],
    ids=str,
)
def test_a_full_disk_is_one_sentence(files, arguments, unbuffered):
    with Path("/dev/full").open("wb") as full:
        process = run(arguments, files, stdout=full, environment={"PYTHONUNBUFFERED": unbuffered})
    message = (
        b"goldrank: the output cannot be written (no space left on device), and is incomplete; write to another place\n"
    )
    assert (process.returncode, process.stderr) == (1, message)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_closed_standard_output_is_one_sentence(files, arguments):
    process = run(arguments, files, preexec_fn=lambda: os.close(1))
    message = b"goldrank: the output cannot be written (it is closed), and is incomplete; write to another place\n"
    assert (process.returncode, process.stderr) == (1, message)


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_closed_pipe_is_not_an_error(files, arguments):
    reader, writer = os.pipe()
    os.close(reader)
    process = run(arguments, files, stdout=writer)
    os.close(writer)
    assert (process.returncode, process.stderr) == (1, b"")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "encoding"),
    [
        *((arguments, "ascii") for arguments in COMMANDS),
        *((COMMANDS[0], name) for name in ("cp1252", "latin-1", "cp437")),
    ],
    ids=str,
)
def test_characters_that_the_encoding_lacks_are_replaced(files, arguments, encoding):
    process = run(arguments, files, stdout=subprocess.PIPE, environment={"PYTHONIOENCODING": encoding})
    assert (process.returncode, process.stderr) == (0, b"")
    assert process.stdout.decode(encoding).strip()


def test_arrows_and_lines_are_replaced_in_ascii(files):
    process = run(COMMANDS[0], files, stdout=subprocess.PIPE, environment={"PYTHONIOENCODING": "ascii"})
    assert b"ndcg@10^" in process.stdout
    assert b"-----" in process.stdout
    assert b"\\u" not in process.stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "variable"), [(0, None), (1, None), (7, None), (80, None), (0, "0"), (80, "0"), (7, "-3"), (80, "wide")]
)
def test_a_table_fits_a_terminal_of_any_width(files, columns, variable):
    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 0, columns, 0, 0))
    environment = {} if variable is None else {"COLUMNS": variable}
    process = run(COMMANDS[0], files, stdout=inner, environment=environment)
    os.close(inner)
    assert (process.returncode, process.stderr) == (0, b"")
    assert b"ndcg@10" in os.read(outer, 1 << 16)
    os.close(outer)
