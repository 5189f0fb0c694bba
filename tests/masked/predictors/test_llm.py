"""Test chat models as predictors with a local server that returns deliberate faults."""

import json
import re

import pytest

from goldrank import masked
from goldrank.errors import GoldrankError, InputError
from goldrank.masked.examples.chunks import Blank, Chunk, Guesses, MaskKey
from goldrank.masked.predictions.predict import predict_all
from goldrank.masked.predictors import load_predictor, remarks_of
from goldrank.masked.predictors.answers import read_answer
from goldrank.runs.masked import load_stored_predictions
from goldrank.store import Store
from http_servers import HttpServer, json_reply


class ChatServer(HttpServer):
    """Chat server that replies with the result of ``say`` for a question."""

    def __init__(self):
        super().__init__(self._complete)
        self.say = lambda question: '["Lise Meitner", "Otto Hahn"]'
        self.url += "/v1"

    def _complete(self, request):
        content = self.say(question_of(request))
        return json_reply({"choices": [{"message": {"role": "assistant", "content": content}}]})

    @property
    def questions(self):
        return [question_of(request) for request in self.requests]


def question_of(request):
    return request.json()["messages"][0]["content"]


@pytest.fixture
def server(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    with ChatServer() as server:
        yield server


def predictor(server, options=""):
    return load_predictor(f"llm:tiny@{server.url}{options and f'({options})'}")


def blank(before="In 1906 ", after=" moved to Berlin.", mask=0):
    return Blank(MaskKey("7", 0, mask), before, after)


def test_the_address_the_model_the_key_and_the_temperature_are_right(server):
    assert predictor(server).predict([blank()], 5) == [Guesses(("Lise Meitner", "Otto Hahn"), (1.0, 0.5))]
    [request] = server.requests
    assert request.path == "/v1/chat/completions"
    assert (request.json()["model"], request.json()["temperature"]) == ("tiny", 0)
    assert request.headers["Authorization"] == "Bearer sk-very-secret"


def test_the_question_shows_the_asked_mask_apart_from_the_others(server):
    predictor(server).predict([blank("When <mask> was young, ", " met <mask>.")], 3)
    [question] = server.questions
    assert "When […] was young, <mask> met […]." in question
    assert "Give your 3 most probable answers" in question


def test_settings_go_to_the_server_and_the_temperature_can_be_left_to_it(server):
    predictor(server, "temperature=0.5,max_tokens=200").predict([blank()], 1)
    predictor(server, "temperature=default").predict([blank()], 1)
    assert server.requests[0].json()["temperature"] == 0.5
    assert server.requests[0].json()["max_tokens"] == 200
    assert "temperature" not in server.requests[1].json()


def test_a_prompt_from_a_file_is_filled_once_whatever_the_text_holds(server, tmp_path):
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{k} names for: {text} {odd} braces", encoding="utf-8")
    predictor(server, f"prompt={prompt}").predict([blank("a {k} and {text} before ", "")], 4)
    assert server.questions == ["4 names for: a {k} and {text} before <mask> {odd} braces"]
    prompt.write_text("name the person")
    with pytest.raises(InputError, match=r"prompt\.txt: the prompt has no placeholder for the text; write \{text\}"):
        predictor(server, f"prompt={prompt}")


def test_answers_stay_with_their_masks_when_many_are_asked_at_once(server):
    server.say = lambda question: json.dumps([question.split("number ")[1].split()[0]])
    blanks = [blank(f"number n{at} is ", "", at) for at in range(20)]
    predictions = predictor(server, "concurrency=6").predict(blanks, 5)
    assert [guesses.names for guesses in predictions] == [(f"n{at}",) for at in range(20)]


@pytest.mark.parametrize("code", [429, 500, 503])
def test_passing_trouble_is_tried_again(server, code):
    server.faults = [json_reply({}, code, **{"Retry-After": "0"})]
    assert predictor(server).predict([blank()], 1)[0].names == ("Lise Meitner",)
    assert len(server.requests) == 2


def test_a_refusal_is_an_error_at_once_and_never_shows_the_key(server):
    llm = predictor(server)
    assert "secret" not in llm.identity + repr(vars(llm))
    server.faults = [json_reply({"error": {"message": "bad key sk-very-secret"}}, 401)]
    with pytest.raises(InputError, match=r"HTTP 401: bad key \*\*\*; check the key in \$OPENAI_API_KEY"):
        llm.predict([blank()], 1)
    assert len(server.requests) == 1


@pytest.mark.parametrize("answer", [{}, {"choices": []}, {"choices": [{"text": "x"}]}, [1]])
def test_what_is_no_chat_answer_is_an_error(server, answer):
    server.faults = [json_reply(answer)]
    with pytest.raises(GoldrankError, match="does not have the form of a chat completion"):
        predictor(server).predict([blank()], 1)


@pytest.mark.parametrize("said", ["I cannot tell who this is.", "", None, "[]", "[1, 2]"])
def test_an_unusable_answer_gives_no_guesses_and_is_counted(server, said):
    server.say = lambda question: said if "zebra" in question else '["Lise Meitner"]'
    llm = predictor(server)
    guesses = predict_all([Chunk("7", 0, "Lise Meitner", "<mask> alone", ("Lise",))], llm)
    assert remarks_of(llm) == ()
    guesses |= predict_all([Chunk("8", 0, "Lise Meitner", "<mask> and the zebra", ("Lise",))], llm)
    assert [prediction.names for prediction in guesses.values()] == [("Lise Meitner",), ()]
    assert remarks_of(llm) == ("1 answers of tiny had no names",)


def test_identity_knows_model_words_and_temperature_but_not_the_manner_of_asking(server, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "sk-mine")
    plain = predictor(server).identity
    assert predictor(server, "concurrency=4,timeout=3,retries=1,key=MY_KEY").identity == plain
    assert predictor(server, "temperature=1").identity != plain
    assert load_predictor(f"llm:other@{server.url}").identity != plain
    original, copy = tmp_path / "one.txt", tmp_path / "copy.txt"
    original.write_text("who? {text}")
    copy.write_text("who? {text}")
    first = predictor(server, f"prompt={original}").identity
    assert predictor(server, f"prompt={copy}").identity == first != plain
    copy.write_text("who on earth? {text}")
    assert predictor(server, f"prompt={copy}").identity != first


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("llm:", "does not name a model and an address"),
        ("llm:tiny@ftp://host", "does not name a model and an address"),
        ("llm:tiny@http://h(key=sk-pasted)", "variable that is not set"),
        ("llm:tiny@http://h(temprature=1)", "did you mean 'temperature'"),
        ("llm:tiny@http://h(temperature=hot)", "not a number"),
        ("llm:tiny@http://h(prompt=/no/such/file)", "/no/such/file"),
    ],
)
def test_a_wrong_spec_is_refused_with_a_remedy(spec, message, monkeypatch):
    monkeypatch.delenv("sk-pasted", raising=False)
    with pytest.raises(InputError, match=message) as caught:
        load_predictor(spec)
    assert "pasted" not in str(caught.value)


LM, OH = "Lise Meitner", "Otto Hahn"
ANSWERS = [
    (f'["{LM}", "{OH}"]', (LM, OH), (1.0, 0.5)),
    (f'Here you are:\n```json\n["{LM}", "{OH}"]\n```\nI hope that [this] helps.', (LM, OH), (1.0, 0.5)),
    (f'[{{"name": "{OH}", "probability": 0.2}}, {{"name": "{LM}", "probability": 0.7}}]', (LM, OH), (0.7, 0.2)),
    (f'[{{"Name": "{LM}", "Score": "70%"}}, {{"Name": "{OH}", "Score": "20%"}}]', (LM, OH), (0.7, 0.2)),
    (f'[{{"name": "{LM}", "confidence": 70}}, {{"name": "{OH}", "confidence": 20}}]', (LM, OH), (0.7, 0.2)),
    (f'[{{"name": "{LM}", "probability": 0.7}}, {{"name": "{OH}"}}]', (LM, OH), (1.0, 0.5)),
    (f'[{{"name": "{LM}", "probability": NaN}}, {{"name": "{OH}", "probability": 0.1}}]', (LM, OH), (1.0, 0.5)),
    (f'[["{LM}", 0.7], ["{OH}", 0.2]]', (LM, OH), (0.7, 0.2)),
    (f'{{"guesses": ["{LM}", "{OH}"]}}', (LM, OH), (1.0, 0.5)),
    (f'{{"name": "{LM}", "probability": 0.7}}', (LM,), (0.7,)),
    (f'<think>["Niels Bohr"] or not?</think>["{LM}"]', (LM,), (1.0,)),
    (f'The text [1] says it: ["{LM}", "{LM}", "{OH}"]', (LM, OH), (1.0, 0.5)),
    (f"1. {LM}\n2. {OH}", (LM, OH), (1.0, 0.5)),
    (f"The names:\n 1) **{LM}** – a physicist, 0.5 of it\n 2) {OH} (chemist)", (LM, OH), (1.0, 0.5)),
    (f"- {LM}: 70%\n- {OH}: 20%", (LM, OH), (0.7, 0.2)),
    (f'* "{LM}"\n* `{OH}`.', (LM, OH), (1.0, 0.5)),
    ("1. Jean-Luc Picard\n2. Martin Luther King, Jr.", ("Jean-Luc Picard", "Martin Luther King, Jr"), (1.0, 0.5)),
    (f'["{LM}", "{OH}"', (), ()),
    ("Lise Meitner was a physicist - a great one.", (), ()),
    ("<think>without end", (), ()),
    ("[" * 100_000, (), ()),
]


@pytest.mark.parametrize(("answer", "names", "scores"), ANSWERS)
def test_names_are_read_out_of_what_models_say(answer, names, scores):
    guesses = read_answer(answer, 5)
    assert guesses.names == names
    assert guesses.scores == pytest.approx(scores)


def test_an_answer_of_many_names_is_cut_at_k():
    assert read_answer(json.dumps([f"name {letter}" for letter in "abcdefg"]), 3).names == (
        "name a",
        "name b",
        "name c",
    )


def test_stored_guesses_carry_the_model_in_their_key_and_never_the_address_or_its_secrets(server, tmp_path, capsys):
    from goldrank.cli.main import main

    models = ("gpt-4o-mini", "org-one/Llama-3.1-8B-Instruct", "org-two/Llama-3.1-8B-Instruct")
    specs = [f"llm:{model}@{server.url}?api_key=sk-hidden" for model in models]
    assert main(["masked", "predict", "persons", "--limit", "1", "-m", *specs, "--store", str(tmp_path)]) == 0
    keys = capsys.readouterr().out.split()
    assert [re.sub(r"-[0-9a-f]{4}-\d{8}t\d{4}z$", "", key) for key in keys] == [
        "masked-persons-llm-gpt-4o-mini",
        "masked-persons-llm-org-one-llama-3-1-8b-instruct",
        "masked-persons-llm-org-two-llama-3-1-8b-instruct",
    ]


def test_a_server_that_changed_is_asked_again_and_both_answers_stay(server, tmp_path):
    spec = f"llm:tiny@{server.url}"
    [before] = masked.predict("persons", spec, tmp_path, limit=1)
    server.say = lambda question: '["Marie Curie"]'
    request_count = len(server.requests)
    [reused] = masked.predict("persons", spec, tmp_path, limit=1, reuse=True)
    assert (reused.stored.key, reused.fresh, len(server.requests)) == (before.stored.key, False, request_count)
    [after] = masked.predict("persons", spec, tmp_path, limit=1)
    assert after.fresh
    first, second = (load_stored_predictions(outcome.stored)["guesses"].to_pylist() for outcome in (before, after))
    assert first != second
    assert {run.key for run in Store.open(tmp_path).list()} == {before.stored.key, after.stored.key}
    with pytest.raises(InputError, match="reuse has no effect, because no predictor is live"):
        masked.predict("persons", "names:majority", tmp_path, limit=1, reuse=True)
