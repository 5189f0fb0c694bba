"""Run `goldrank plot KEY` as ``python -m goldrank.evaluation.plotting.precomputed_plotting KEY``."""

import sys

from goldrank.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["plot", *sys.argv[1:]]))
