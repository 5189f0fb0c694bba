"""The probes of the toy vectors compared with the published logs of EvalRank, and why some differ.

The reference trains a linear layer by RMSprop until held-out accuracy stops rising. The result varies widely with the
seed, and the logs show seed 1111. Repeated here with that seed, the loop gives the published scores; goldrank computes
the optimum of the same model and penalties instead.
"""

from __future__ import annotations

import copy
import csv
import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from goldrank.cli.main import main
from goldrank.encoders import load
from goldrank.tasks.probe import PROBE_TASKS
from goldrank.tasks.settings import Settings

pytestmark = [pytest.mark.conformance, pytest.mark.slow]

PUBLISHED_NAMES = {
    "mr": "MR",
    "cr": "CR",
    "mpqa": "MPQA",
    "subj": "SUBJ",
    "sst2": "SST2",
    "sst5": "SST5",
    "trec": "TREC",
    "mrpc": "MRPC",
    "sick-e": "SICKEntailment",
    "scicite": "SCICITE",
}
# These are not within 1.5 points of the published values; the measured values are fixed here to detect changes. The
# reference's loop with other seeds gives CR 70.2 and 70.6, SST2 64.5 to 65.1, TREC 67.6 to 70.0.
FURTHER_OFF = {"cr": 71.9, "sst2": 65.1, "trec": 70.0}
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
SEED = 1111


@pytest.fixture(scope="module")
def published(shared_data):
    with (shared_data / "published" / "evalrank_logs.csv").open() as file:
        return {
            (row["task"], row["metric"]): float(row["value"])
            for row in csv.DictReader(file)
            if row["log"] == "sentence_cos/s_1.log" and row["task_type"] == "downstream"
        }


@pytest.fixture(scope="module")
def encoder(shared_data):
    return load(f"words:{shared_data / 'evalrank' / 'toy_emb.txt'}(preset=evalrank)")


PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from" / "evalrank.md"


@pytest.fixture(scope="module")
def measured(shared_data, tmp_path_factory):
    """The scores of the ten probes by name, from the command of the docs page, which runs for a minute."""
    [command] = re.findall(r"^\$ goldrank (run .* -t probe-mr .*)$", PAGE.read_text(), re.MULTILINE)
    folder = tmp_path_factory.mktemp("probes")
    (folder / "data").symlink_to(shared_data / "evalrank")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("GOLDRANK_DATA", "data")
        assert main([*shlex.split(command), "--format", "json", "-o", "out.json"]) == 0
    boards = json.loads((folder / "out.json").read_text())["tasks"]
    return {board["task"].removeprefix("probe-"): next(iter(board["measured"].values())) for board in boards}


def test_the_docs_show_the_accuracies_that_their_command_prints(measured):
    [documented] = re.findall(r"^\| goldrank \| (.*) \|$", PAGE.read_text(), re.MULTILINE)
    printed = [100 * measured[name]["accuracy"]["value"] for name in PUBLISHED_NAMES]
    assert printed == pytest.approx(list(map(float, documented.split(" | "))), abs=0.15)


@pytest.mark.parametrize("name", [name for name in PUBLISHED_NAMES if name not in FURTHER_OFF])
def test_probes_of_the_toy_vectors_are_within_a_point_and_a_half_of_the_published_ones(name, measured, published):
    accuracy = measured[name]["accuracy"]
    assert 100 * accuracy["value"] == pytest.approx(published[PUBLISHED_NAMES[name], "accuracy"], abs=1.5)
    assert accuracy["low"] < accuracy["value"] < accuracy["high"]


def test_the_paraphrase_f1_is_within_a_point_and_a_half_of_the_published_one(
    encoder, shared_data, monkeypatch, published
):
    monkeypatch.setenv("GOLDRANK_DATA", str(shared_data))
    task = next(task for task in PROBE_TASKS if task.name == "probe-mrpc")
    predictions = task.measure(encoder, task.read(None), Settings()).predictions
    gold, predicted = np.array(predictions["gold"]) == "1", np.array(predictions["predicted"]) == "1"
    f1 = 2 * (gold & predicted).sum() / (gold.sum() + predicted.sum())
    assert 100 * f1 == pytest.approx(published["MRPC", "f1"], abs=1.5)


@pytest.mark.parametrize("name", FURTHER_OFF)
def test_three_probes_lie_further_off_and_above_the_published_figures(name, measured, published):
    accuracy = 100 * measured[name]["accuracy"]["value"]
    assert accuracy == pytest.approx(FURTHER_OFF[name], abs=0.5)
    assert accuracy > published[PUBLISHED_NAMES[name], "accuracy"] + 1


@pytest.mark.heavy
@pytest.mark.parametrize("name", FURTHER_OFF)
def test_a_loop_like_the_reference_s_with_one_seed_gives_the_published_figure(name, encoder, shared_data, published):
    pytest.importorskip("torch")
    texts, labels, splits = reference_rows(name, shared_data / "evalrank" / "sent_classification")
    vectors = np.asarray(encoder.encode_items(texts), dtype=np.float32)
    codes = np.unique(labels, return_inverse=True)[1]
    loop = Loop(vectors, codes)
    if splits is None:
        accuracy = np.mean([loop.chosen(fit, None)(ask) for fit, ask in folds(codes, np.arange(len(codes)))])
    else:
        train, dev, test = (np.flatnonzero(splits == split) for split in ("train", "dev", "test"))
        accuracy = loop.chosen(train, dev if len(dev) else None)(test)
    assert 100 * accuracy == pytest.approx(published[PUBLISHED_NAMES[name], "accuracy"], abs=0.3)


def reference_rows(name, folder):
    """Texts in the reference's order: by their number of words, then by label. Blank lines count as texts there."""
    if name == "cr":
        parts = [(folder / "CR" / f"custrev.{label}").read_text("latin-1").splitlines() for label in ("neg", "pos")]
        rows = [(text, label, None) for label, texts in enumerate(parts) for text in texts]
    else:
        task = next(task for task in PROBE_TASKS if task.name == f"probe-{name}")
        data = task.read_at(folder / {"sst2": "SST", "trec": "TREC"}[name], None)
        rows = list(zip(data.texts, data.labels, data.splits, strict=True))
    rows.sort(key=lambda row: (len(row[0].split()), row[1]))
    texts, labels, splits = zip(*rows, strict=True)
    return list(texts), np.array(labels), None if splits[0] is None else np.array(splits)


def folds(codes, rows):
    from sklearn.model_selection import StratifiedKFold

    return [(rows[a], rows[b]) for a, b in StratifiedKFold(5, shuffle=True, random_state=SEED).split(rows, codes[rows])]


class Loop:
    """The loop of SentEval's prototype setting: RMSprop, batches of 128, two epochs at a time, four failures."""

    def __init__(self, vectors, codes):
        import torch

        self.torch, self.count = torch, int(codes.max()) + 1
        self.vectors, self.codes, self.plain = torch.from_numpy(vectors), torch.from_numpy(codes), codes

    def chosen(self, rows, dev):
        """The model of the best penalty, by *dev* or by five folds."""
        held_out = [(rows, dev)] if dev is not None else folds(self.plain, rows)
        scores = [np.mean([self.trained(fit, ask, penalty)(ask) for fit, ask in held_out]) for penalty in PENALTIES]
        return self.trained(rows, dev, PENALTIES[int(np.argmax(scores))])

    def trained(self, rows, held_out, penalty):
        torch, random = self.torch, np.random.RandomState(SEED)
        torch.manual_seed(SEED)
        layer = torch.nn.Linear(self.vectors.shape[1], self.count)
        optimiser = torch.optim.RMSprop(layer.parameters(), weight_decay=penalty)
        if held_out is None:
            order = random.permutation(len(rows))
            held_out, rows = rows[order[: int(0.05 * len(rows))]], rows[order[int(0.05 * len(rows)) :]]
        vectors, codes = self.vectors[rows], self.codes[rows]

        def accuracy(subset):
            with torch.no_grad():
                return float((layer(self.vectors[subset]).argmax(1) == self.codes[subset]).float().mean())

        best, best_state, failures, epochs = -1.0, None, 0, 0
        while failures < 4 and epochs <= 200:
            for _ in range(2):
                order = torch.from_numpy(random.permutation(len(rows)))
                for start in range(0, len(order), 128):
                    batch = order[start : start + 128]
                    optimiser.zero_grad()
                    torch.nn.functional.cross_entropy(layer(vectors[batch]), codes[batch]).backward()
                    optimiser.step()
            epochs += 2
            if (score := accuracy(held_out)) > best:
                best, best_state = score, copy.deepcopy(layer.state_dict())
            else:
                failures += 1
        layer.load_state_dict(best_state)
        return accuracy
