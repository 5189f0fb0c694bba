"""A small judging project and a chat server for the tests of model judges."""

from goldrank.hits import Run
from goldrank.judging.labels import GradeScale
from goldrank.judging.plans import plan_queries
from goldrank.judging.pools import build_pool
from goldrank.judging.project import JudgingProject
from http_servers import HttpServer, json_reply

QUERIES, ITEMS = 6, 4


def new_project(folder, *, texts=None, scale=None):
    """Return a project of 6 queries with 4 items each; item n of a query is its n-th, with n as its true grade."""
    ranks = {f"q{q}": {f"d{q}-{n}": float(10 - n) for n in range(ITEMS)} for q in range(QUERIES)}
    reversed_ranks = {
        q: {item: 20 - score for item, score in row.items() if item[-1] != "0"} for q, row in ranks.items()
    }
    rankings = {"up": Run(ranks), "down": Run(reversed_ranks)}
    pool = build_pool(rankings, ranks, depth=ITEMS)
    items = [item for row in ranks.values() for item in row]
    return JudgingProject.create(
        folder,
        pool=pool,
        plan=plan_queries(pool),
        queries={query: f"query number {query}" for query in ranks},
        texts={item: f"query passage {item} is of grade {min(3, int(item[-1]))}" for item in items} | (texts or {}),
        titles={},
        rankings=rankings,
        scale=scale or GradeScale(),
        provenance={"fields": {}},
    )


def true_grade(item):
    return min(3, int(item[-1]))


def label_all(project, *, judge="ann", queries=QUERIES, grade=true_grade):
    for number in range(queries):
        for n in range(ITEMS):
            project.add_label(f"q{number}", f"d{number}-{n}", grade(f"d{number}-{n}"), judge, 1.0)


class ChatServer(HttpServer):
    """A server that answers a prompt with the result of ``say``, and states tokens unless ``usage`` is None."""

    def __init__(self):
        super().__init__(self._complete)
        self.say = lambda prompt: f"##final grade: {prompt.split('is of grade ')[1][0]}"
        self.usage = {"prompt_tokens": 100, "completion_tokens": 10}
        self.url += "/v1"

    def _complete(self, request):
        content = self.say(prompt_of(request))
        if not isinstance(content, str):
            return content
        usage = {} if self.usage is None else {"usage": self.usage}
        return json_reply({"choices": [{"message": {"role": "assistant", "content": content}}], **usage})

    @property
    def prompts(self):
        return [prompt_of(request) for request in self.requests]


def prompt_of(request):
    return request.json()["messages"][0]["content"]
