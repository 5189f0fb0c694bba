"""Chat models as judges, on any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from goldrank.encoders.base import identity_of, parse_positive, take_options
from goldrank.encoders.chat import CHAT_OPTIONS, ChatAnswer, ChatEndpoint
from goldrank.encoders.http_client import RefusedError
from goldrank.encoders.provenance import texts_stamp
from goldrank.errors import GoldrankError, counts
from goldrank.judging.judges.answer_cache import AnswerCache
from goldrank.judging.judges.base import Question, Verdict
from goldrank.judging.judges.limits import Budget, RateLimit
from goldrank.judging.judges.prompt import (
    PROMPT,
    estimate_tokens,
    fill_prompt,
    looks_like_answer,
    parse_grade,
    read_prompt,
)
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec

_ANSWER_TOKENS = 16
"""What an answer is expected to have, unless ``max_tokens`` says otherwise."""
_REFUSALS = (400, 413, 422)
"""HTTP statuses by which a server refuses one text: too long, or filtered."""
_HOPELESS = 3
"""After so many refusals and no answer, it is not the texts that are wrong."""


class ChatJudge:
    """``openai:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    ``prompt=FILE`` replaces the prompt, ``max_characters`` cuts passages. ``temperature`` is 0 (``default`` omits it
    from requests), ``concurrency`` is the number of parallel requests.
    """

    def __init__(self, spec: Spec, scale: GradeScale) -> None:
        own = take_options(spec, "prompt", "max_characters", *CHAT_OPTIONS)
        self._spec, self._scale = spec, scale
        self._endpoint = ChatEndpoint(spec, own)
        self._prompt = read_prompt(own["prompt"]) if "prompt" in own else PROMPT
        self._max = parse_positive("max_characters", own["max_characters"]) if "max_characters" in own else None
        self._cache = AnswerCache(self._endpoint.url, self._endpoint.model, self._endpoint.settings)
        self.rate_limit = RateLimit()
        self.budget = Budget()
        self.requests = 0
        """Answers that the server gave."""
        self.prompt_tokens = self.completion_tokens = 0
        """Of these answers, as the server counted them, or as they are estimated."""
        self.uncounted = 0
        """Answers for which the server stated no tokens, so that they are estimated."""
        self._refusals: list[tuple[RefusedError, list[Question]]] = []
        self.stopped = False
        """Whether the budget was used up before the end."""
        self._suspicious = self._cut = 0

    @property
    def name(self) -> str:
        """The spec without what changes no answer, and with a digest of the content of a prompt of one's own."""
        options = {name: value for name, value in self._spec.options.items() if name != "prompt"}
        if self._prompt != PROMPT:
            options["prompt"] = texts_stamp([self._prompt])
        return identity_of(Spec(self._spec.kind, self._spec.argument, options), "").strip()

    @property
    def remarks(self) -> tuple[str, ...]:
        """What was unusual about the texts and the answers."""
        refused = sum(len(questions) for _, questions in self._refusals)
        texts = {
            f"{counts(self._suspicious, 'passage')} contained text that looks like a grade or an instruction to the "
            "judge; look at their grades.": self._suspicious,
            f"{counts(self._cut, 'passage')} were cut at {self._max} characters.": self._cut,
            f"{counts(refused, 'passage')} were refused by the server, and have no grade.": refused,
            f"The server stated no tokens for {counts(self.uncounted, 'answer')}; they are estimated.": self.uncounted,
        }
        return tuple(text for text, number in texts.items() if number)

    def estimate(self, questions: Sequence[Question]) -> tuple[int, int, int]:
        """Return how many requests there would be, and about how many tokens of prompts and of answers."""
        prompts = [prompt for prompt in self._by_prompt(questions) if self._cache.get(prompt) is None]
        return len(prompts), sum(map(estimate_tokens, prompts)), len(prompts) * self._answer_tokens

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield the verdicts of each answer as it comes; answers to equal prompts are asked for once."""
        self._suspicious = sum(map(looks_like_answer, questions))
        self._cut = sum(self._max is not None and len(question.passage) > self._max for question in questions)
        asked = self._by_prompt(questions)
        waiting = []
        for prompt in asked:
            if (known := self._cache.get(prompt)) is not None:
                yield self._verdicts(asked[prompt], known)
            else:
                waiting.append(prompt)
        yield from self._ask_all(waiting, asked)

    def _by_prompt(self, questions: Sequence[Question]) -> dict[str, list[Question]]:
        by_prompt: dict[str, list[Question]] = {}
        for question in questions:
            prompt = fill_prompt(self._prompt, question, self._scale, self._max)
            by_prompt.setdefault(prompt, []).append(question)
        return by_prompt

    def _ask_all(self, prompts: list[str], asked: dict[str, list[Question]]) -> Iterator[list[Verdict]]:
        failure: GoldrankError | None = None
        rest = iter(prompts)
        running: dict[Future[ChatAnswer], tuple[str, float]] = {}
        with ThreadPoolExecutor(self._endpoint.concurrency) as pool:
            while True:
                while failure is None and not self.stopped and len(running) < self._endpoint.concurrency:
                    if (prompt := next(rest, None)) is None:
                        break
                    reserved = self.budget.reserve(estimate_tokens(prompt), self._answer_tokens)
                    if reserved is None:
                        self.stopped = True
                    else:
                        running[pool.submit(self._ask, prompt)] = prompt, reserved
                if not running:
                    break
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    prompt, reserved = running.pop(future)
                    try:
                        answer = future.result()
                    except GoldrankError as error:
                        self.budget.settle(reserved, 0, 0)
                        # What runs is still waited for, so that no answer that was paid for is lost.
                        failure = failure or self._failure(error, asked[prompt])
                    else:
                        self._count(prompt, answer, reserved)
                        yield self._verdicts(asked[prompt], answer)
        if self._refusals and self.requests:
            yield [Verdict(question, None, str(error)) for error, questions in self._refusals for question in questions]
        elif self._refusals:
            failure = failure or self._refusals[0][0]
        if failure is not None:
            raise failure

    def _failure(self, error: GoldrankError, questions: list[Question]) -> GoldrankError | None:
        """Return the error that ends the grading; None if the server refused these texts only."""
        if not isinstance(error, RefusedError) or error.status not in _REFUSALS:
            return error
        self._refusals.append((error, questions))
        return error if not self.requests and len(self._refusals) >= _HOPELESS else None

    def _ask(self, prompt: str) -> ChatAnswer:
        tokens = estimate_tokens(prompt) + self._answer_tokens
        answer = self._endpoint.ask(prompt, before_attempt=lambda: self.rate_limit.wait(tokens))
        self._cache.put(prompt, answer)
        return answer

    def _count(self, prompt: str, answer: ChatAnswer, reserved: float) -> None:
        self.requests += 1
        self.uncounted += answer.prompt_tokens is None or answer.completion_tokens is None
        prompt_tokens, completion_tokens = _tokens_of(prompt, answer)
        self.prompt_tokens += prompt_tokens
        self.completion_tokens += completion_tokens
        self.budget.settle(reserved, prompt_tokens, completion_tokens)

    def _verdicts(self, questions: Sequence[Question], answer: ChatAnswer) -> list[Verdict]:
        grade = parse_grade(answer.text, self._scale)
        return [
            Verdict(question, grade, answer.text, answer.prompt_tokens, answer.completion_tokens)
            for question in questions
        ]

    @property
    def _answer_tokens(self) -> int:
        limit = self._endpoint.settings.get("max_tokens")
        return limit if isinstance(limit, int) else _ANSWER_TOKENS


def _tokens_of(prompt: str, answer: ChatAnswer) -> tuple[int, int]:
    """Return the tokens of a prompt and its answer as the server counted them, or as they are estimated."""
    stated = answer.prompt_tokens, answer.completion_tokens
    return (
        estimate_tokens(prompt) if stated[0] is None else stated[0],
        estimate_tokens(answer.text) if stated[1] is None else stated[1],
    )
