"""Test the meta-evaluation: cells, means, differences and warnings equal those of the underlying statistics."""

import math

import numpy as np
import pytest

from goldrank import stats
from goldrank.analysis.meta import ScoreRow, Table, meta, read_table, rows_from_store
from goldrank.errors import InputError
from goldrank.scoring import Bootstrap

QUICK = {"bootstrap": Bootstrap(400)}
PAPER = ["SCICITE", "MR", "CR", "MPQA", "SUBJ", "SST2", "SST5", "TREC"]
NAMES = ["ant", "bee", "cat", "dog", "eel", "fox", "gnu", "hen", "ibex", "jay", "koi", "lark", "mole", "newt", "owl"]


def scores(models=15, noise=(0.3, 3.0), tasks=3, seed=0):
    """Return scores of evaluators that measure a model's true quality with increasing noise."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=models)
    values = {f"e{i}": quality + size * rng.normal(size=models) for i, size in enumerate(noise)}
    values |= {f"t{i}": quality + 0.3 * rng.normal(size=models) for i in range(tasks)}
    return values


def table(values, *, families=None, drop=()):
    rows = [
        ScoreRow(
            NAMES[m],
            name,
            math.nan if (m, name) in drop else float(value),
            "intrinsic" if name[0] == "e" else "downstream",
            families[m] if families else "",
        )
        for name, column in values.items()
        for m, value in enumerate(column)
    ]
    return Table.of(rows, "scores.csv")


@pytest.mark.parametrize("kind", stats.CORRELATIONS)
def test_a_cell_is_what_the_statistics_of_its_two_columns_give(kind):
    values = scores()
    result = meta(table(values), kind=kind, **QUICK)
    cell = result.cells["e1", "t2"]
    x, y = values["e1"], values["t2"]
    assert cell.value == pytest.approx(stats.correlation(x, y, kind))
    around = stats.correlation_interval(x, y, kind, method="bootstrap", resamples=400)
    assert (cell.interval.low, cell.interval.high) == pytest.approx((around.low, around.high))
    assert cell.p == pytest.approx(stats.permutation_p_values(x[:, None], y[:, None], kind, resamples=400)[0, 0])
    without = [stats.correlation(np.delete(x, m), np.delete(y, m), kind) for m in range(15)]
    assert cell.lowest == (pytest.approx(min(without)), NAMES[int(np.argmin(without))])
    assert cell.highest == (pytest.approx(max(without)), NAMES[int(np.argmax(without))])


def test_p_values_are_corrected_over_all_cells():
    result = meta(table(scores()), **QUICK)
    p = np.array([cell.p for cell in result.cells.values()])
    assert [cell.adjusted for cell in result.cells.values()] == stats.holm(p).tolist()


def test_the_mean_is_over_the_tasks_and_its_interval_contains_it():
    result = meta(table(scores()), **QUICK)
    for name in result.intrinsic:
        overall = result.overall[name]
        assert overall.mean == pytest.approx(np.mean([result.cells[name, task].value for task in result.downstream]))
        assert overall.interval.low < overall.mean < overall.interval.high
        assert overall.lowest[0] <= overall.mean <= overall.highest[0]
    assert result.ranked == ["e0", "e1"]


def test_an_evaluator_that_sees_more_is_told_from_one_that_sees_less():
    values = scores()
    result = meta(table(values), **QUICK)
    (comparison,) = result.differences
    assert comparison.difference == pytest.approx(result.overall["e0"].mean - result.overall["e1"].mean)
    assert comparison.adjusted < 0.05
    assert comparison.williams["t1"] == pytest.approx(
        stats.compare_correlations(values["t1"], values["e0"], values["e1"])
    )
    swapped = comparison.seen_from("e1")
    assert (swapped.first, swapped.difference, swapped.interval.low) == (
        "e1",
        -comparison.difference,
        -comparison.interval.high,
    )
    assert result.verdicts()[0].startswith("e0 follows the downstream scores best: mean Spearman 0.")
    assert "It is better than e1" in result.verdicts()[1]


def test_noise_is_told_to_predict_nothing():
    rng = np.random.default_rng(5)
    values = {"e0": rng.normal(size=12), "e1": rng.normal(size=12), "t0": rng.normal(size=12)}
    verdicts = " ".join(meta(table(values), **QUICK).verdicts())
    assert "cannot show that it predicts anything" in verdicts
    assert "It cannot be told from" in verdicts


def test_the_order_of_evaluators_changes_no_number():
    values = scores()
    result = meta(table(values), **QUICK)
    again = meta(table(dict(reversed(values.items()))), **QUICK)
    assert all(result.cells[key].value == again.cells[key].value for key in result.cells)
    assert all(result.cells[key].interval == again.cells[key].interval for key in result.cells)


def test_missing_values_leave_a_model_out_of_their_pairs_only():
    values = scores()
    result = meta(table(values, drop={(3, "e0"), (7, "t1")}), **QUICK)
    whole = meta(table(values), **QUICK)
    assert [result.cells["e0", t].models for t in ("t0", "t1")] == [14, 13]
    assert result.cells["e1", "t0"] == whole.cells["e1", "t0"]
    expected = stats.correlation(np.delete(values["e0"], [3, 7]), np.delete(values["t1"], [3, 7]))
    assert result.cells["e0", "t1"].value == pytest.approx(expected)
    assert result.missing == 2


def test_pairs_with_too_few_models_are_left_out_and_counted():
    values = scores(models=12)
    result = meta(table(values, drop={(m, "e0") for m in range(8)}), **QUICK)
    assert math.isnan(result.cells["e0", "t0"].value)
    assert result.cells["e0", "t0"].interval is None
    assert result.ranked == ["e1", "e0"]
    assert "3 pairs of evaluators have fewer than 5 models in common" in " ".join(result.warnings)


def test_a_score_of_which_less_is_better_counts_with_the_opposite_sign():
    values = scores()
    negated = {name: -column if name == "e0" else column for name, column in values.items()}
    result = meta(table(negated), lower=["e0"], **QUICK)
    assert result.cells["e0", "t0"].value == pytest.approx(meta(table(values), **QUICK).cells["e0", "t0"].value)
    assert result.lower == ("e0",)


def test_families_are_warned_of_and_resampled_on_request():
    values, families = scores(), [str(m // 2) for m in range(15)]
    result = meta(table(values, families=families), **QUICK)
    assert "15 models are of 8 families" in result.warnings[0]
    assert "--cluster" in result.warnings[0]
    clustered = meta(table(values, families=families), cluster=True, **QUICK)
    assert clustered.cells["e0", "t0"].value == result.cells["e0", "t0"].value
    assert clustered.cells["e1", "t0"].interval != result.cells["e1", "t0"].interval
    assert meta(table(values), **QUICK).warnings == ()


def test_copies_of_models_do_not_narrow_the_interval_of_families():
    values = scores(models=7, noise=(1.0, 1.0))
    doubled = {name: np.tile(column, 2) for name, column in values.items()}
    single = meta(table(values), bootstrap=Bootstrap(3000, method="percentile")).overall["e0"].interval
    by_model = meta(table(doubled), bootstrap=Bootstrap(3000, method="percentile")).overall["e0"].interval
    families = [str(m % 7) for m in range(14)]
    by_family = meta(table(doubled, families=families), cluster=True, bootstrap=Bootstrap(3000, method="percentile"))
    family = by_family.overall["e0"].interval
    assert by_model.high - by_model.low < 0.9 * (single.high - single.low)
    assert family.high - family.low == pytest.approx(single.high - single.low, rel=0.1)


def test_fewer_than_ten_models_are_warned_of():
    assert "9 models are few" in meta(table(scores(models=9)), **QUICK).warnings[0]


@pytest.mark.parametrize(
    ("given", "arguments", "message"),
    [
        (scores(models=4), {}, "4 models are too few for a correlation; give at least 5"),
        ({"e0": np.arange(6.0)}, {}, "the table has one evaluator only, 'e0'"),
        (scores(), {"intrinsic": ["e00"]}, "there is no evaluator 'e00'; did you mean 'e0'"),
        (scores(), {"downstream": ["T1"]}, "did you mean 't1'"),
        (scores(), {"intrinsic": ["e0", "t0"], "downstream": ["t0"]}, "both intrinsic and downstream"),
        (scores(), {"kind": "spearmen"}, "did you mean 'spearman'"),
        ({"e0": np.arange(6.0), "e1": np.arange(6.0)}, {}, "the table does not say which evaluators are downstream"),
    ],
)
def test_what_cannot_be_evaluated_is_refused(given, arguments, message):
    with pytest.raises(InputError, match=message):
        meta(table(given), **arguments, **QUICK)


def test_scores_without_five_models_in_common_are_refused():
    drop = {(m, "e0") for m in range(6)} | {(m, "t0") for m in range(8, 12)}
    with pytest.raises(InputError, match=r"5 models in common \(the most is 2\)"):
        meta(table(scores(models=12, noise=(1,), tasks=1), drop=drop | {(m, "e0") for m in range(6)}), **QUICK)


def test_what_is_not_named_is_the_other_kind_where_the_table_does_not_say():
    rows = [
        ScoreRow(NAMES[m], name, float(value)) for name, column in scores().items() for m, value in enumerate(column)
    ]
    plain = Table.of(rows, "t")
    assert meta(plain, intrinsic=["e*"], **QUICK).downstream == ["t0", "t1", "t2"]
    assert meta(plain, downstream=["t1"], **QUICK).intrinsic == ["e0", "e1", "t0", "t2"]


def test_stored_runs_become_rows(tmp_path):
    from goldrank import Gold, Run
    from goldrank.store import RunRecord, Store

    store = Store.open(tmp_path / "store")
    gold = Gold({"q": {"d1": 1}})
    for number, ranking in enumerate(({"d1": 2.0, "d2": 1.0}, {"d1": 1.0, "d2": 2.0})):
        hits = Run({"q": ranking}).hits(gold)
        inputs = {"task": "wines", "similarity": ["cosine", "l2"][number], "split": "test"}
        store.save(RunRecord("wines", "bm25", inputs, {}, hits, metrics=("mrr",)))
    rows = rows_from_store(store)
    assert [(row.model, row.evaluator, row.value) for row in rows] == [
        ("bm25", "wines mrr", 1.0),
        ("bm25, similarity=l2", "wines mrr", 0.5),
    ]
    assert rows_from_store(store, model="other") == []


@pytest.mark.conformance
def test_the_fourteen_released_logs_neither_confirm_nor_refute_the_paper(shared_data):
    chosen = {"level": ["sentence"], "run_dist_metric": ["cos"], "metric": ["MRR", "spearman", "accuracy"]}
    logs = read_table(shared_data / "published" / "evalrank_logs.csv", chosen)
    result = meta(logs, downstream=PAPER)
    overall = result.overall["EvalRank MRR"]
    assert (len(result.models), overall.tasks) == (14, 8)
    assert overall.mean == pytest.approx(0.08, abs=0.005)
    assert (overall.interval.high - overall.interval.low) / 2 == pytest.approx(0.5, abs=0.05)
    # With 14 models, no other evaluator has a significant correlation, and no difference is significant.
    assert overall.interval.low < 0 < overall.interval.high < 0.73
    assert all(estimate.interval.low < 0 for estimate in result.overall.values())
    assert not any(estimate.adjusted < 0.05 for estimate in result.differences)
    assert not any(cell.adjusted < 0.05 for cell in result.cells.values())


@pytest.mark.conformance
def test_the_papers_own_mean_is_0_73(shared_data):
    import csv

    with (shared_data / "published" / "evalrank_meta_correlations.csv").open() as lines:
        printed = [
            float(row["rho_x100"])
            for row in csv.DictReader(lines)
            if (row["level"], row["intrinsic"]) == ("sentence", "EvalRank-MRR") and row["downstream"] in PAPER
        ]
    assert len(printed) == 8
    assert np.mean(printed) / 100 == pytest.approx(0.73, abs=0.005)
