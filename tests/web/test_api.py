"""The API of the explorer: the numbers of the commands, pages of runs and queries, and errors of one shape."""

import json

import pytest

pytest.importorskip("fastapi", reason="the explorer needs the extra web")

from goldrank.cli.main import main
from goldrank.store import Store
from web.stores import GOLD, HOSTILE, QUERIES, RUNS, client, key_of, measured, ranked


@pytest.fixture(scope="module")
def api(store):
    http_client = client(store)

    def get(address: str, status: int = 200, **parameters):
        answer = http_client.get(f"/api/{address}", params=parameters)
        assert answer.status_code == status, answer.text
        assert answer.headers["content-type"] == "application/json"
        return answer.json()

    return get


def printed(capsys, *arguments):
    capsys.readouterr()
    assert main([str(argument) for argument in arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_scores_equal_those_of_the_command_to_the_last_digit(store, api, capsys):
    keys = [key_of(store, "wines", model) for model in ("good", "bad")]
    for options in ({}, {"ties": "expected"}, {"profile": "trec_eval9"}, {"metric": ["map", "mrr@1,3"], "depth": 2}):
        written = [f"--{name}={value}" for name, value in options.items() if name != "metric"]
        written += [f"--metric={metric}" for metric in options.get("metric", ())]
        expected = printed(
            capsys,
            "score",
            *keys,
            *written,
            "--per-query",
            "--format",
            "json",
            "--store",
            store.where,
        )
        answer = api("score", key=keys, per_query=True, **options)
        assert expected.pop("schema") == "goldrank/score/1"
        assert {name: answer[name] for name in expected} == expected


def test_the_comparison_has_the_numbers_of_the_command_at_its_own_number_of_resamples(store, api, capsys):
    keys = [key_of(store, "wines", model) for model in ("good", "bad")]
    expected = printed(capsys, "compare", *keys, "--format", "json", "--store", store.where)
    (section,) = api("compare", key=keys)["sections"]
    wanted = sorted(json.dumps(run["scores"], sort_keys=True) for run in expected["runs"])
    assert sorted(json.dumps(run["scores"], sort_keys=True) for run in section["numbers"]["runs"]) == wanted
    names = {key: run["name"] for key in keys for run in section["runs"] if run["key"] == key}
    sentences = expected["comparison"]["verdict"].values()
    for key, name in names.items():
        sentences = [sentence.replace(key, name) for sentence in sentences]
    broken, *others = section["verdicts"]
    assert broken == "good answered 3 of 4 queries; bad answered 3 of 4 queries; missing queries count as 0."
    assert [f"{broken} {sentence}" for sentence in others] == sentences
    assert section["figures"]
    assert all(figure["plotly"]["data"] for figure in section["figures"])


def test_the_limit_of_metrics_counts_those_that_runs_share_once(store, api, monkeypatch):
    monkeypatch.setattr("goldrank.web.dependencies.MOST_METRICS", 3)
    keys = [key_of(store, task, "good") for task in ("wines", "games")]
    assert [section["task"] for section in api("compare", key=keys)["sections"]] == ["wines", "games"]
    refused = api("compare", 400, key=keys, metric=["mrr", "map", "mrr@1", "mrr@2"])
    assert "4 metrics are too many" in refused["error"]


def test_the_diff_of_two_runs_is_that_of_the_command(store, api, capsys):
    keys = [key_of(store, "wines", model) for model in ("good", "bad")]
    capsys.readouterr()
    assert main(["diff", *keys, "--format", "json", "--worst", "50", "--store", store.where]) == 1
    diff = api("diff", key=keys)
    assert diff == json.loads(capsys.readouterr().out)
    (pair,) = diff["pairs"]
    assert (pair["only_a"], pair["only_b"]) == (["<b>q4"], ["q3"])
    assert pair["most_changed"][0]["text"] == QUERIES[0].text
    assert "two runs" in api("diff", 400, key=keys[:1])["error"]
    assert api("diff", 404, key=[keys[0], "none"])["error"]
    assert api("diff", 422, key=keys, depth=0)["where"] == "depth"
    measurement = key_of(store, "sts", "good")
    assert "no rankings" in api("diff", 400, key=[keys[0], measurement])["error"]


def test_values_of_single_queries_are_those_of_the_whole_run(store, api):
    key = key_of(store, "wines", "good")
    whole = api("score", key=[key], per_query=True)["runs"][0]["per_query"]
    for query in GOLD:
        assert api("query", key=[key], query=query)["values"][key] == whole[query]


def test_about_counts_what_the_store_holds(store, api):
    about = api("about")
    assert (about["runs"], about["tasks"], about["models"]) == (6, 4, 3)
    assert about["allow_delete"] is False
    assert about["kinds"] == {"ranked": 3, "measured": 2, "masked": 1}


def test_runs_are_filtered_sorted_and_paged(store, api):
    listing = api("runs", task="wines")
    assert listing["total"] == 2
    assert {run["model"] for run in listing["runs"]} == {"good", "bad"}
    assert [run["kind"] for run in api("runs", kind="measured")["runs"]] == ["measured"] * 2
    assert api("runs", q="WINES bad")["total"] == 1
    assert api("runs", model="g*")["total"] == 3
    every = [run["key"] for run in api("runs", sort="created", order="asc")["runs"]]
    pages = [api("runs", sort="created", order="asc", size=4, page=page)["runs"] for page in (1, 2, 3)]
    assert [run["key"] for page in pages for run in page] == every
    assert [len(page) for page in pages] == [4, 2, 0]


def test_runs_sorted_by_value_keep_those_without_one_last_either_way(tmp_path):
    store = Store.open(tmp_path)
    for number, value in enumerate((0.5, 0.9)):
        store.save(measured(f"m{number}", value))
    store.save(ranked("good", summary={}))
    http_client = client(store)
    for order, models in (("asc", ["m0", "m1", "good"]), ("desc", ["m1", "m0", "good"])):
        runs = http_client.get("/api/runs", params={"sort": "value", "order": order}).json()["runs"]
        assert [run["model"] for run in runs] == models
    assert runs[-1]["headline"] is None


def test_the_counts_of_tasks_say_what_a_choice_would_give(store, api):
    listing = api("runs", task="wines")
    counts = {entry["name"]: entry["count"] for entry in listing["tasks"]}
    assert counts == {"wines": 2, "games": 1, "sts": 2, "masked-people": 1}
    assert {entry["name"] for entry in listing["models"]} == {"good", "bad"}
    for name, count in counts.items():
        assert api("runs", task=name)["total"] == count


def test_a_headline_is_the_first_number_with_its_interval(store, api):
    by_key = {run["key"]: run for run in api("runs")["runs"]}
    headline = by_key[key_of(store, "sts", "good")]["headline"]
    assert (headline["metric"], headline["value"], headline["high"]) == ("spearman", 0.7, 0.7 + 0.1)
    key = key_of(store, "wines", "good")
    whole = api("score", key=[key])["runs"][0]["scores"]["ndcg@10"]
    assert {name: by_key[key]["headline"][name] for name in ("value", "low", "high")} == {
        name: whole[name] for name in ("value", "low", "high")
    }


def test_one_run_shows_its_inputs_and_what_there_is_of_it(store, api):
    run = api(f"runs/{key_of(store, 'wines', 'bad')}")
    assert run["inputs"]["number"] == 1
    assert run["has_rankings"] is run["has_texts"] is run["complete"] is True
    assert run["remarks"] == [f"remark {HOSTILE}"]


def test_a_query_shows_each_ranking_with_its_gold_and_shared_words(store, api):
    keys = [key_of(store, "wines", model) for model in ("good", "bad")]
    answer = api("query", key=keys, query="q1")
    assert answer["query"]["text"] == "which red wine is from Bordeaux"
    gold = {entry["item"]: entry for entry in answer["gold"]}
    assert list(gold) == ["d1", "d2", "gone"]
    assert gold["d1"]["places"] == {
        keys[0]: {"rank": 1, "last": 1, "found": True},
        keys[1]: {"rank": 3, "last": 3, "found": True},
    }
    assert gold["gone"]["places"][keys[0]] == {"rank": None, "last": None, "found": False}
    ranking = answer["rankings"][keys[1]]
    assert [(entry["rank"], entry["item"], entry["grade"]) for entry in ranking] == [
        (1, "d5", None),
        (2, "d6", None),
        (3, "d1", 2),
    ]
    assert ranking[0]["shared"] == ["red", "bordeaux", "wine"]
    assert len(api("query", key=keys, query="q1", depth=1)["rankings"][keys[0]]) == 1


def test_items_of_equal_score_stand_in_the_order_that_was_counted(store, api):
    key = key_of(store, "wines", "good")
    answer = api("query", key=[key], query="q2")
    assert RUNS["good"]["q2"]["d3"] == RUNS["good"]["q2"]["d4"]
    assert [entry["item"] for entry in answer["rankings"][key]] == ["d4", "d3"]
    assert answer["gold"][0]["places"][key] == {"rank": 1, "last": 2, "found": True}


def test_queries_are_searched_by_id_and_text_and_sorted_by_value(store, api):
    key = key_of(store, "wines", "bad")

    def ids(**parameters):
        return [entry["id"] for entry in api("queries", key=[key], **parameters)["queries"]]

    answer = api("queries", key=[key])
    values = [entry["value"] for entry in answer["queries"]]
    assert (answer["total"], answer["metric"], values) == (4, "ndcg@10", sorted(values))
    assert (answer["first"], answer["second"]) == (key, None)
    assert ids(q="WINE white") == ["q2"]
    assert ids(q="q3") == ["q3"]
    assert ids(sort="id", order="desc") == ["q3", "q2", "q1", "<b>q4"]
    assert api("queries", key=[key], metric="precision@1")["metric"] == "precision@1"
    assert len(api("queries", key=[key], sort="id")["queries"][-1]["text"]) < 9_000


def test_queries_of_several_runs_come_by_the_difference_of_the_two_best(store, api):
    good, bad, games = key_of(store, "wines", "good"), key_of(store, "wines", "bad"), key_of(store, "games", "good")
    whole = {key: api("score", key=[key], per_query=True)["runs"][0]["per_query"] for key in (good, bad)}
    difference = {query: whole[good][query]["ndcg@10"] - whole[bad][query]["ndcg@10"] for query in GOLD}
    answer = api("queries", key=[bad, good, games])
    assert (answer["first"], answer["second"], answer["sort"]) == (good, bad, "magnitude")
    assert {entry["id"]: entry["difference"] for entry in answer["queries"]} == difference
    sizes = [abs(entry["difference"]) for entry in answer["queries"]]
    assert sizes == sorted(sizes, reverse=True)
    chosen = api("queries", key=[bad, good], first=bad, second=good, sort="difference", order="desc")
    signed = [entry["difference"] for entry in chosen["queries"]]
    assert signed == sorted((-number for number in difference.values()), reverse=True)
    lower = api("queries", key=[good], metric="mean_rank(unfound=last)")
    values = [entry["value"] for entry in lower["queries"]]
    assert values == sorted(values, reverse=True)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"sort": "difference"}, "difference needs two runs"),
        ({"first": "nobody"}, "'nobody' is not one of the runs"),
        ({"second": "nobody"}, "'nobody' is not one of the runs"),
        ({"first": "KEY", "second": "KEY"}, "a run cannot be compared with itself"),
    ],
)
def test_a_pair_that_cannot_be_compared_is_refused(store, changes, what):
    key = key_of(store, "wines", "good")
    parameters = {name: key if value == "KEY" else value for name, value in changes.items()}
    answer = client(store).get("/api/queries", params={"key": key, **parameters})
    assert (answer.status_code, answer.json()["error"]) == (400, what)


def test_hostile_content_comes_back_as_it_was_and_only_as_json(store, api):
    answer = api("query", key=[key_of(store, "wines", "good")], query="<b>q4")
    assert answer["query"]["title"] == answer["gold"][0]["text"] == HOSTILE
    assert api("query", 404, key=[key_of(store, "wines", "good")], query=HOSTILE)["error"]


def test_text_that_has_no_utf_8_is_still_json():
    from goldrank.web.responses import Json

    assert json.loads(Json({"id": "q\ud800 é"}).body) == {"id": "q\ud800 é"}


def test_a_megabyte_of_text_is_shown_as_far_as_it_was_kept(tmp_path):
    from goldrank.store.texts import Text
    from web.stores import DATA

    store = Store.open(tmp_path)
    saved = store.save(ranked("good"))
    store.texts(DATA).save([Text("q1", "", "word " * 200_000)], [Text("d1", "", "word " * 200_000)])
    answer = client(store).get("/api/query", params={"key": saved.key, "query": "q1"})
    assert answer.status_code == 200
    assert len(answer.content) < 100_000


def test_measurements_have_no_ranks_to_show(store, api):
    key = key_of(store, "sts", "good")
    assert "measurement" in api("score", 400, key=[key])["error"]
    assert api("query", 404, key=[key], query="q1")["error"]
    (section,) = api("compare", key=[key])["sections"]
    assert section["kind"] == "measured"


def test_quality_tells_gaps_ties_and_remarks(store, api):
    assert {entry["task"] for entry in api("quality")["sets"]} == {"wines", "games", "sts", "masked-people"}
    (data_set,) = api("quality", task="wines")["sets"]
    assert data_set["remarks"][0]["remarks"] == [f"remark {HOSTILE}"]
    details = {entry["model"]: entry for entry in data_set["details"]}
    assert details["good"]["counts"]["missing"] == 1
    assert details["good"]["hits"]["tied"] == 1
    assert data_set["texts"]["query"]["texts"] == len(GOLD)
    assert api("quality", 404, task="nothing")["remedy"]


def test_the_meta_evaluation_is_that_of_the_command(tmp_path, capsys):
    store = Store.open(tmp_path)
    for number in range(6):
        store.save(measured(f"m{number}", number / 10))
        summary = {"spearman": {"value": (number * 7 % 6) / 10, "low": None, "high": None, "count": 9}}
        inputs = {"task": "probe-x", "model": f"m{number}", "kind": "probe"}
        store.save(measured(f"m{number}", 0).__class__("probe-x", f"m{number}", inputs, {}, measured=summary))
    expected = printed(capsys, "meta", "--from-store", "--format", "json", "--store", store.where)
    evaluation = client(store).get("/api/meta").json()
    assert evaluation["cells"] == expected["cells"]
    assert evaluation["overall"] == expected["evaluators"]
    assert evaluation["warnings"] == expected["warnings"]
    assert evaluation["figure"]["plotly"]["data"]
    listed = client(store).get("/api/meta/evaluators").json()["evaluators"]
    assert {entry["kind"] for entry in listed} == {"intrinsic", "downstream"}


def test_a_meta_evaluation_that_cannot_be_made_says_why(store, api):
    assert api("meta", 400)["remedy"]


def test_masked_pages_show_text_masks_and_guesses(store, api):
    key = key_of(store, "masked-people", "names:majority")
    listed = api(f"masked/{key}/pages")
    assert [(page["id"], page["title"], page["masks"]) for page in listed["pages"]] == [
        ("p1", "Lise Meitner", 3),
        ("p2", "Otto Hahn", 1),
    ]
    assert api(f"masked/{key}/pages", q="hahn")["total"] == 1
    answer = api(f"masked/{key}/page", id="p1")
    assert [example["text"].count("<mask>") for example in answer["examples"]] == [2, 1]
    mask = answer["examples"][0]["masks"][0]
    assert mask["hidden"] == "Lise Meitner"
    wrong = {"tier": None, "right": False}
    assert [(guess["name"], guess["readings"]) for guess in mask["guesses"]] == [
        (name, {"source": wrong, "strict": wrong}) for name in ("Hahn", "Otto")
    ]
    assert [answer["scores"][reading]["mask"]["of"] for reading in ("source", "strict")] == [3, 3]
    assert [group["group"] for group in answer["groups"]["source"]] == ["hahn", "otto"]
    assert answer["groups"]["source"][0]["guesses"][0]["right"] == {"source": False, "strict": False}
    assert (answer["profile"], answer["beside"]) == ("source", "strict")
    changed = api(f"masked/{key}/page", id="p1", pool="alias", matcher="seed")
    assert changed["rules"] == {"pool": "alias", "matcher": "seed", "tier": "given"}
    assert (changed["profile"], changed["beside"]) == ("custom", "strict")
    strict = api(f"masked/{key}/page", id="p1", profile="strict", tier="surname")
    assert strict["rules"] == {"pool": "alias", "matcher": "names", "tier": "surname"}
    assert api(f"masked/{key}/page", 400, id="p1", matcher="seed", tier="exact")["remedy"]
    assert [page["beside"] for page in listed["pages"]] == [0, 0]
    [listed_run] = api("masked")["runs"]
    assert (listed_run["key"], list(listed_run["readings"])) == (key, ["source", "strict"])
    assert api(f"masked/{key}/page", 404, id="p9")["error"]
    assert api(f"masked/{key_of(store, 'wines', 'good')}/pages", 404)["error"]
    assert api(f"masked/{key}/page", 422, id="p1", tier="other")["where"] == "tier"


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("runs/nothing", 404),
        ("runs/wines", 404),
        ("runs/WINES", 404),
        ("runs/%00", 404),
        ("runs/a%20b", 404),
        ("runs?page=0", 422),
        ("runs?size=1000", 422),
        ("runs?sort=colour", 422),
        ("score", 422),
        ("score?key=nothing", 404),
        ("query?key=nothing&query=q", 404),
        ("no/such/thing", 404),
        ("masked/nothing/pages", 404),
    ],
)
def test_whatever_is_wrong_is_said_in_one_shape(store, address, status):
    answer = client(store).get(f"/api/{address}")
    assert answer.status_code == status, answer.text
    assert set(answer.json()) == {"error", "where", "remedy"}
    assert answer.json()["error"]


@pytest.mark.parametrize(
    "asked",
    [
        {"metric": "ndgc"},
        {"metric": "ndcg@0"},
        {"metric": "ndcg@99999999999999999999"},
        {"metric": "ndcg@" + ",".join(map(str, range(1, 60)))},
        {"profile": "nobody"},
        {"ties": "mine"},
        {"ties": "expected", "depth": 3},
        {"missing": "error"},
        {"self_matches": "first", "ties": "expected"},
    ],
)
def test_what_cannot_be_scored_is_refused_with_a_remedy(store, asked):
    for address in ("score", "compare", "queries"):
        answer = client(store).get(f"/api/{address}", params={"key": key_of(store, "wines", "good"), **asked})
        assert answer.status_code == 400, answer.text
        assert answer.json()["remedy"]


def test_a_damaged_table_is_no_failure_of_the_server(tmp_path):
    store = Store.open(tmp_path)
    saved = store.save(ranked("good"))
    http_client = client(store)
    (saved.folder / "run.parquet").write_bytes(b"PAR1 nothing PAR1")
    assert http_client.get("/api/query", params={"key": saved.key, "query": "q1"}).status_code == 400
    (saved.folder / "hits.parquet").unlink()
    for address in ("score", "compare"):
        assert http_client.get(f"/api/{address}", params={"key": saved.key}).status_code == 400


def test_a_run_made_anew_is_not_answered_from_memory(tmp_path):
    from goldrank import Gold, Run

    store = Store.open(tmp_path)
    key = store.save(ranked("good")).key
    http_client = client(store)
    before = http_client.get("/api/score", params={"key": key}).json()["runs"][0]["scores"]
    store.save(ranked("good", hits=Run(RUNS["bad"]).hits(Gold(GOLD), corpus=20)), overwrite=True)
    assert http_client.get("/api/score", params={"key": key}).json()["runs"][0]["scores"] != before


def test_an_empty_store_is_no_error(tmp_path):
    http_client = client(Store.open(tmp_path / "nothing"))
    assert http_client.get("/api/about").json()["runs"] == 0
    assert http_client.get("/api/runs").json()["runs"] == []
    assert http_client.get("/api/quality").json()["sets"] == []
    assert http_client.get("/api/runs/some-key").status_code == 404
    assert not (tmp_path / "nothing").exists()


def test_the_description_names_every_address_and_its_page_needs_no_script(store):
    http_client = client(store)
    paths = http_client.get("/api/openapi.json").json()["paths"]
    assert {"/api/about", "/api/runs", "/api/query", "/api/compare", "/api/masked/{key}/page"} <= set(paths)
    page = http_client.get("/api/docs").text
    assert all(path in page for path in paths)
    assert "<script" not in page


@pytest.mark.slow
def test_every_choice_of_the_playground_can_be_scored(api, tmp_path):
    from goldrank import Gold, Run

    store = Store.open(tmp_path)
    run = Run({query: {**dict.fromkeys(gold, 1.0), "d8": 0.5} for query, gold in GOLD.items()})
    key = store.save(ranked("whole", hits=run.hits(Gold(GOLD), corpus=20), run=run)).key
    http_client = client(store)
    for entry in api("metrics")["metrics"]:
        cut = {"required": "@10", "recall": "@0.1"}.get(entry["cutoff"], "")
        answer = http_client.get("/api/score", params={"key": key, "metric": entry["name"] + cut, "intervals": False})
        # Stored gold has no subtopics, and the playground does not offer such metrics.
        assert answer.status_code == (400 if entry["subtopics"] else 200), answer.text
    for entry in api("conventions")["conventions"]:
        assert entry["default"] is None or entry["default"] in [choice["value"] for choice in entry["choices"]]
        for choice in entry["choices"] or ():
            answer = http_client.get("/api/score", params={"key": key, entry["name"]: choice["value"], "metric": "mrr"})
            assert answer.status_code == 200 or answer.json()["remedy"]
    assert {entry["name"] for entry in api("profiles")["profiles"]} >= {"standard", "trec_eval", "beir"}
