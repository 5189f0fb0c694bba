"""Every command refuses an option that would have no effect, with one sentence and exit code 2."""

import json

import pytest

from goldrank.cli.main import main

NONE_RANKED = "on these runs, none of which has rankings; leave it out"
NO_MASKS = "on these runs, none of which has masked predictions; leave it out"
FIGURES = "has no effect on sentence-pairs: values are measured there, and nothing is ranked; leave it out"
RANKED_WORDS = "it is for models of word vectors (words:FILE), one vector for each text, in rankings and correlations"
BY_WORDS = f"{RANKED_WORDS}; leave it out"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with gold, runs, texts, predictions, and a store with a run of every kind."""
    folder = tmp_path_factory.mktemp("unused")
    (folder / "qrels.txt").write_text("q1 0 a 1\nq2 0 b 2\n")
    for name in ("one", "two"):
        (folder / f"{name}.run").write_text("q1 Q0 a 1 2.0 x\nq1 Q0 b 2 1.0 x\nq2 Q0 b 1 2.0 x\nq2 Q0 a 2 1.0 x\n")
    (folder / "scores.csv").write_text("model,evaluator,value\n")
    rows = [{"id": f"d{number}", "text": f"text {number}"} for number in range(4)]
    (folder / "texts.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "pairs.csv").write_text("text1,text2,score\na cat,a dog,3\na car,a bus,2\nred,blue,1\nup,down,0\n")
    vectors = [f"{word} " + " ".join(["0.5"] * number + ["0.1"] * (30 - number)) for number, word in enumerate("abcd")]
    (folder / "words.txt").write_text("\n".join(vectors) + "\n")
    store = ["--store", str(folder / "store")]
    assert main(["run", "-m", "random:8", "-t", "questions", "sentence-pairs", *store]) == 0
    assert main(["masked", "predict", "persons", "-m", "names:majority", *store]) == 0
    assert main(["index", "build", str(folder / "texts.jsonl"), "-m", "random:8", "-o", str(folder / "index")]) == 0
    return folder


# Command line and its message: "OPTION has no effect …" unless the sentence begins otherwise.
CASES = {
    # goldrank run: the model does not use it
    "run -m bm25 -t wines --similarity dot": "--similarity has no effect on bm25 with wines: it compares vectors, "
    "in rankings and correlations only; leave it out",
    "run -m bm25 -t wines --similarity cosine": "--similarity has no effect on bm25 with wines: it compares vectors, "
    "in rankings and correlations only; leave it out",
    "run -m bm25 -t wines --index faiss:Flat": "--index has no effect on bm25 with wines: it searches vectors, for "
    "tasks that rank; leave it out",
    "run -m bm25 -t wines --scoring sdr": "--scoring has no effect on bm25 with wines: it compares vectors, for tasks "
    "that rank; leave it out",
    "run -m bm25 -t wines --transform center": "--transform has no effect on bm25 with wines: it changes vectors, and "
    "no model here has any; leave it out",
    "run -m bm25 -t wines --oov skip": f"--oov has no effect on bm25 with wines: {BY_WORDS}",
    "run -m random:8 -t wines --oov keep": f"--oov has no effect on random:8 with wines: {BY_WORDS}",
    # goldrank run: the task does not use it
    "run -m random:8 -t sentence-pairs --oov mean": f"--oov has no effect on random:8 with sentence-pairs: {BY_WORDS}",
    "run -m words:words.txt -t sentence-pairs --oov miss": "sentence-pairs ranks nothing, so no pair can count as "
    "a miss; choose another treatment of texts without a known word: --oov keep, skip or mean",
    "run -m random:8 -t probe:labels.csv --oov mean": f"--oov has no effect on random:8 with probe:labels: {BY_WORDS}",
    "run -m random:8 -t probe:labels.csv --similarity dot": "--similarity has no effect on random:8 with probe:labels: "
    "it compares vectors, in rankings and correlations only; leave it out",
    "run -m random:8 -t sentence-pairs --index faiss:Flat": "--index has no effect on random:8 with sentence-pairs: it "
    "searches vectors, for tasks that rank; leave it out",
    "run -m random:8 -t sentence-pairs --scoring max_sim": "--scoring has no effect on random:8 with sentence-pairs: "
    "it compares vectors, for tasks that rank; leave it out",
    "run -m random:8 -t sentence-pairs --depth 5": "--depth has no effect on random:8 with sentence-pairs: it is for "
    "tasks that rank; leave it out",
    "run -m random:8 -t sentence-pairs --text title": "--text, with --separator, --sections and --words, has no effect "
    "on random:8 with sentence-pairs: no text is made of parts here; leave it out",
    "run -m random:8 -t sentence-pairs --words 5": "--text, with --separator, --sections and --words, has no effect "
    "on random:8 with sentence-pairs: no text is made of parts here; leave it out",
    "run -m random:8 -t sentence-pairs --query-text title": "--query-text has no effect on random:8 with "
    "sentence-pairs: no text is made of parts here; leave it out",
    "run -m random:8 -t sentence-pairs --seed 3": "--seed has no effect on random:8 with sentence-pairs: nothing is "
    "sampled here; leave it out",
    "run -m random:8 -t sentence-pairs --metric mrr": f"--metric {FIGURES}",
    "run -m random:8 -t sentence-pairs --profile sdr": f"--profile {FIGURES}",
    "run -m random:8 -t sentence-pairs --ties expected": f"--ties {FIGURES}",
    "run -m random:8 -t sentence-pairs --relevance-level 2": f"--relevance-level {FIGURES}",
    "run -m random:8 -t sentence-pairs --level 0.9": f"--level {FIGURES}",
    "run -m random:8 -t sentence-pairs --interval percentile": f"--interval {FIGURES}",
    "run -m random:8 -t sentence-pairs --resamples 500": f"--resamples {FIGURES}",
    "run -m random:8 -t sentence-pairs --worst 3": "--worst has no effect on tasks that rank nothing, which have no "
    "queries; leave it out",
    "run -m random:8 -t sentence-pairs --limit 3": "the task sentence-pairs measures all its data and ranks nothing, "
    "so a limit or a reranker has no effect; leave --limit and --rerank out, or run it by itself",
    # goldrank run: the option or file that it depends on is missing
    "run -m random:8 -t wines --fit-on evaluated": "--fit-on has no effect without a fitted transform; add one, such "
    "as --transform center, or leave it out",
    "run -m random:8 -t wines --transform normalize --fit-on corpus": "--fit-on has no effect without a fitted "
    "transform; add one, such as --transform center, or leave it out",
    "run -m random:8 -t wines --rerank-depth 5": "--rerank-depth has no effect without --rerank; name a scorer with "
    "--rerank, or leave it out",
    "run -m random:8 -t wines --alpha 0.1": "--alpha has no effect on one model, which is compared with nothing; "
    "leave it out",
    "run -m random:8 -t wines --top 0.5": "--top has no effect without --from-pairs; name the files of pairs with "
    "--from-pairs, or leave it out",
    "run -m random:8 -t wines --reverse": "--reverse has no effect without --from-pairs; name the files of pairs "
    "with --from-pairs, or leave it out",
    "run -m random:8 -t wines --worst 3 --format csv": "--worst has no effect on --format csv; use --format table or "
    "json",
    "run -m random:8 -t wines --allow-code": "--allow-code has no effect without --config; leave it out",
    "run -m random:8 -t wines --allow-connections": "--allow-connections has no effect without --config; leave it out",
    "run -m random:8 -t wines --work-folder w": "--work-folder has no effect without a cluster; add --engine ray, or "
    "leave it out",
    "run -m random:8 -t wines --shard-items 4096": "--shard-items has no effect without a cluster; add --engine ray, "
    "or leave it out",
    "run -m random:8 --from-pairs pairs.csv --split train": "--split has no effect with --from-pairs; leave it out, "
    "and name the files of the split",
    # goldrank sensitivity
    "sensitivity -m random:8 -t wines --transform none --fit-on evaluated": "--fit-on has no effect without a "
    "fitted transform; add one such as center, or leave it out",
    # goldrank score and compare
    "score qrels.txt one.run --store store": "--store has no effect on files; leave it out",
    "score questions --threads 2 --store store": "--threads has no effect on stored runs; leave it out",
    "score questions --corpus 9 --store store": "--corpus needs files, and there is no file 'questions'; check the "
    "path; for a stored run, leave the option out",
    "score qrels.txt one.run --profile sdr --profiles sdr,standard": "--profile has no effect beside --profiles; name "
    "it in --profiles",
    "score qrels.txt one.run --profiles bge,standard --per-query": "--per-query has no effect on a table of several "
    "profiles; add --format json or csv, or give one --profile",
    "score qrels.txt one.run --no-interval --level 0.9": "--level has no effect beside --no-interval; leave one of the "
    "two out",
    "score qrels.txt one.run --no-interval --seed 0": "--seed has no effect beside --no-interval; leave one of the two "
    "out",
    "score qrels.txt one.run -M ndcg@10 -l 2": "--relevance-level has no effect on ndcg@10: no binary relevance is "
    "read there; leave it out, or add a metric with binary relevance such as precision, recall or mrr",
    "compare qrels.txt one.run two.run --store store": "--store has no effect on files; leave it out",
    "compare qrels.txt one.run two.run -M ndcg@10 -l 2": "--relevance-level has no effect on ndcg@10: no binary "
    "relevance is read there; leave it out, or add a metric with binary relevance such as precision, recall or mrr",
    "compare qrels.txt one.run two.run --test tukey --correction bh": "Tukey's test corrects for all pairs itself; "
    "leave the correction out",
    # goldrank index, cache, meta and plan
    "index search index text --run out.run --format json": "--format has no effect beside --run, whose format is that "
    "of the suffix; leave it out",
    "cache info --yes": "--yes has no effect on cache info, which removes nothing; leave it out",
    "cache clear --kind words --model bge": "--model has no effect on words, which are not cached by model; leave it "
    "out",
    "meta scores.csv --store store": "--store has no effect on a table; leave it out, or use the stored runs with "
    "--from-store",
    "meta scores.csv --pivot accuracy": "--pivot draws a figure; name its file with --plot",
    "plan --calibrate --nodes 4": "--nodes has no effect beside --calibrate, which plans nothing; calibrate first, "
    "then plan",
    "plan --calibrate --item-count 4": "--item-count has no effect beside --calibrate, which plans nothing; "
    "calibrate first, then plan",
    # goldrank masked score, plot and report
    "masked score masked-persons --store store --data persons": "--data has no effect on stored runs; leave it out, or "
    "give a file of predictions",
    "masked score masked-persons --store store --pad": "--pad has no effect on stored runs; leave it out, or give a "
    "file of predictions",
    "masked score masked-persons --store store --bins 3": "--bins has no effect without --by; name the column with "
    "--by, or leave it out",
    "masked score masked-persons --store store --format csv --by length": "--by has no effect on --format csv; use "
    "--format json for all results",
    "masked score masked-persons --store store --format csv --original": "--original has no effect on --format csv; "
    "use --format json for all results",
    "masked score masked-persons --store store --alpha 0.1": "--alpha has no effect on one run, which is compared with "
    "nothing; leave it out",
    "masked score masked-persons --store store --work-folder w": "--work-folder has no effect without a cluster; add "
    "--engine ray, or leave it out",
    "masked score one.run --store store": "--store has no effect on files; leave it out",
    "plot questions --store store --matcher seed": f"--matcher has no effect {NO_MASKS}",
    "plot questions --store store --unit page": f"--unit has no effect {NO_MASKS}",
    "plot questions --store store --by length": f"--by has no effect {NO_MASKS}",
    "plot masked-persons --store store -M mrr": f"--metric has no effect {NONE_RANKED}",
    "plot masked-persons --store store --profile sdr": "there is no profile of masked runs 'sdr'; see the list "
    "(source, strict)",
    "report questions --store store -o r.md --theme dark": "--theme has no effect on a report in markdown; leave it "
    "out, or write HTML",
    "report sentence-pairs --store store -o r.html -M mrr": f"--metric has no effect {NONE_RANKED}",
    "report masked-persons --store store -o r.html --worst 3": f"--worst has no effect {NONE_RANKED}",
    "report sentence-pairs --store store -o r.html --ties docid": f"--ties has no effect {NONE_RANKED}",
    "report sentence-pairs --store store -o r.html --resamples 500": "--resamples has no effect on measurements, which "
    "were stored with their intervals; leave it out",
}


@pytest.mark.parametrize("line", CASES)
def test_an_option_without_effect_is_refused(line, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    (place / "labels.csv").write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(40)))
    before = sorted(path.name for path in place.iterdir())
    code = main(line.split())
    printed = capsys.readouterr()
    assert (code, printed.out, printed.err) == (2, "", f"goldrank: {CASES[line]}\n")
    assert sorted(path.name for path in place.iterdir()) == before


@pytest.mark.parametrize(
    "line",
    [
        "run -m bm25 random:8 -t wines --similarity dot",
        "run -m random:8 -t questions sentence-pairs --metric mrr",
        "run -m random:8 words:words.txt -t sentence-pairs --oov skip",
        "score qrels.txt one.run -M map -l 2",
    ],
)
def test_an_option_that_affects_a_part_of_the_command_is_accepted(line, place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    assert main([*line.split(), *(["--store", "other"] if line.startswith("run") else [])]) == 0


def test_a_run_file_may_repeat_defaults(place, monkeypatch, capsys):
    monkeypatch.chdir(place)
    entries = 'similarity = "cosine"\nindex = "exact"\ntransform = "none"\nrerank_depth = 100\nfit_on = "corpus"\n'
    (place / "full.toml").write_text(f'models = ["bm25"]\ntasks = ["wines"]\n{entries}')
    assert main(["run", "--config", "full.toml", "--dry-run"]) == 0
    (place / "full.toml").write_text(f'models = ["bm25"]\ntasks = ["wines"]\n{entries}'.replace("cosine", "dot"))
    capsys.readouterr()
    assert main(["run", "--config", "full.toml"]) == 2
    assert "--similarity has no effect on bm25 with wines" in capsys.readouterr().err
