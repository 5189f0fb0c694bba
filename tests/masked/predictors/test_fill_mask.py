"""Test masked language models as predictors with tiny models, one for each tokeniser family.

The models know which name follows which word: king arthur, wizard merlin, queen guinevere and knight lancelot. The
last two names consist of several tokens.
"""

import re
import sys

import pytest

from goldrank.errors import InputError, MissingExtraError
from goldrank.masked.examples.chunks import Blank, Chunk, MaskKey
from goldrank.masked.predictions.predict import blanks_of, predict_all
from goldrank.masked.predictors import load_predictor
from goldrank.masked.predictors.windows import longest_input

pytestmark = pytest.mark.heavy

WHO = {"king": "arthur", "wizard": "merlin", "queen": "guinevere", "knight": "lancelot"}
PIECES = {"guinevere": ["gui", "nev", "ere"], "lancelot": ["lance", "lot"]}
FILLERS = ["then", "and", "so", "thus", "now", "here"]
WORDS = ["arthur", "merlin", *WHO, "rode", "away", ".", *FILLERS]
LONGEST = 24
FAMILIES = ["bert", "roberta", "albert"]


@pytest.fixture(scope="module")
def families(tmp_path_factory):
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    pytest.importorskip("tokenizers")
    folders = {}

    def get(family):
        if family not in folders:
            folders[family] = tmp_path_factory.mktemp(family)
            tokenizer = {"bert": word_pieces, "roberta": byte_pairs, "albert": sentence_pieces}[family]()
            looking_back(family, tokenizer).save_pretrained(folders[family])
            tokenizer.save_pretrained(folders[family])
        return folders[family]

    return get


@pytest.fixture(params=FAMILIES)
def model(request, families):
    return families(request.param)


@pytest.fixture
def bert(families):
    return families("bert")


def word_pieces():
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

    parts = ["gui", "##nev", "##ere", "lance", "##lot"]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS, *parts]
    core = Tokenizer(models.WordPiece({word: at for at, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    core.normalizer = normalizers.BertNormalizer()
    core.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    core.decoder = decoders.WordPiece()
    return wrapped(core, "[CLS]", "[SEP]", "[PAD]", "[UNK]", "[MASK]")


def byte_pairs():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    vocabulary = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet())]
    merges = []
    for written in [*(f"Ġ{word}" for word in [*WORDS, "gui", "lance"]), "nev", "ere", "lot"]:
        for at in range(1, len(written)):
            if written[: at + 1] not in vocabulary:
                vocabulary.append(written[: at + 1])
                merges.append((written[:at], written[at]))
    core = Tokenizer(models.BPE({word: at for at, word in enumerate(vocabulary)}, merges))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    core.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0))
    core.decoder = decoders.ByteLevel()
    return wrapped(core, "<s>", "</s>", "<pad>", "<unk>", "<mask>", lstrip=True)


def sentence_pieces():
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors

    special = [("<pad>", 0.0), ("<unk>", 0.0), ("[CLS]", 0.0), ("[SEP]", 0.0), ("[MASK]", 0.0)]
    whole = [(f"▁{word}", -2.0) for word in [*WORDS, "gui", "lance"]]
    parts = [(part, -3.0) for part in ("nev", "ere", "lot")]
    letters = [(letter, -9.0) for letter in "▁abcdefghijklmnopqrstuvwxyz"]
    core = Tokenizer(models.Unigram([*special, *whole, *parts, *letters], unk_id=1))
    core.pre_tokenizer = pre_tokenizers.Metaspace()
    core.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    core.decoder = decoders.Metaspace()
    return wrapped(core, "[CLS]", "[SEP]", "<pad>", "<unk>", "[MASK]", lstrip=True)


def wrapped(core, cls, sep, pad, unk, mask, lstrip=False):
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    return PreTrainedTokenizerFast(
        tokenizer_object=core, model_max_length=LONGEST, cls_token=cls, sep_token=sep, pad_token=pad, unk_token=unk,
        mask_token=AddedToken(mask, lstrip=lstrip, normalized=False, special=True),
    )  # fmt: skip


# The tokens that a model expects after a token, with their weights.
NEXT = {
    "king": {"arthur": 1.0, "merlin": 0.7, "gui": 0.5},
    "wizard": {"merlin": 1.0, "lance": 0.6},
    "queen": {"gui": 1.0, "arthur": 0.6},
    "knight": {"lance": 1.0, "arthur": 0.8, "merlin": 0.6},
    "gui": {"nev": 1.0},
    "nev": {"ere": 1.0},
    "lance": {"lot": 1.0},
    **{last: {"rode": 1.0} for last in ("ere", "lot", "arthur", "merlin")},
}


def looking_back(family, tokenizer):
    """Build a model of one layer whose guess depends only on the token before the mask; its weights are set by hand.

    A vector holds the position, the code of the token, and after attention the code of the token before it. All
    vectors have equal entries in different places, so layer normalisation changes them equally.
    """
    import torch
    import transformers

    codes = {tokenizer(word, add_special_tokens=False)["input_ids"][-1]: at + 1 for at, word in enumerate(WORDS)}
    for name in PIECES:
        for token in tokenizer(name, add_special_tokens=False)["input_ids"]:
            codes[token] = len(codes) + 1
    written = {tokenizer.convert_ids_to_tokens(token).strip("Ġ▁#"): token for token in codes}
    # RoBERTa's positions start after the index of the padding token.
    positions = LONGEST + (tokenizer.pad_token_id + 1 if family == "roberta" else 0)
    code, before, size = positions, positions + len(codes) + 1, positions + 2 * (len(codes) + 1)
    width = len(codes) + 1
    kind = {"bert": "Bert", "roberta": "Roberta", "albert": "Albert"}[family]
    config = getattr(transformers, f"{kind}Config")(
        vocab_size=len(tokenizer), hidden_size=size, embedding_size=size, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=4, max_position_embeddings=positions, pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = getattr(transformers, f"{kind}ForMaskedLM")(config)
    head = {"bert": "transform.dense", "roberta": "lm_head.dense", "albert": "predictions.dense"}[family]
    with torch.no_grad():
        for name, weights in model.named_parameters():
            weights.fill_(1.0 if re.search(r"(?i)layer_?norm\.weight", name) else 0.0)
        parts = {name.removesuffix(".weight"): weights for name, weights in model.named_parameters()}

        def part(ending):
            [parameter] = [weights for name, weights in parts.items() if name.endswith(ending)]
            return parameter

        for token in range(len(tokenizer)):
            part("word_embeddings")[token, code + codes.get(token, 0)] = 1.0
        part("position_embeddings")[:, :positions] = torch.eye(positions)
        part("query")[:positions, :positions] = 4 * torch.eye(positions)
        part("key")[:positions, :positions] = 4 * torch.eye(positions).roll(1, dims=0)
        part("value")[before:, code:before] = torch.eye(width)
        part("attention.dense" if family == "albert" else "attention.output.dense").copy_(torch.eye(size))
        if family == "albert":
            part("mapping_in").copy_(torch.eye(size))
        part(head)[:width, before:] = torch.eye(width)
        for word, following in NEXT.items():
            for other, weight in following.items():
                part("decoder")[written[other], codes[written[word]]] = weight
    return model.eval()


def predictor(folder, options=""):
    return load_predictor(f"fill-mask:{folder}(device=cpu{options and ','}{options})")


def blanks(text, context="masked"):
    return blanks_of(Chunk("7", 0, "x", text, ("x",) * text.count("<mask>")), context)


def best(predictions):
    return [guesses.names[0] for guesses in predictions]


def test_names_of_one_piece_and_of_several_come_out_whole(model):
    batch = [blanks(f"and {role} <mask> rode away .")[0] for role in WHO]
    predictions = predictor(model).predict(batch, 5)
    assert best(predictions) == list(WHO.values())
    for guesses in predictions:
        assert 0.5 < guesses.scores[0] <= 1
        assert list(guesses.scores) == sorted(guesses.scores, reverse=True)
        assert len(set(guesses.names)) == len(guesses.names) <= 5


def test_the_score_of_a_joined_name_is_the_product_of_its_pieces(bert):
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(bert), AutoModelForMaskedLM.from_pretrained(bert).eval()
    ids = tokenizer.convert_tokens_to_ids(["gui", "##nev", "##ere"])
    product = 1.0
    for at, token in enumerate(ids):
        token_ids = [2, *tokenizer.convert_tokens_to_ids(["queen"]), *ids[:at], 4]
        token_ids += [*tokenizer.convert_tokens_to_ids(["rode", "away", "."]), 3]
        with torch.inference_mode():
            product *= float(network(torch.tensor([token_ids])).logits[0, 2 + at].softmax(-1)[token])
    guesses = predictor(bert).predict(blanks("queen <mask> rode away ."), 5)[0]
    assert guesses.names[0] == "guinevere"
    assert guesses.scores[0] == pytest.approx(product, rel=1e-5)


def test_the_size_of_the_model_is_known(bert):
    assert load_predictor(f"fill-mask:{bert}").parameters > 100


def test_pieces_limits_how_long_a_name_grows(bert):
    batch = blanks("queen <mask> rode away .")
    assert best(predictor(bert, "pieces=1").predict(batch, 3)) == ["gui"]
    assert best(predictor(bert, "pieces=2").predict(batch, 3)) == ["guinev"]
    assert best(predictor(bert, "pieces=3").predict(batch, 3)) == ["guinevere"]


def test_every_mask_of_a_text_is_asked_at_its_own_place(model):
    text = "king <mask> rode away . queen <mask> rode away . knight <mask> rode away ."
    assert best(predictor(model).predict(blanks(text), 5)) == ["arthur", "guinevere", "lancelot"]
    assert best(predictor(model).predict(blanks(text)[::-1], 5)) == ["lancelot", "guinevere", "arthur"]


def test_single_tokens_agree_with_the_pipeline_of_transformers(model):
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(model)
    peer = transformers.pipeline("fill-mask", str(model), tokenizer=tokenizer, device="cpu", top_k=8)
    for role in WHO:
        count = len(NEXT[role])  # All other scores are tied, and the pipeline orders ties arbitrarily.
        [guesses] = predictor(model, "pieces=1").predict(blanks(f"so {role} <mask> rode away ."), count)
        expected = peer(f"so {role} {tokenizer.mask_token} rode away .")[:count]
        assert list(guesses.names) == [candidate["token_str"].strip() for candidate in expected]
        assert guesses.scores == pytest.approx([candidate["score"] for candidate in expected], rel=1e-4)


@pytest.mark.parametrize(("before", "after"), [(200, 200), (0, 200), (200, 0), (5, 200)])
def test_a_text_longer_than_the_window_is_read_around_the_mask(model, before, after):
    far = "queen <mask> rode away . "
    text = far * 9 + "then " * before + "king <mask> rode away . " + "now " * after + far * 9
    batch = blanks(text)
    assert best(predictor(model).predict([batch[9]], 5)) == ["arthur"]
    assert best(predictor(model).predict(batch, 5)) == ["guinevere"] * 9 + ["arthur"] + ["guinevere"] * 9


def test_no_input_is_longer_than_the_model_or_max_length_takes(bert, monkeypatch):
    for options, longest in (("", LONGEST), ("max_length=12", 12), ("max_length=400", LONGEST)):
        fill_mask = predictor(bert, options)
        batches = []
        run = fill_mask._run
        monkeypatch.setattr(
            fill_mask, "_run", lambda batch, *rest, run=run, batches=batches: batches.append(batch) or run(batch, *rest)
        )
        fill_mask.predict(blanks("then " * 90 + "queen <mask> rode away . " + "now " * 90), 5)
        lengths = {len(ids) for batch in batches for ids in batch}
        assert max(lengths) == longest  # includes gui, nev, ere and one more mask
        assert min(lengths) == longest - 3


def test_the_longest_input_is_known_from_the_model_where_the_tokeniser_does_not_say(model):
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(model), AutoModelForMaskedLM.from_pretrained(model)
    tokenizer.model_max_length = int(1e30)
    assert longest_input(tokenizer, network) == LONGEST
    tokenizer.model_max_length = 9
    assert longest_input(tokenizer, network) == 9


def test_the_window_is_centred_on_the_asked_mask(bert):
    text = "then " * 90 + "queen <mask> rode away . " + "now " * 90
    [window] = predictor(bert)._windows.of(blanks(text))
    assert abs(len(window.left) - len(window.right)) <= 1
    assert len(window.filled([4])) == LONGEST - 3


def test_the_size_of_batches_changes_nothing(model):
    text = "king <mask> rode away . queen <mask> rode away ."
    batch = [*blanks(text), *blanks("knight <mask> rode"), *blanks("so " * 60 + "wizard <mask> rode away .")]
    one_by_one, batched = (predictor(model, f"batch_size={size}").predict(batch, 4) for size in (1, 7))
    assert [guesses.names for guesses in one_by_one] == [guesses.names for guesses in batched]
    for single, shared in zip(one_by_one, batched, strict=True):
        assert single.scores == pytest.approx(shared.scores, rel=1e-4)


def test_padding_is_not_read(bert, tmp_path):
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForMaskedLM

    tokenizer = AutoTokenizer.from_pretrained(bert)
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=LONGEST, initializer_range=0.5,
    )  # fmt: skip
    BertForMaskedLM(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    batch = [*blanks("king <mask>"), *blanks("so " * 12 + "wizard <mask> rode away .")]
    one_by_one, together = (predictor(tmp_path, f"pieces=1,batch_size={size}").predict(batch, 5) for size in (1, 2))
    for single, shared in zip(one_by_one, together, strict=True):
        assert single.names == shared.names
        assert single.scores == pytest.approx(shared.scores, rel=1e-4)


def test_equal_scores_are_ordered_by_token_id(bert, tmp_path):
    import torch
    from transformers import AutoModelForMaskedLM, AutoTokenizer

    tokenizer, network = AutoTokenizer.from_pretrained(bert), AutoModelForMaskedLM.from_pretrained(bert)
    network.config.tie_word_embeddings = False
    first, second, last = tokenizer.convert_tokens_to_ids(["merlin", "queen", "here"])
    with torch.no_grad():
        decoder = network.cls.predictions.decoder
        decoder.weight = torch.nn.Parameter(torch.zeros_like(decoder.weight))
        decoder.bias.zero_()
        decoder.bias[[last, second, first]] = 2.0
        decoder.bias[tokenizer.all_special_ids] = 9.0
    network.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    [guesses] = predictor(tmp_path).predict(blanks("king <mask> rode"), 5)
    assert guesses.names == ("merlin", "queen", "here", "arthur", "king")
    assert len(set(guesses.scores[:3])) == len(set(guesses.scores[3:])) == 1


def test_special_tokens_are_never_guessed_and_names_never_repeated(model):
    [guesses] = predictor(model).predict(blanks("king <mask> rode"), 400)
    assert not {"[MASK]", "<mask>", "[CLS]", "<s>", "<pad>", "[PAD]", "[UNK]", "<unk>", ""} & set(guesses.names)
    assert len(set(guesses.names)) == len(guesses.names) > 5
    assert all(name == name.strip() for name in guesses.names)


def test_revealed_names_are_read_as_words_and_odd_texts_do_no_harm(model):
    chunk = Chunk("7", 0, "x", "queen <mask> rode away . king <mask> rode away .", ("guinevere", "arthur"))
    assert [guesses.names[0] for guesses in predict_all([chunk], predictor(model), context="revealed").values()] == [
        "guinevere",
        "arthur",
    ]
    odd = [Blank(MaskKey("7", 1, 0), "half \ud83d [MASK] king ", " rode"), Blank(MaskKey("7", 1, 1), "", "")]
    assert all(guesses.names for guesses in predictor(model).predict(odd, 2))


def test_identity_knows_the_weights_and_the_options_that_matter(bert, tmp_path):
    plain = predictor(bert).identity
    assert predictor(bert, "batch_size=3").identity == plain
    assert predictor(bert, "pieces=2").identity != plain
    assert plain.startswith("fill-mask:")
    assert "torch" in plain


def test_a_model_that_is_nowhere_or_no_masked_one_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(InputError, match="give the path of a local folder with the model"):
        load_predictor("fill-mask:nobody/no-such-model")
    with pytest.raises(InputError, match="fill-mask needs a model"):
        load_predictor("fill-mask:")


def test_options_are_checked(bert):
    with pytest.raises(InputError, match="max_length=5 leaves no room for the mask; give at least 6 tokens"):
        predictor(bert, "max_length=5")
    with pytest.raises(InputError, match="did you mean 'pieces'"):
        predictor(bert, "piece=2")


def test_without_transformers_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"fill-mask.*pip install 'goldrank\[fill-mask\]'"):
        load_predictor("fill-mask:bert-base-cased")
