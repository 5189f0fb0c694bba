"""Let a model judge grade the pool of a project: resumable, within limits of rate and cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from goldrank.encoders.base import PairScorer
from goldrank.errors import GoldrankError, InputError, counts
from goldrank.io.files import PathLike
from goldrank.judging.chat_requests import Expense, Limits
from goldrank.judging.judges import Judge, Question, Verdict, load_judge, remarks_of
from goldrank.judging.judges.chat import ChatJudge
from goldrank.judging.judges.pair_scores import PairScoreJudge
from goldrank.judging.labels import GradeScale, ModelGrade, combine, timestamp
from goldrank.judging.project import JudgingProject
from goldrank.presentation import Result
from goldrank.progress import Progress


@dataclass(frozen=True, repr=False)
class Grading(Result):
    """The grades of a model judge and their cost; for a dry run, the expected cost."""

    judge: str
    scale: GradeScale
    pairs: int
    """The pairs of query and item in the pool."""
    before: int
    """The pairs that were graded before."""
    graded: int
    """The pairs that were graded now."""
    ungraded: int
    """The pairs of the pool without an answer."""
    unparsed: int
    """The pairs whose answer is not a grade, of all."""
    grades: tuple[int, ...]
    """How many pairs have each grade, from 0 up."""
    expense: Expense = Expense()  # noqa: RUF009 - frozen
    """What the requests took; of a dry run, what they would take."""
    dry_run: bool = False
    stopped: str = ""
    """Why the grading ended early; empty if it did not."""
    remarks: tuple[str, ...] = ()


def grade(
    folder: PathLike | JudgingProject,
    judge: str | Judge | PairScorer | Callable[..., Any],
    *,
    limits: Limits | None = None,
    dry_run: bool = False,
) -> Grading:
    """Let a model judge grade every pair of the pool that it has not graded yet.

    Each answer is stored as it comes, so that a grading that was interrupted continues where it was. Answers of chat
    models are cached by prompt, model and settings as well: no request is made twice.

    Args:
        folder: The folder of the project.
        judge: The spec of a judge, a function of (query, passage), or a file of grades.
        limits: Of requests, tokens and cost, for chat models.
        dry_run: Only estimate requests, tokens and cost.

    Raises:
        InputError: A setting is wrong, or thresholds cannot be fitted for want of labels.
        GoldrankError: The server gives no answer; what was graded until then is kept.

    >>> import tempfile
    >>> from goldrank.judging import start
    >>> project = start("questions", None, ["bm25", "random:8"], depth=2, limit=10, folder=tempfile.mkdtemp())
    >>> result = grade(project, "overlap(thresholds=0.05/0.1/0.2)")
    >>> result.graded == result.pairs, result.unparsed
    (True, 0)
    """
    project = folder if isinstance(folder, JudgingProject) else JudgingProject.open(folder)
    loaded = load_judge(judge, project.scale)
    if limits is not None:
        if not isinstance(loaded, ChatJudge):
            raise InputError(
                f"limits of requests and cost have no effect on {loaded.name}",
                remedy="they are for openai:MODEL@URL; leave them out",
            )
        loaded.requests.limit(limits)
    human = combine(project.labels("human", "imported"))
    if isinstance(loaded, PairScoreJudge) and loaded.fits and not human and not dry_run:
        raise InputError(
            f"the thresholds of {loaded.name} are fitted on human labels, and there are none",
            where=str(project.folder),
            remedy="judge some queries first (goldrank judge serve), or give thresholds=0.1/0.4/0.7",
        )
    known = {entry.pair for entry in project.model_grades(loaded.name)} if getattr(loaded, "resumes", True) else set()
    questions = list(_questions(project, known))
    if dry_run:
        return _estimate(project, loaded, questions, len(known))
    added: list[Verdict] = []
    try:
        with Progress(f"grading with {loaded.name}", total=len(questions), unit="pair") as progress:
            for verdicts in loaded.grade(questions):
                if verdicts:
                    project.add_model_grades(_as_grades(verdicts, loaded.name))
                added += verdicts
                progress.advance(len(verdicts))
    except GoldrankError as error:
        if not added:
            raise
        what = f"{error}; {counts(len(added), 'grade')} of this run are kept, and the same command continues"
        raise type(error)(what) if type(error) in (GoldrankError, InputError) else GoldrankError(what) from error
    if isinstance(loaded, PairScoreJudge) and loaded.fits:
        _fit(project, loaded, human)
    return _summary(project, loaded, len(known), len(added))


def first_question(project: JudgingProject) -> Question:
    """Return the first pair of the pool as a question."""
    return next(_questions(project, set()))


def _questions(project: JudgingProject, known: set[tuple[str, str]]) -> Iterator[Question]:
    for query, pooled in project.pool.items.items():
        for entry in pooled:
            if (query, entry.item) not in known:
                yield Question(query, entry.item, project.query_text(query), *project.item_text(entry.item))


def _as_grades(verdicts: list[Verdict], judge: str) -> list[ModelGrade]:
    now = timestamp()
    return [
        ModelGrade(
            verdict.question.query,
            verdict.question.item,
            verdict.grade,
            judge,
            verdict.answer,
            now,
            verdict.prompt_tokens,
            verdict.completion_tokens,
        )
        for verdict in verdicts
    ]


def _fit(project: JudgingProject, judge: PairScoreJudge, human: dict[tuple[str, str], int]) -> None:
    """Cut all scores into grades with the labels there are now, and store the grades that differ."""
    stored = project.model_grades(judge.name)
    fitted = judge.fit_grades({entry.pair: float(entry.answer) for entry in stored}, human)
    now = timestamp()
    project.add_model_grades(
        ModelGrade(entry.query, entry.item, fitted[entry.pair], entry.judge, entry.answer, now)
        for entry in stored
        if fitted[entry.pair] != entry.grade
    )


def _estimate(project: JudgingProject, judge: Judge, questions: list[Question], before: int) -> Grading:
    return Grading(
        judge.name,
        project.scale,
        pairs=len(project.pool),
        before=before,
        graded=0,
        ungraded=len(questions),
        unparsed=0,
        grades=(0,) * len(project.scale.names),
        expense=judge.estimate(questions) if isinstance(judge, ChatJudge) else Expense(),
        dry_run=True,
    )


def _summary(project: JudgingProject, judge: Judge, before: int, graded: int) -> Grading:
    stored = project.model_grades(judge.name)
    requests = judge.requests if isinstance(judge, ChatJudge) else None
    return Grading(
        judge.name,
        project.scale,
        pairs=len(project.pool),
        before=before,
        graded=graded,
        ungraded=len(project.pool) - len(stored),
        unparsed=sum(entry.grade is None for entry in stored),
        grades=tuple(sum(entry.grade == grade for entry in stored) for grade in range(len(project.scale.names))),
        expense=requests.expense if requests else Expense(),
        stopped="the highest cost is reached" if requests and requests.stopped else "",
        remarks=remarks_of(judge),
    )
