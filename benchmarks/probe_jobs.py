"""All ten probes on the vectors of one model, here and as SentEval trains them; one job per process.

Each job takes the folder that holds the data sets (MR, CR … SCICITE) and the name of a model, and gives CPU seconds
from vectors that are there already to figures. The peer draws the folds once, as it does; goldrank once, to do the same
work, and three times, as is its default.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks.measure import peak_memory

Result = dict[str, float]
FOLDERS = {
    "mr": "MR",
    "cr": "CR",
    "mpqa": "MPQA",
    "subj": "SUBJ",
    "sst2": "SST",
    "sst5": "SST",
    "trec": "TREC",
    "mrpc": "MRPC",
    "sick-e": "SICK",
    "scicite": "SCICITE",
}
PENALTIES = (1e-5, 1e-4, 1e-3, 1e-2)
FOLDS = 5
SEED = 1111


def goldrank_probes(folder: str, model: str) -> tuple[float, Result]:
    return _goldrank(folder, model, draws=3)


def goldrank_probes_once(folder: str, model: str) -> tuple[float, Result]:
    return _goldrank(folder, model, draws=1)


def _goldrank(folder: str, model: str, draws: int) -> tuple[float, Result]:
    from goldrank.data.labelled_sets import LABELLED_SETS
    from goldrank.encoders import load
    from goldrank.tasks.probe import measure
    from goldrank.tasks.settings import Settings

    encoder: Any = load(model)
    result: Result = {}
    with TemporaryDirectory() as cache:
        os.environ["GOLDRANK_CACHE"] = cache
        data = {name: LABELLED_SETS[name].read_at(Path(folder) / place) for name, place in FOLDERS.items()}
        for texts in data.values():
            _vectors(encoder, texts)
        cpu, wall = time.process_time(), time.perf_counter()
        for name, texts in data.items():
            result[name] = measure(encoder, texts, Settings(), draws).scores["accuracy"].value
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    return cpu, {**result, "wall": wall}


def torch_probes(folder: str, model: str) -> tuple[float, Result]:
    """SentEval's prototype setting: a linear layer, RMSprop, batches of 128, and the best epoch on held-out data.

    Of what is cross-validated one of the five (outer) folds is timed and counted five times, since each of them costs
    the same; a model that is fitted once for all folds is counted once.
    """
    import torch

    from goldrank.data.labelled_sets import LABELLED_SETS
    from goldrank.encoders import load

    torch.set_num_threads(1)  # batches of 128 rows are faster so
    encoder: Any = load(model)
    seconds, wall, result = 0.0, 0.0, {}
    with TemporaryDirectory() as cache:
        os.environ["GOLDRANK_CACHE"] = cache
        for name, place in FOLDERS.items():
            data = LABELLED_SETS[name].read_at(Path(folder) / place)
            features = torch.from_numpy(_features(_vectors(encoder, data), len(data)).astype(np.float32))
            codes = torch.from_numpy(np.unique(data.labels, return_inverse=True)[1].astype(np.int64))
            for times, accuracy in _peer(features, codes, data):
                seconds += times[0]
                wall += times[1]
                result[name] = accuracy
    return seconds, {**result, "wall": wall}


def _vectors(encoder: Any, data: Any) -> Any:
    from goldrank.tasks.ranking.encoding import transformed_vectors
    from goldrank.tasks.settings import Settings

    return transformed_vectors(encoder, [*data.texts, *(data.seconds or ())], Settings()).vectors


def _features(vectors: Any, count: int) -> Any:
    if len(vectors) == count:
        return vectors
    first, second = vectors[:count], vectors[count:]
    return np.hstack([np.abs(first - second), first * second])


def _peer(features: Any, codes: Any, data: Any) -> Iterator[tuple[tuple[float, float], float]]:
    """CPU and wall seconds of a part, scaled to the whole, with the accuracy so far."""
    if data.splits is None:
        start = _clocks()
        fit, ask = _first_fold(codes, np.arange(len(data)))
        best = max(PENALTIES, key=lambda penalty: _inner(features, codes, fit, penalty, FOLDS))
        accuracy = _trained(features, codes, fit, best, None)(ask)
        yield _since(start, FOLDS), accuracy
        return
    train, dev, test = (data.rows(split) for split in ("train", "dev", "test"))
    start = _clocks()
    if len(dev):
        best = max(PENALTIES, key=lambda penalty: _trained(features, codes, train, penalty, dev)(dev))
    else:
        best = max(PENALTIES, key=lambda penalty: _inner(features, codes, train, penalty, 1))
    yield _since(start, 1 if len(dev) else FOLDS), 0.0
    start = _clocks()
    accuracy = _trained(features, codes, train, best, dev if len(dev) else None)(test)
    yield _since(start, 1), accuracy


def _inner(features: Any, codes: Any, rows: Any, penalty: float, folds: int) -> float:
    from sklearn.model_selection import StratifiedKFold

    parts = list(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(rows, codes[rows]))[:folds]
    return float(np.mean([_trained(features, codes, rows[fit], penalty, rows[ask])(rows[ask]) for fit, ask in parts]))


def _first_fold(codes: Any, rows: Any) -> tuple[Any, Any]:
    from sklearn.model_selection import StratifiedKFold

    fit, ask = next(iter(StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(rows, codes[rows])))
    return rows[fit], rows[ask]


def _trained(features: Any, codes: Any, rows: Any, penalty: float, held_out: Any) -> Any:
    """A model trained two epochs at a time until the fourth time that held-out accuracy did not rise."""
    import torch

    random = np.random.RandomState(SEED)
    torch.manual_seed(SEED)
    if held_out is None:
        order = random.permutation(rows)
        held_out, rows = order[: len(order) // 20], order[len(order) // 20 :]
    known, right = features[rows], codes[rows]
    layer = torch.nn.Linear(features.shape[1], int(codes.max()) + 1)
    optimiser = torch.optim.RMSprop(layer.parameters(), weight_decay=penalty)

    def accuracy(asked: Any) -> float:
        with torch.no_grad():
            return float((layer(features[asked]).argmax(1) == codes[asked]).float().mean())

    best, weights, patience, epochs = -1.0, layer.state_dict(), 3, 0
    while patience >= 0 and epochs <= 200:
        for _ in range(2):
            order = torch.from_numpy(random.permutation(len(known)))
            for start in range(0, len(order), 128):
                batch = order[start : start + 128]
                optimiser.zero_grad()
                torch.nn.functional.cross_entropy(layer(known[batch]), right[batch]).backward()
                optimiser.step()
        epochs += 2
        reached = accuracy(held_out)
        if reached > best:
            best, weights = reached, copy.deepcopy(layer.state_dict())
        else:
            patience -= 1
    layer.load_state_dict(weights)
    return accuracy


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


def _since(start: tuple[float, float], times: int) -> tuple[float, float]:
    return (time.process_time() - start[0]) * times, (time.perf_counter() - start[1]) * times


JOBS = {job.__name__: job for job in (goldrank_probes, goldrank_probes_once, torch_probes)}

if __name__ == "__main__":
    seconds, result = JOBS[sys.argv[1]](sys.argv[2], sys.argv[3])
    print(json.dumps({"seconds": seconds, "peak_mb": peak_memory(), **{f"result:{k}": v for k, v in result.items()}}))
