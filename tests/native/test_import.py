"""Test that the package uses the extension modules if they are built, unless the environment forbids it."""

import os
import subprocess
import sys

import pytest

from goldrank.native import COMPILED

PRINT_CHOICE = "from goldrank import native; print(native.COMPILED, native.count_trec_hits.__module__)"


@pytest.mark.parametrize("setting", ["", "1"])
def test_the_environment_can_choose_the_fallback(setting):
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "GOLDRANK_NO_NATIVE": setting, "PYTHONPATH": path}
    command = [sys.executable, "-c", PRINT_CHOICE]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    printed = run.stdout.split()
    expected = COMPILED and not setting
    assert printed[0] == str(expected)
    assert printed[1] == ("goldrank.native._hit_counting" if expected else "goldrank.native.fallback.hit_counting")
