"""The API of the judging page: claims, labels, undo, withheld data, and refused requests."""

import pytest

pytest.importorskip("fastapi", reason="the judging page needs the extra web")

from fastapi.testclient import TestClient

from goldrank.errors import InputError
from goldrank.judging import plan_next
from goldrank.judging.guidelines import GUIDELINES
from goldrank.judging.plans import Plan
from goldrank.judging.project import JudgingProject
from goldrank.store import Store
from goldrank.web.routes.judging import LONGEST_TEXT
from goldrank.web.security import LARGEST_BODY
from judging.judged_projects import create, truth
from web.stores import client, judging_client, judging_project


class Page:
    """A client of the judging page that reads only the data that the browser reads."""

    def __init__(self, project, judge="Ann", *, only=None):
        self.client = project if isinstance(project, TestClient) else judging_client(project, judge=only)
        self.judge, self.received = judge, []

    def post(self, path, status=200, **content):
        answer = self.client.post(f"/api/judging/{path}", json={"judge": self.judge, **content})
        assert answer.status_code == status, answer.text
        self.received.append(answer.text)
        return answer.json()

    def claim(self, **options):
        return self.post("claim", **options)

    def label(self, query, item, grade, **options):
        return self.post("labels", query=query, item=item, grade=grade, seconds=1.5, **options)

    def judge_all(self, grade=1):
        while (unit := self.claim()["unit"]) is not None:
            for passage in unit["passages"]:
                if passage["label"] is None:
                    answer = self.label(unit["query"]["id"], passage["id"], grade)
        return answer


@pytest.fixture
def project(tmp_path):
    return judging_project(tmp_path / "judging")


def passages(answer):
    return [passage["id"] for passage in answer["unit"]["passages"]]


def test_the_browser_is_told_no_system_no_rank_and_no_grade_of_others(project):
    ann, bob = Page(project), Page(project, "Bob")
    first = bob.claim()["unit"]
    bob.label(first["query"]["id"], first["passages"][0]["id"], 3)
    about = ann.client.get("/api/judging")
    ann.judge_all()
    ann.post("undo", event=ann.post("undo", event=None)["last"]["event"])
    for text in [about.text, *ann.received]:
        assert "secret" not in text
        assert "rank" not in text.replace("goldrank", "")
    assert about.json()["judges"] == ["Bob"]
    unit = ann.claim()["unit"]
    assert set(unit) == {"number", "of", "query", "passages"}
    for passage in unit["passages"]:
        assert set(passage) == {"id", "title", "text", "characters", "label"}
        assert passage["label"] in (None, {"grade": 1})


def test_the_order_of_passages_is_random_for_each_judge_and_depends_on_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setattr(JudgingProject, "identity", "0123456789abcdef")
    judges = [f"judge {number}" for number in range(10)]

    def orders(project):
        http_client = judging_client(project)
        return [passages(Page(http_client, judge).claim()) for judge in judges]

    first, second = (judging_project(tmp_path / name, items=4, queries=10, swap=name == "b") for name in "ab")
    assert [unit.query for unit in first.plan.units] == [unit.query for unit in second.plan.units]
    assert orders(first) == orders(first) == orders(second)
    places = [[name.rsplit("-", 1)[1] for name in order] for order in orders(first)]
    assert {place[0] for place in places} == {f"{number}.txt" for number in range(4)}
    assert len(set(map(tuple, places))) > 6


def test_a_judge_continues_where_he_was_also_on_another_server(project):
    ann = Page(project)
    before = ann.claim()
    query, (first, *_) = before["unit"]["query"]["id"], passages(before)
    saved = ann.label(query, first, 2)
    assert saved["progress"] == {"labels": 1, "of": 6}
    after = Page(JudgingProject.open(project.folder), "  aNN ").claim()
    assert after["judge"] == "Ann"
    assert passages(after) == passages(before)
    assert [passage["label"] for passage in after["unit"]["passages"]] == [{"grade": 2}, None, None]
    assert after["last"] == saved["last"]
    assert Page(project, "Bob").claim()["unit"]["query"]["id"] != query


def test_a_request_sent_twice_changes_one_label(project):
    ann = Page(project)
    unit = ann.claim()["unit"]
    query, items = unit["query"]["id"], [passage["id"] for passage in unit["passages"]]
    for grade in (1, None, None, 2, 2):
        last = ann.label(query, items[0], grade)["last"]
    assert [event.label.grade for event in project.history()] == [1, None, 2]
    for _ in range(2):
        undone = ann.post("undo", event=last["event"])
        assert undone["unit"]["passages"][0]["label"] == {"grade": None}
    assert [event.action for event in project.history()] == ["label"] * 3 + ["undo"]
    assert ann.post("undo", event=undone["last"]["event"])["undone"] == {"query": query, "item": items[0]}
    assert [(label.grade, label.seconds) for label in project.labels()] == [(1, 1.5)]


def test_undo_returns_to_the_query_of_the_label(project):
    ann = Page(project)
    first = ann.claim()["unit"]
    for passage in first["passages"]:
        last = ann.label(first["query"]["id"], passage["id"], 0)["last"]
    assert ann.claim()["unit"]["query"] != first["query"]
    back = ann.post("undo", event=last["event"])
    assert back["unit"]["query"] == first["query"] == ann.claim()["unit"]["query"]
    assert back["undone"]["item"] == first["passages"][-1]["id"]
    assert back["progress"] == {"labels": 2, "of": 6}
    nobody = Page(project, "Bob")
    assert nobody.post("undo", event=back["last"]["event"])["undone"] is None
    assert len(project.labels()) == 2


def test_passages_that_a_growing_pool_adds_follow_those_before(tmp_path):
    project = judging_project(tmp_path / "judging", items=7, method="mtf")
    ann = Page(project)
    first = ann.claim()
    query, items = first["unit"]["query"]["id"], passages(first)
    assert first["progress"]["of"] == 14
    left = [ann.label(query, item, 0)["left"] for item in items]
    assert left == [4, 3, 2, 1, 2]
    grown = ann.claim()
    assert grown["unit"]["query"]["id"] == query
    assert passages(grown)[:5] == items
    assert [passage["label"] for passage in grown["unit"]["passages"]] == [{"grade": 0}] * 5 + [None] * 2
    assert ann.judge_all()["progress"] == {"labels": 14, "of": 14}


def test_the_end_says_why_and_what_to_do_next(tmp_path):
    project = judging_project(tmp_path / "my project", second=1)
    ann, bob = Page(project), Page(project, "Bob")
    unit = bob.claim()["unit"]
    assert ann.judge_all()["progress"] == {"labels": 6, "of": 9}
    waiting = ann.claim()
    assert (waiting["state"], waiting["unit"]) == ("waiting", None)
    assert bob.claim()["unit"]["query"] == unit["query"]
    bob.judge_all(grade=None)
    claim = bob.claim()
    assert (claim["state"], claim["progress"]) == ("finished", {"labels": 9, "of": 9})
    assert f"goldrank judge leaderboard '{project.folder}'" in [step["command"] for step in claim["next_steps"]]
    nothing = judging_project(tmp_path / "nothing", items=0)
    assert Page(nothing).claim()["state"] == "empty"


def test_after_a_round_the_page_says_how_to_ask_for_the_next(tmp_path):
    project = create(tmp_path, truth(10), plan=Plan("next", 0, ()))
    page = Page(project)
    assert page.claim()["state"] == "empty"
    added = plan_next(project, "ndcg@5", labels=15).added_labels
    assert page.judge_all()["progress"] == {"labels": added, "of": added}
    claim = page.claim()
    assert (claim["state"], claim["next_steps"][0]["command"]) == ("finished", f"goldrank judge next {tmp_path}")


def test_scale_and_guidelines_are_told_and_long_texts_are_cut(project, monkeypatch):
    about = Page(project).client.get("/api/judging").json()
    assert [grade["grade"] for grade in about["scale"]] == [0, 1, 2, 3]
    assert all(grade["definition"] for grade in about["scale"])
    assert about["guidelines"] == list(GUIDELINES)
    monkeypatch.setattr(JudgingProject, "item_text", lambda *_: ("", "x" * (LONGEST_TEXT + 5)))
    (passage, *_) = Page(project).claim()["unit"]["passages"]
    assert (len(passage["text"]), passage["characters"]) == (LONGEST_TEXT, LONGEST_TEXT + 5)


@pytest.mark.parametrize("name", ["", "   ", "x" * 81, "imported:qrels.txt", "a\nb", "a\x00b", "\u202eeve"])
def test_a_name_that_cannot_be_stored_is_refused(project, name):
    assert "name" in Page(project, name).claim(status=400)["error"]


@pytest.mark.parametrize(
    ("changes", "status"),
    [
        *(({"grade": grade}, 400) for grade in (4, -1)),
        *(({"grade": grade}, 422) for grade in (True, 1.5, "2", [1])),
        *(({"seconds": seconds}, 422) for seconds in (-1, 1e9, "soon")),
        ({"item": "notes/9-9.txt"}, 400),
        ({"query": "q9"}, 400),
        ({"item": "x" * 10_001}, 422),
        ({"rank": 1}, 422),
    ],
)
def test_a_label_that_is_not_of_this_project_is_refused(project, changes, status):
    content = {"query": "q0", "item": "notes/0-0.txt", "grade": 1, "seconds": 1, **changes}
    assert Page(project).post("labels", status=status, **content)["error"]
    assert project.history() == []


def test_a_grade_is_never_assumed(project):
    assert Page(project).post("labels", status=422, query="q0", item="notes/0-0.txt")["where"] == "grade"


def test_only_the_named_judge_may_judge_where_one_is_named(project):
    assert Page(project, "aNN", only="Ann").claim()["judge"] == "Ann"
    assert "only Ann" in Page(project, "Bob", only="Ann").claim(status=403)["error"]
    with pytest.raises(InputError, match="judge"):
        Page(project, only="imported:x")


def test_a_storage_that_fails_is_no_refusal_of_the_label(project, monkeypatch):
    def fail(*_arguments):
        raise InputError("another process keeps the judging project busy")

    monkeypatch.setattr(JudgingProject, "add_label", fail)
    assert "busy" in Page(project).label("q0", "notes/0-0.txt", 1, status=503)["error"]


def test_only_pages_of_this_server_may_label(project):
    http_client = judging_client(project)
    content = {"judge": "Ann", "query": "q0", "item": "notes/0-0.txt", "grade": 1}
    for headers, status in (
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"host": "evil.example"}, 421),
        # A form of another site can send these content types without a preflight request.
        ({"content-type": "text/plain"}, 422),
        ({"content-type": "application/x-www-form-urlencoded"}, 422),
    ):
        assert http_client.post("/api/judging/labels", json=content, headers=headers).status_code == status
    assert http_client.post("/api/judging/labels", content=b"x" * (LARGEST_BODY + 1)).status_code == 413
    assert project.history() == []
    own = {"origin": "http://127.0.0.1:8321", "sec-fetch-site": "same-origin"}
    assert http_client.post("/api/judging/labels", json=content, headers=own).status_code == 200


def test_the_judging_page_shows_no_store_and_the_explorer_no_judging(project, tmp_path):
    judging = judging_client(project)
    assert judging.get("/api/runs").status_code == 404
    assert "judge_page.js" in judging.get("/").text
    calls = {"/api/judging", *(f"/api/judging/{name}" for name in ("claim", "labels", "undo"))}
    assert set(judging.get("/api/openapi.json").json()["paths"]) == calls
    assert "/api/judging/undo" in judging.get("/api/docs").text
    explorer = client(Store.open(tmp_path / "store"))
    assert explorer.get("/api/judging").status_code == 404
    assert explorer.post("/api/judging/claim", json={"judge": "Ann"}).status_code == 405
