"""Commands run in the process of a test."""

from goldrank.cli.main import main


def run(capsys, *arguments):
    """The exit status of a command, and what it wrote to standard output and standard error."""
    capsys.readouterr()
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err
