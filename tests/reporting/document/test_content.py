import json
import math

import pytest

import goldrank as gr
import stored_examples as examples
from goldrank.analysis.stored_data import count_texts
from goldrank.cli.main import main
from goldrank.comparing import compare_hits
from goldrank.errors import InputError
from goldrank.reporting.document.content import content_of
from goldrank.reporting.document.sections import RankRange, as_json
from goldrank.reporting.text.formatting import SUPERSCRIPTS
from goldrank.scoring import Bootstrap

QUICK = Bootstrap(resamples=200)


def make(store, models=None, **more):
    runs = examples.save_ranked(store, models or {"weak": 1, "strong": 9})
    store.texts(examples.DATA).save(*examples.texts())
    return content_of(runs, store, bootstrap=QUICK, **more)


def test_the_numbers_are_those_of_the_score_command_to_the_last_digit(store, capsys):
    runs = examples.save_ranked(store, {"weak": 1, "middle": 5, "strong": 9})
    [section] = content_of(runs, store)
    main(["score", *(run.key for run in runs), "--store", store.where, "--format", "json"])
    printed = json.loads(capsys.readouterr().out)
    by_key = {entry["name"]: entry["scores"] for entry in printed["runs"]}
    ours = {entry["name"]: entry["scores"] for entry in section.numbers["runs"]}
    assert {run.key: ours[run.name] for run in section.runs} == by_key
    assert section.numbers["conventions"] == printed["conventions"]


@pytest.mark.parametrize(
    "options",
    [
        {"metrics": ["recall@3", "map"]},
        {"profile": "trec_eval9"},
        {"conventions": {"ties": "expected"}, "metrics": ["mrr"]},
    ],
)
def test_options_mean_what_they_mean_to_the_score_command(store, capsys, options):
    runs = examples.save_ranked(store, {"weak": 1, "strong": 9})
    [section] = content_of(runs, store, **options)
    written = [f"--metric={metric}" for metric in options.get("metrics", ())]
    written += [f"--profile={options['profile']}"] if "profile" in options else []
    written += [f"--{name}={value}" for name, value in options.get("conventions", {}).items()]
    main(["score", *(run.key for run in runs), "--store", store.where, "--format", "json", *written])
    printed = {entry["name"]: entry["scores"] for entry in json.loads(capsys.readouterr().out)["runs"]}
    ours = {entry["name"]: entry["scores"] for entry in section.numbers["runs"]}
    assert {run.key: ours[run.name] for run in section.runs} == printed


def test_the_pairs_are_those_of_a_comparison(store):
    runs = examples.save_ranked(store, {"weak": 1, "strong": 9})
    [section] = content_of(runs, store, bootstrap=QUICK)
    hits = {run.model: run.hits() for run in runs}
    compared = compare_hits(hits, ["ndcg@10", "mrr"], bootstrap=QUICK)
    [ours, _] = section.numbers["comparison"]["pairs"]
    assert ours["p_adjusted"] == compared.pairs[0].adjusted
    assert (ours["low"], ours["high"]) == (compared.pairs[0].interval.low, compared.pairs[0].interval.high)


def test_the_verdict_comes_first_and_names_the_winner(store):
    [section] = make(store)
    assert section.verdicts[0].startswith("strong is better than weak on ndcg@10: 0.")
    assert "(paired randomisation, Holm)" in section.verdicts[0]


def test_equal_runs_cannot_be_told_apart(store):
    [section] = make(store, {"one": 5, "two": 5})
    assert section.verdicts[0].startswith("one and two have the same ndcg@10 on every query (0.")


def test_of_several_runs_the_leader_is_named_with_whom_it_beats(store):
    [section] = make(store, {"weak": 0, "strong": 9, "also strong": 9, "middle": 5})
    assert [run.name for run in section.runs][-1] == "weak"
    assert section.verdicts[0].startswith("On ndcg@10, strong leads with ")
    assert "cannot be told apart from also strong" in section.verdicts[0]
    assert "it is better than middle and weak" in section.verdicts[0]


def test_verdict_superscripts_and_figure_say_the_same_as_goldrank_run(store):
    """Verdict, superscripts and figure come from one test; a report once used two tests, which disagreed."""
    metric = "mrr"
    boards = gr.run(["random", "bm25", "tfidf", "bm25(k1=0.5)"], "games", store, metrics=metric, bootstrap=QUICK)
    [section] = content_of(boards.runs, store, metrics=[metric], bootstrap=QUICK)
    compared = boards["games"].comparison
    assert section.verdicts == (compared.verdict[metric],)
    figure = next(figure for figure in section.figures if figure.name == "significance-groups")
    runs = figure.y.categories
    groups = [[runs[at] for at in bracket.members] for bracket in figure.brackets]
    assert list(runs) == compared.order(metric)
    assert groups == compared.groups(metric)
    better = {(pair["a"], pair["b"]): pair["better"] for pair in section.numbers["comparison"]["pairs"]}
    for pair, winner in better.items():
        assert (winner is None) == any(set(pair) <= set(group) for group in groups)
    letters = {row[0].text.partition(" ")[2]: row[0].text[0] for row in section.tables[0].rows}
    for row, run in zip(section.tables[0].rows, letters, strict=True):
        beaten = sorted(letters[{*pair}.difference([run]).pop()] for pair, winner in better.items() if winner == run)
        assert row[1].marks == "".join(beaten).translate(SUPERSCRIPTS)
    assert "(paired randomisation, Holm over the pairs of the metric, α = 0.05)" in figure.caption
    assert "23 queries" in figure.caption


def test_a_single_run_is_stated_and_its_worst_queries_shown(store):
    [section] = make(store, {"weak": 1})
    assert section.verdicts[0].startswith("weak reaches ndcg@10 0.")
    values = [case.answers[0].value for case in section.cases]
    assert values == sorted(values)
    assert section.cases[0].spread == 1 - values[0]


def test_queries_come_by_how_far_the_runs_are_apart(store):
    [section] = make(store, worst=5)
    spreads = [case.spread for case in section.cases]
    assert len(spreads) == 5
    assert spreads == sorted(spreads, reverse=True)
    for case in section.cases:
        values = [answer.value for answer in case.answers]
        assert math.isclose(case.spread, max(values) - min(values))


def test_a_split_of_the_runs_counts_for_more_than_one_that_stands_apart(store):
    import numpy as np

    from goldrank.reporting.document.query_examples import _spread
    from goldrank.scoring import score

    scores = score({"a": {"x": 1}, "b": {"x": 1}}, {"a": {"x": 1.0}, "b": {"x": 1.0}}, "mrr")
    values = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]])
    outlier, split = _spread(values, scores).tolist()
    assert (outlier, round(split, 6)) == (0.5, round(4 / 6, 6))


def test_a_case_shows_where_the_gold_is_and_what_stands_above_it(store):
    [section] = make(store)
    runs = {run.key: store.get(run.key) for run in section.runs}
    for case in section.cases:
        assert case.query.text == f"what {case.query.id} says"
        best = case.gold[0]
        assert best.grade == 2
        for answer in case.answers:
            ranking = list(runs[answer.key].ranking(case.query.id))
            assert best.places[answer.key].rank == ranking.index(best.passage.id) + 1
            assert answer.above == ranking.index(best.passage.id)
            assert [rival.passage.id for rival in answer.rivals] == ranking[: min(3, answer.above)]
            assert all(rival.passage.text for rival in answer.rivals)


def test_gold_that_was_not_ranked_has_no_place(store):
    [section] = make(store)
    unranked = [item for case in section.cases for item in case.gold if item.grade == 1]
    assert unranked
    assert {place for item in unranked for place in item.places.values()} == {RankRange(None, None)}


def test_without_texts_there_are_ids(store):
    runs = examples.save_ranked(store, {"weak": 1, "strong": 9})
    [section] = content_of(runs, store, bootstrap=QUICK)
    assert section.cases
    assert all(case.query.text == "" and case.query.id for case in section.cases)


def test_each_task_and_each_data_set_has_a_section_of_its_own(store):
    wines = examples.save_ranked(store, {"a": 1, "b": 9})
    games = examples.save_ranked(store, {"a": 1}, task="games")
    other = examples.save_ranked(store, {"a": 1}, data="0123456789abcdef")
    measured = examples.save_measured(store, {"a": 0.5})
    sections = content_of([*wines, *games, *other, *measured], store, bootstrap=QUICK, worst=1)
    assert [(section.task, section.kind, len(section.runs)) for section in sections] == [
        ("wines", "ranked", 2),
        ("games", "ranked", 1),
        ("wines", "ranked", 1),
        ("sick", "measured", 1),
    ]
    assert measured[0].result_kind == "measured"


def test_measurements_are_sorted_by_their_headline(store):
    [section] = content_of(examples.save_measured(store, {"low": 0.3, "high": 0.7}), store)
    assert [run.name for run in section.runs] == ["high", "low"]
    assert section.verdicts[0] == (
        "On spearman, high leads with 0.7000 [0.6000, 0.8000]; it was not tested against low "
        "(no predictions are stored)."
    )
    assert section.tables[0].headings == ["run", "spearman", "pearson"]
    assert section.figures[0].series[0].x == (0.7, 0.3)
    assert section.numbers["runs"][0]["measured"]["spearman"]["value"] == 0.7


def test_runs_with_conventions_of_their_own_need_a_common_profile(store):
    first = examples.save_ranked(store, {"a": 1})
    second = examples.save_ranked(store, {"b": 1}, conventions={"ties": "expected"})
    with pytest.raises(InputError, match="--profile"):
        content_of([*first, *second], store)
    [section] = content_of([*first, *second], store, profile="trec_eval9", bootstrap=QUICK)
    assert section.numbers["profile"] == "trec_eval9"


def test_the_same_run_twice_and_none_at_all_are_refused(store):
    [run] = examples.save_ranked(store, {"a": 1})
    with pytest.raises(InputError, match="given twice"):
        content_of([run, run], store)
    with pytest.raises(InputError, match="no run to report on"):
        content_of([], store)
    with pytest.raises(InputError, match="cannot be shown"):
        content_of([run], store, worst=-1)


def test_notes_tell_of_gaps_ties_and_remarks(store):
    runs = examples.save_ranked(store, {"a": 1, "b": 9}, environment={"remarks": ["3 texts were cut"]})
    store.texts(examples.DATA).save(*examples.texts(["", "same", "same"]))
    [section] = content_of(runs, store, bootstrap=QUICK)
    assert "3 texts were cut." in section.quality
    assert "a: 40 of 80 (50.0%) of the relevant items are not in its rankings." in section.quality
    assert any(note.startswith("No relevant item is tied") for note in section.quality)


def test_empty_and_repeated_texts_are_counted(store):
    from goldrank.store.texts import Text

    examples.save_ranked(store, {"a": 1})
    texts = store.texts(examples.DATA)
    texts.save([Text("q", "", "  ")], [Text("a", "x", "y z"), Text("b", "x y", "z"), Text("c", "", "other")])
    counts = count_texts(texts)
    assert (counts["query"].texts, counts["query"].empty, counts["query"].repeated) == (1, 1, 0)
    assert (counts["item"].texts, counts["item"].empty, counts["item"].repeated) == (3, 0, 1)


def test_provenance_holds_data_versions_and_commands_without_passwords(store):
    command = "run -m a --store postgresql://me:secret@host/db"
    runs = examples.save_ranked(store, {"a": 1}, environment={"command": command, "commit": "abc+"})
    [section] = content_of(runs, store, bootstrap=QUICK, worst=0)
    assert section.commands == ("goldrank run -m a --store postgresql://me:***@host/db",)
    facts = {fact.name: fact.value for fact in section.runs[0].facts}
    assert facts["data checksum"] == examples.DATA
    assert (facts["commit"], facts["goldrank"]) == ("abc+", "0.1.0")
    assert "secret" not in json.dumps(as_json(section))


def test_a_section_is_json_without_nan(store):
    [section] = make(store)
    content = as_json(section)
    assert "figures" not in content
    again = json.loads(json.dumps(content, allow_nan=False))
    assert again["cases"][0]["query"]["id"] == section.cases[0].query.id


def test_long_texts_are_cut(tmp_path):
    store, runs = examples.hostile_store(tmp_path / "store")
    [section] = content_of(runs, store, bootstrap=QUICK, worst=40)
    lengths = [len(case.query.text) for case in section.cases]
    assert max(lengths) <= 3002


def test_masked_runs_have_their_levels_and_their_verdicts(store):
    runs = examples.save_masked(store, ["names:majority", "names:random"])
    [section] = content_of(runs, store, bootstrap=QUICK)
    assert section.kind == "masked"
    assert [line.split(":")[0] for line in section.verdicts] == [
        f"By {level}, {reading}" for level in ("mask", "example", "page") for reading in ("source", "strict")
    ]
    assert section.tables[0].headings == [
        "run",
        *(f"{level}, {reading}↑" for level in ("mask", "example", "page") for reading in ("source", "strict")),
    ]
    assert len(section.tables[0].rows) == 2
    assert section.tables[1].headings == ["level", "n", "measure", "source", "strict"]
    assert [row[0].text for row in section.tables[1].rows if row[0].text] == ["mask", "example", "page"]
    assert len({grid.title for grid in section.tables}) == len(section.tables)
    assert {entry["name"] for entry in section.numbers["runs"]} == {"names:majority", "names:random"}
    assert section.figures
    assert section.conventions == (
        "Reading source: matcher=tokens, tier=given, pool=gold, all guesses, ties=expected.",
        "Reading strict: matcher=names, tier=given, pool=alias, all guesses, ties=expected.",
    )


def test_a_single_masked_run_says_how_often_it_is_right(store):
    from goldrank.runs.masked import score_stored_run

    [run] = examples.save_masked(store, ["names:majority"])
    [section] = content_of([run], store, bootstrap=QUICK)
    right = score_stored_run(run).levels["page"].right.mean()
    assert section.verdicts[4].startswith(f"By page, source: names:majority is right in {right:.4f}")
