"""The process of a command: exit codes, functions called at exit, and no finalization of the interpreter."""

import subprocess
import sys

import pytest

SCRIPT = """
import atexit, sys
from goldrank.cli.main import run_program

class Finalized:
    def __del__(self):
        print("finalized")

keep = Finalized()
atexit.register(print, "at exit")
sys.argv[1:] = {arguments!r}
run_program()
"""


@pytest.mark.parametrize(
    ("arguments", "code"), [(["--version"], 0), (["score", "--help"], 0), (["no-command"], 2), (["score", "--no"], 2)]
)
def test_a_process_ends_with_its_code_without_finalizing_the_interpreter(arguments, code):
    script = SCRIPT.format(arguments=arguments)
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert process.returncode == code
    assert process.stdout.splitlines()[-1] == "at exit"
    assert "finalized" not in process.stdout


def test_the_program_can_set_the_threads_of_blas_before_numpy_reads_them():
    script = "import sys, goldrank.cli.main; print('numpy' in sys.modules)"
    process = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert process.stdout == "False\n"
