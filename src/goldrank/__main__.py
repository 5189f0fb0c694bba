"""`python -m goldrank` is the command `goldrank`."""

from goldrank.cli.main import run_program

run_program()
