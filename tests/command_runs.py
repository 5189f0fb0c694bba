"""Commands run in the process of a test."""

import re
import shlex

from goldrank.cli.main import main


def run(capsys, *arguments):
    """The exit status of a command, and what it wrote to standard output and standard error."""
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


def next_command(err):
    """The arguments of the command that `goldrank run` names as the next step."""
    (command,) = re.findall(r"next: goldrank (.*)", err)
    return shlex.split(command)
