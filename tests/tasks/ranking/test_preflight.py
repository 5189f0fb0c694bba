"""Test that settings incompatible with a model or a corpus are rejected before the first evaluation starts."""

import pytest

from goldrank import evaluate
from goldrank.cli.main import main
from goldrank.errors import InputError

WHAT = [
    (["lsa:5000"], "lsa:5000 needs more than 5000 texts, and there are 200"),
    (["lsa:199(max_features=150)"], "lsa:199 needs more than 199 different words"),
    (["fuse:rrf(bm25,lsa:4000)"], "lsa:4000 needs more than 4000 texts"),
    (["random:999999999999"], "DIM='999999999999' is not a whole number from 1 to 65536"),
    (["random:" + "9" * 5000], "is not a whole number from 1 to 65536"),
    (["wordllama(batch_size=99999999999999)"], "batch_size='99999999999999' is not a whole number"),
    (["wordllama(dim=999)"], "dim=999 is more than the 256 dimensions of wordllama"),
    (["tfidf(min_df=500)"], "min_df=500 and max_df=1.0 leave no word of 200 texts"),
    (["tfidf(min_df=50,max_df=0.1)"], "min_df=50 and max_df=0.1 leave no word of 200 texts"),
    (["wordllama", "--transform", "whiten:300"], "whiten:300 asks for more than there is with 256 dimensions and 200"),
    (["random:32", "--transform", "pca:16|truncate:20"], "truncate:20 asks for more than there is with 16 dimensions"),
    (["random:32", "--transform", "abtt:32"], "abtt:32 would remove all 32 dimensions"),
    (["random:32", "--transform", "whiten:30", "--fit-on", "evaluated", "--limit", "10"], "10 vectors to fit on"),
    (["tfidf", "--transform", "center"], "center would make sparse vectors dense"),
    (["tfidf", "--index", "faiss:Flat"], "the vectors of tfidf are sparse, which the index faiss:Flat cannot hold"),
    (["tfidf", "--scoring", "max_sim"], "max_sim needs dense vectors"),
    (["random:32", "--scoring", "sdr", "--transform", "center"], "sdr compares many vectors by cosine or dot product"),
    (
        ["random:32", "--index", "faiss:IVF4096,Flat"],
        "IVF4096,Flat is trained on 4096 vectors or more, and there are 200",
    ),
    (["random:32", "--index", "faiss:PQ8"], "PQ8 is trained on 256 vectors or more, and there are 200"),
    (["random:32", "--index", "faiss:PQ7"], "faiss cannot make 'PQ7' for 32 dimensions"),
    (["random:32", "--index", "faiss:Flat(nprobe=3)"], "has no search parameter"),
    (
        ["random:32", "--transform", "truncate:8", "--index", "faiss:PQ16x4"],
        "faiss cannot make 'PQ16x4' for 8 dimensions",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), WHAT)
def test_it_is_refused_before_the_first_evaluation(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    if "faiss" in " ".join(arguments):
        pytest.importorskip("faiss")
    assert main(["run", "-t", "questions", "-m", "bm25", *arguments]) == 2
    stderr = capsys.readouterr().err
    assert message in stderr
    assert "evaluating" not in stderr
    assert stderr.count("\n") == 1


def test_a_measured_task_is_checked_too(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    assert main(["run", "-t", "sentence-pairs", "-m", "wordllama", "lsa:9000"]) == 2
    assert "measuring" not in (stderr := capsys.readouterr().err)
    assert "lsa:9000 needs more than 9000 texts" in stderr


def test_what_can_just_be_had_is_not_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("GOLDRANK_STORE", str(tmp_path / "store"))
    monkeypatch.setenv("GOLDRANK_CACHE", str(tmp_path / "cache"))
    for arguments in (["lsa:150"], ["random:32", "--transform", "whiten:32"], ["tfidf(min_df=2,max_df=0.5)"]):
        assert main(["run", "-t", "questions", "--metric", "mrr", "-m", *arguments]) == 0


def test_articles_that_are_all_queries_are_fitted_on_only_by_name():
    articles = [
        {"id": "a", "text": "red wine", "labels": ["b"]},
        {"id": "b", "text": "white wine", "labels": ["c"]},
        {"id": "c", "text": "chess", "labels": ["a"]},
    ]
    with pytest.raises(InputError, match=r"every article is also a query, .* --fit-on evaluated"):
        evaluate("random:8", articles, transform="center")
    assert len(evaluate("random:8", articles, transform="center", fit_on="evaluated").run) == 3
    with pytest.raises(InputError, match="no training texts to fit on; fit on corpus or evaluated"):
        evaluate("random:8", articles, transform="center", fit_on="training")
