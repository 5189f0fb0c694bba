"""Run `goldrank masked score KEY` as ``python -m goldrank.evaluation.top_k_evaluation KEY``."""

import sys

from goldrank.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["masked", "score", *sys.argv[1:]]))
