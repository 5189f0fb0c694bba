"""Test that damaged files of every kind never cause an internal error in a command.

GOLDRANK_FUZZ_CASES=5000 sets the number of cases over all targets, GOLDRANK_FUZZ_SEED their seed. A failure names its
case, and GOLDRANK_FUZZ_CASE=beir:17 runs that case alone.
"""

import os
import tempfile
from pathlib import Path
from random import Random

import pytest

from fuzz.cases import run_case, run_command
from fuzz.targets import TARGETS

CASES = int(os.environ.get("GOLDRANK_FUZZ_CASES", "500"))
SEED = os.environ.get("GOLDRANK_FUZZ_SEED", "0")
ONLY = os.environ.get("GOLDRANK_FUZZ_CASE", "")


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_no_damaged_input_ends_in_an_internal_error(target, tmp_path):
    pytest.importorskip("pyarrow")
    share = -(-CASES // len(TARGETS))
    chosen, _, number = ONLY.partition(":")
    if ONLY and chosen != target.name:
        pytest.skip(f"only {ONLY} is run")
    seeds = target.seeds()
    faults = []
    for number_ in [int(number)] if number else range(share):
        files = tmp_path / f"{target.name}-{number_}"
        outcome = run_case(seeds, Random(f"{SEED} {target.name} {number_}"), files)
        if outcome.fault is not None:
            faults.append(
                f"GOLDRANK_FUZZ_SEED={SEED} GOLDRANK_FUZZ_CASE={target.name}:{number_}\n"
                f"files: {files}\ngoldrank {' '.join(outcome.arguments)}\n{outcome.fault}\n{outcome.printed[-1500:]}"
            )
    assert not faults, f"{len(faults)} of {share} cases:\n\n" + "\n\n".join(faults[:20])


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)
def test_the_seeds_themselves_are_read(target):
    """Undamaged files must be accepted, or the target would test nothing."""
    pytest.importorskip("pyarrow")
    for seed in target.seeds():
        if not seed.words:
            with tempfile.TemporaryDirectory() as folder:
                seed.write(Path(folder))
                outcome = run_command(Path(folder), seed.commands[0])
            assert outcome.code in (0, 1), outcome
