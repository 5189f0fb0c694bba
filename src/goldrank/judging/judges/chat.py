"""Chat models as judges, on any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from goldrank.encoders.base import identity_of, parse_positive, take_options
from goldrank.encoders.chat import CHAT_OPTIONS
from goldrank.encoders.http_client import RefusedError
from goldrank.encoders.provenance import texts_stamp
from goldrank.errors import counts
from goldrank.judging.chat_requests import ChatRequests, Expense
from goldrank.judging.judges.base import Question, Verdict
from goldrank.judging.judges.prompt import PROMPT, fill_prompt, looks_like_answer, parse_grade, read_prompt
from goldrank.judging.labels import GradeScale
from goldrank.specs import Spec

_ANSWER_TOKENS = 16


class ChatJudge:
    """``openai:MODEL@URL``, with the key from $OPENAI_API_KEY, or from the variable that ``key=NAME`` names.

    ``prompt=FILE`` replaces the prompt, ``max_characters`` cuts passages. ``temperature`` is 0 (``default`` omits it
    from requests), ``concurrency`` is the number of parallel requests.
    """

    def __init__(self, spec: Spec, scale: GradeScale) -> None:
        own = take_options(spec, "prompt", "max_characters", *CHAT_OPTIONS)
        self._spec, self._scale = spec, scale
        self._prompt = read_prompt(own["prompt"]) if "prompt" in own else PROMPT
        self._max = parse_positive("max_characters", own["max_characters"]) if "max_characters" in own else None
        self.requests = ChatRequests(spec, own, _ANSWER_TOKENS)
        self._suspicious = self._cut = self._refused = 0

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
        remarks = {
            f"Text that looks like a grade or an instruction to the judge: in {counts(self._suspicious, 'pair')}. Look "
            "at their grades.": self._suspicious,
            f"Cut at {self._max} characters: {counts(self._cut, 'passage')}.": self._cut,
            f"Refused by the server, and without a grade: {counts(self._refused, 'pair')}.": self._refused,
        }
        return (*(text for text, number in remarks.items() if number), *self.requests.remarks)

    def estimate(self, questions: Sequence[Question]) -> Expense:
        """Return about what it would take to grade these."""
        return self.requests.estimate(list(self._by_prompt(questions)))

    def grade(self, questions: Sequence[Question]) -> Iterator[list[Verdict]]:
        """Yield the verdicts of each answer as it comes; questions with the same texts are asked once."""
        self._suspicious = sum(map(looks_like_answer, questions))
        self._cut = sum(self._max is not None and len(question.passage) > self._max for question in questions)
        by_prompt = self._by_prompt(questions)
        for answers in self.requests.ask(list(by_prompt)):
            verdicts: list[Verdict] = []
            for prompt, answer in answers:
                if isinstance(answer, RefusedError):
                    self._refused += len(by_prompt[prompt])
                    verdicts += [Verdict(question, None, str(answer)) for question in by_prompt[prompt]]
                else:
                    grade = parse_grade(answer.text, self._scale)
                    tokens = answer.prompt_tokens, answer.completion_tokens
                    verdicts += [Verdict(question, grade, answer.text, *tokens) for question in by_prompt[prompt]]
            yield verdicts

    def _by_prompt(self, questions: Sequence[Question]) -> dict[str, list[Question]]:
        by_prompt: dict[str, list[Question]] = {}
        for question in questions:
            prompt = fill_prompt(self._prompt, question, self._scale, self._max)
            by_prompt.setdefault(prompt, []).append(question)
        return by_prompt
