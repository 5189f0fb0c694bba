"""`python -m goldrank.evaluation.top_k_evaluation KEY`: another name of `goldrank masked score KEY`."""

import sys

from goldrank.cli.main import main

if __name__ == "__main__":
    sys.exit(main(["masked", "score", *sys.argv[1:]]))
