"""Test person detection by token classification with a tiny transformers model that knows four words."""

import json

import pytest

from goldrank.cli.main import main
from goldrank.errors import InputError
from goldrank.masked.examples.ner import ner_finder

pytestmark = pytest.mark.heavy

LABELS = {0: "O", 1: "B-PER", 2: "I-PER", 3: "B-LOC"}
LABEL_OF = {"lise": 1, "meit": 2, "##ner": 1, "hahn": 1, "berlin": 3}
LONGEST = 16


@pytest.fixture(scope="module")
def tagger(tmp_path_factory):
    """Build a model without layers, in which the vocabulary index of a token decides its label."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *LABEL_OF, "met", "in", "and", ".", "'", "s"]
    ids = {word: place for place, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", ids["[SEP]"]), ("[CLS]", ids["[CLS]"]))
    size = len(words)
    network = transformers.BertForTokenClassification(
        transformers.BertConfig(
            vocab_size=size,
            hidden_size=size,
            num_hidden_layers=0,
            num_attention_heads=1,
            intermediate_size=4,
            max_position_embeddings=LONGEST,
            id2label=LABELS,
            label2id={label: place for place, label in LABELS.items()},
        )
    )
    embeddings = network.bert.embeddings
    with torch.no_grad():
        embeddings.word_embeddings.weight.copy_(torch.eye(size))
        embeddings.position_embeddings.weight.zero_()
        embeddings.token_type_embeddings.weight.zero_()
        network.classifier.weight.zero_()
        network.classifier.bias.zero_()
        for word, place in ids.items():
            network.classifier.weight[LABEL_OF.get(word, 0), place] = 10
    folder = tmp_path_factory.mktemp("tagger")
    network.save_pretrained(folder)
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]", pad_token="[PAD]"
    )
    fast.save_pretrained(folder)
    return folder


def mentions(find, text, title):
    return [text[start:end] for start, end in find(text, title, ())]


def test_the_person_is_found_and_others_are_left(tagger):
    find = ner_finder(f"hf:{tagger}")
    assert mentions(find, "Lise met Hahn in Berlin.", "Lise Meitner") == ["Lise"]
    assert mentions(find, "Lise met Hahn in Berlin.", "Otto Hahn") == ["Hahn"]


def test_a_name_whose_pieces_have_labels_of_their_own_is_cut_as_in_the_sample(tagger):
    text = "Lise Meitner met Hahn."
    assert mentions(ner_finder(f"hf:{tagger}", "parts"), text, "Lise Meit ner") == ["Lise Meit", "ner"]


def test_mentions_behind_the_longest_input_are_found(tagger):
    text = "and met " * 40 + "Hahn in Berlin and Lise."
    assert mentions(ner_finder(f"hf:{tagger}"), text, "Otto Hahn") == ["Hahn"]


def test_examples_are_made_and_masked_again_with_the_tagger(tagger, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = {"id": 1, "title": "Otto Hahn", "text": "Hahn met Lise in Berlin. Lise and Hahn met."}
    (tmp_path / "pages.jsonl").write_text(json.dumps(page) + "\n")
    arguments = ["--ner", f"hf:{tagger}"]
    assert main(["masked", "make", "pages.jsonl", "-o", "made.jsonl", "--profile", "source", *arguments]) == 0
    assert json.loads((tmp_path / "made.jsonl").read_text())["masks"] == ["Hahn", "Hahn"]
    assert main(["masked", "check", "made.jsonl", "--remask", "source", *arguments]) == 0
    assert "1 of 1 example and 2 of 2 masks stay the same." in capsys.readouterr().out
    assert main(["masked", "check", "made.jsonl", *arguments]) == 2
    assert "--ner has no effect without --remask" in capsys.readouterr().err


def test_a_model_that_is_not_there_is_named(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(InputError, match=r"hf: the model '.*nowhere' could not be loaded"):
        ner_finder(f"hf:{tmp_path / 'nowhere'}")
