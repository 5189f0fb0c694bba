"""Judging: the unit that a judge judges now, its passages in random order, labels, and taking them back.

No response tells which systems found a passage, at which ranks, or how others judged it.
"""

from __future__ import annotations

import hashlib
import json
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from goldrank.errors import GoldrankError, InputError, shorten
from goldrank.judging.guidelines import GUIDELINES, definitions
from goldrank.judging.labels import Label, check_judge
from goldrank.judging.plans import Plan, Unit
from goldrank.judging.pools import Pool
from goldrank.judging.progress import command
from goldrank.judging.project import JudgingProject, LabelEvent
from goldrank.web.responses import ERRORS, Json, NotAllowedError

routes = APIRouter(prefix="/judging", tags=["judging"], responses=ERRORS)
LONGEST_TEXT = 50_000
"""Characters of a passage that are sent; the page says how many a longer one has."""
_LONGEST_ID = 10_000
_A_DAY = 86_400.0
_STEPS = {
    "finished": (
        ("leaderboard", "shows which system is best, with intervals"),
        ("next", "plans further labels if the leading systems cannot be told apart yet"),
        ("agreement", "shows how far the judges agree"),
        ("export -o qrels.txt", "writes the labels as relevance judgements (qrels)"),
    ),
    "waiting": (("status", "shows who has judged how much and what is left"),),
    "empty": (("status", "shows what the project holds"),),
    "round": (
        ("next", "shows whether the best system is decided, and asks for more labels if it is not"),
        ("export -o qrels.txt", "writes the labels as relevance judgements (qrels)"),
    ),
}

Given = Mapping[str, Sequence[LabelEvent]]
"""The labels of each judge that were not taken back, in order."""


class JudgingServer:
    """The state that all routes share."""

    def __init__(self, project: JudgingProject, judge: str | None = None) -> None:
        """Serve a project to any judge, or to one."""
        self.project, self.judge = project, judge
        self.lock = threading.Lock()
        """Held while a request is answered: changes depend on what is stored."""
        self._given: dict[str, list[LabelEvent]] = {}
        self._last_event = 0

    def labels_given(self) -> Given:
        """Return the labels as they are now; reads only those that are new since the last call."""
        for event in self.project.history(after=self._last_event):
            self._last_event = event.number
            if event.label.source != "human":
                continue
            events = self._given.setdefault(event.label.judge, [])
            if event.action == "label":
                events.append(event)
            else:
                # What is taken back is always the judge's last label.
                events.pop()
        return self._given


def _server(request: Request) -> JudgingServer:
    server: JudgingServer = request.app.state.server
    return server


Judging = Annotated[JudgingServer, Depends(_server)]
Id = Annotated[str, Field(max_length=_LONGEST_ID)]


class ClaimRequest(BaseModel):
    """Asks for the unit to judge."""

    model_config = ConfigDict(extra="forbid")
    judge: Annotated[str, Field(max_length=200, description="The name of the judge.")]


class LabelRequest(ClaimRequest):
    """A label of a passage."""

    query: Id
    item: Id
    grade: Annotated[int | None, Field(strict=True, description="A grade of the scale; null if it cannot be judged.")]
    seconds: Annotated[float | None, Field(ge=0, le=_A_DAY, description="The time that the judge took.")] = None


class UndoRequest(ClaimRequest):
    """Names the label to take back, so that a request sent twice takes back one label."""

    event: Annotated[int | None, Field(description="The `event` of `last` in the latest response.")]


@routes.get("", summary="The scale, the guidelines and the progress")
def describe(server: Judging) -> Json:
    """The guidelines for all passages, the judges so far, and the number of labels."""
    project = server.project
    scale = zip(project.scale.names, definitions(project.scale), strict=True)
    with server.lock:
        given = server.labels_given()
        return Json(
            {
                "id": project.identity,
                "scale": [
                    {"grade": grade, "name": name, "definition": text} for grade, (name, text) in enumerate(scale)
                ],
                "guidelines": GUIDELINES,
                "judge": server.judge,
                "judges": sorted(judge for judge, labels in given.items() if labels),
                "progress": _progress(project.plan, project.pool, given),
            }
        )


@routes.post("/claim", summary="The unit to judge now")
def claim(server: Judging, body: ClaimRequest) -> Json:
    """The unit that the judge has begun, else the next one, which nobody else gets meanwhile."""
    project = server.project
    with server.lock:
        judge = _judge(server, body.judge, server.labels_given())
        return Json(_state(server, judge, project.claim(judge)))


@routes.post("/labels", summary="Store a label")
def label(server: Judging, body: LabelRequest) -> Json:
    """Store a label. It is never lost once this is answered, and stored once if it is sent twice.

    `left` is the number of passages of the query that are yet to be judged; some pools grow with the labels.
    """
    project = server.project
    grade = project.scale.check(body.grade, "grade")
    if (body.query, body.item) not in project.pairs:
        raise InputError(
            f"{shorten(body.item)} is not in the pool of query {shorten(body.query)}",
            remedy="load the page again: it may be that of another project",
        )
    with server.lock:
        given = server.labels_given()
        judge = _judge(server, body.judge, given)
        current = _current(given.get(judge, ())).get((body.query, body.item))
        if current is None or current.grade != grade:
            try:
                project.add_label(body.query, body.item, grade, judge, body.seconds)
            except InputError as fault:
                # The request is right, so the storage has failed; the page sends the label again.
                raise GoldrankError(str(fault)) from fault
            given = server.labels_given()
        plan = project.plan
        unit = _unit_of(plan, (body.query, body.item))
        left = 0 if unit is None else len(project.remaining(unit, judge))
        return Json({"last": _last(given, judge), "left": left, "progress": _progress(plan, project.pool, given)})


@routes.post("/undo", summary="Take back the last label")
def undo(server: Judging, body: UndoRequest) -> Json:
    """Take back the judge's last label if it is the one that is named, and return to its unit."""
    project = server.project
    with server.lock:
        given = server.labels_given()
        judge = _judge(server, body.judge, given)
        last = _last(given, judge)
        if last is None or last["event"] != body.event:
            return Json({**_state(server, judge, project.claim(judge)), "undone": None})
        undone = project.undo(judge)
        assert undone is not None
        unit = _unit_of(project.plan, undone.pair) or project.claim(judge)
        state = _state(server, judge, unit, undone.item)
    return Json({**state, "undone": {"query": undone.query, "item": undone.item}})


def _judge(server: JudgingServer, name: str, given: Given) -> str:
    """Return the name as it was written the first time: who types it in other case is the same judge."""
    name = " ".join(check_judge(name).split())
    if server.judge is not None and name.casefold() != server.judge.casefold():
        raise NotAllowedError(
            f"only {server.judge} may judge here", where="judge", remedy="restart goldrank judge serve without --judge"
        )
    return next((judge for judge in given if judge.casefold() == name.casefold()), server.judge or name)


def _current(events: Iterable[LabelEvent]) -> dict[tuple[str, str], Label]:
    return {event.label.pair: event.label for event in events}


def _last(given: Given, judge: str) -> dict[str, Any] | None:
    events = given.get(judge)
    if not events:
        return None
    return {"event": events[-1].number, "query": events[-1].label.query, "item": events[-1].label.item}


def _unit_of(plan: Plan, pair: tuple[str, str]) -> Unit | None:
    return next((unit for unit in plan.units if unit.query == pair[0] and pair[1] in unit.items), None)


def _progress(plan: Plan, pool: Pool, given: Given) -> dict[str, int]:
    """Return how many of the planned labels there are; labels of more judges than planned do not count."""
    judges = Counter(pair for events in given.values() for pair in _current(events))
    labels = sum(min(judges[unit.query, item], unit.judges) for unit in plan.units for item in unit.items)
    return {"labels": labels, "of": plan.labels(pool)}


def _state(server: JudgingServer, judge: str, unit: Unit | None, undone: str | None = None) -> dict[str, Any]:
    """Return what the page shows: the unit, or why there is none and what to do next."""
    project, given = server.project, server.labels_given()
    plan = project.plan
    progress = _progress(plan, project.pool, given)
    state = {"judge": judge, "last": _last(given, judge), "progress": progress}
    if unit is not None:
        own = _current(given.get(judge, ()))
        return {**state, "state": "judging", "unit": _unit(project, judge, unit, len(plan.units), own, undone)}
    reason = "empty" if not progress["of"] else "finished" if progress["labels"] == progress["of"] else "waiting"
    situation = "round" if reason == "finished" and plan.design == "next" else reason
    steps = [
        {"command": command(action, str(project.folder), *arguments), "does": does}
        for (action, *arguments), does in ((line.split(), does) for line, does in _STEPS[situation])
    ]
    return {**state, "state": reason, "unit": None, "next_steps": steps}


def _unit(
    project: JudgingProject,
    judge: str,
    unit: Unit,
    count: int,
    own: Mapping[tuple[str, str], Label],
    undone: str | None,
) -> dict[str, Any]:
    """Return a unit with the passages that are this judge's: those he has judged and those he has yet to judge."""
    mine = {undone, *project.remaining(unit, judge), *(item for query, item in own if query == unit.query)}
    shown = [item for item in unit.items if item in mine]
    if not unit.grows:
        # Passages that are added to a unit follow those before, which are random as well.
        shown.sort(key=lambda item: _shuffle(project.identity, judge, unit, item))
    return {
        "number": unit.position + 1,
        "of": count,
        "query": {"id": unit.query, "text": project.query_text(unit.query)},
        "passages": [_passage(project, item, own.get((unit.query, item))) for item in shown],
    }


def _shuffle(identity: str, judge: str, unit: Unit, item: str) -> bytes:
    """Return a sort key that makes an order of its own for each judge and unit, and depends on nothing else."""
    content = json.dumps([identity, judge, unit.position, unit.query, item])
    return hashlib.blake2b(content.encode(), digest_size=16).digest()


def _passage(project: JudgingProject, item: str, label: Label | None) -> dict[str, Any]:
    title, text = project.item_text(item)
    return {
        "id": item,
        "title": title,
        "text": text[:LONGEST_TEXT],
        "characters": len(text),
        "label": None if label is None else {"grade": label.grade},
    }
