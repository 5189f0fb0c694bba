"""Test that a stored run has the scores of the original run, under every profile that its tables support."""

import pytest

from goldrank import Gold, Run, score, score_hits
from goldrank.errors import InputError
from goldrank.metrics import PROFILES
from goldrank.scoring import resolve_conventions
from goldrank.store import RunRecord, Store, count_under

# q1 ranks itself first, q2 second; two scores are equal in float32 but not in float64; "gone" is no item.
GOLD = Gold({"q1": {"d1": 2, "d2": 1, "q1": 1}, "q2": {"d3": 1, "gone": 1}, "q3": {"d1": 1}})
RUN = Run(
    {
        "q1": {"q1": 3.0, "d9": 2.0 + 1e-12, "d1": 2.0, "d2": 1.0, "q2": 0.5, "d3": 0.0},
        "q2": {"d9": 3.0, "q2": 2.0, "d3": 2.0, "d1": 1.0, "d2": 0.5, "q1": 0.0},
    }
)
CORPUS = frozenset({"q1", "q2", "d1", "d2", "d3", "d9"})
METRICS = ["mrr", "recall@2", "ndcg@3"]


def stored(tmp_path, *, drop_self: bool, run: Run | None = RUN, **changes):
    hits = RUN.hits(GOLD, drop_self=drop_self, corpus=CORPUS)
    conventions = {"self_matches": "drop"} if drop_self else {}
    record = RunRecord("wines", "model", {"n": 1}, {}, hits, run, conventions=conventions, **changes)
    return Store.open(tmp_path).save(record)


def values(scores):
    return {name: scores[name].per_query for name in scores}


@pytest.mark.parametrize("drop_self", [True, False])
@pytest.mark.parametrize("profile", [name for name, entry in PROFILES.items() if entry.conventions.missing != "error"])
def test_every_profile_gives_what_scoring_the_run_gives(tmp_path, profile, drop_self):
    run = stored(tmp_path, drop_self=drop_self)
    counted = count_under(run, PROFILES[profile].conventions)
    assert counted.note == ""
    again = score_hits(counted.hits, METRICS, profile=profile)
    direct = score(GOLD, RUN, METRICS, profile=profile, corpus=CORPUS)
    assert values(again) == values(direct)
    assert again.counts == direct.counts


def test_the_hits_alone_serve_what_does_not_turn_on_the_query_itself(tmp_path):
    run = stored(tmp_path, drop_self=True, run=None)
    for conventions in ({"self_matches": "drop"}, {"self_matches": "drop_results", "ties": "expected"}, {}):
        counted = count_under(run, resolve_conventions(PROFILES["standard"], conventions))
        assert values(score_hits(counted.hits, METRICS, **conventions)).keys() == set(METRICS)


@pytest.mark.parametrize(
    ("drop_self", "profile", "expected"),
    [
        (True, "trec_eval9", "precision=float32, as its hits were counted at float64, and no rankings were stored"),
        (True, "sdr", "self_matches=first, as its hits were counted with the query itself taken out"),
        (False, "beir", "precision=float32, .* and self_matches=drop_results, .* query itself in the rankings"),
    ],
)
def test_what_neither_hits_nor_rankings_can_tell_is_refused(tmp_path, drop_self, profile, expected):
    run = stored(tmp_path, drop_self=drop_self, run=None)
    with pytest.raises(InputError, match=expected):
        count_under(run, PROFILES[profile].conventions)


def test_rankings_without_the_query_itself_cannot_serve_sdr(tmp_path):
    without = Run({query: {item: s for item, s in RUN[query].items() if item != query} for query in RUN})
    run = stored(tmp_path, drop_self=True, run=without)
    with pytest.raises(InputError, match="the stored rankings do not hold it either"):
        count_under(run, PROFILES["sdr"].conventions)
    assert count_under(run, PROFILES["standard"].conventions).note == ""


def test_rankings_stored_less_deep_than_counted_are_said_to_be(tmp_path):
    top = Run({query: dict(list(RUN[query].items())[:2]) for query in RUN})
    counted = count_under(stored(tmp_path, drop_self=False, run=top), PROFILES["trec_eval9"].conventions)
    assert "top 2 only (2 were deeper)" in counted.note
    assert counted.hits.corpus == len(CORPUS)
