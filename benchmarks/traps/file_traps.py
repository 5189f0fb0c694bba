"""Traps in files of gold and runs: identifiers, scores, columns, encodings and damage."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import unicodedata
from pathlib import Path
from typing import Any, Literal

from benchmarks.traps.data import GOLD, RUN, TRUTH, WORSE, ndcg10, qrels, rename_items, trec
from benchmarks.traps.trap import Peers, Trap

_SCORE = "score qrels.txt a.run -M ndcg@10"


def _dicts(gold: Any, *runs: Any) -> Any:
    return lambda folder: (gold, list(runs))


def _json_dicts(folder: Path) -> tuple[Any, list[Any]]:
    return json.loads((folder / "gold.json").read_text()), [json.loads((folder / "run.json").read_text())]


def _numbered(prefix: str) -> Any:
    """Rename d001 to 1 with *prefix* zeros in front."""
    return lambda item: prefix + str(int(item[1:]))


def _accented(form: Literal["NFC", "NFD"]) -> Any:
    return lambda item: unicodedata.normalize(form, f"café-{item}")


_DISTANCES = {query: {item: round(1 - score, 4) for item, score in ranking.items()} for query, ranking in RUN.items()}
_TIED = {query: dict.fromkeys(ranking, 1.0) for query, ranking in RUN.items()}
_ONE_QUERY = {"q01": RUN["q01"]}
_HALF = dict(list(RUN.items())[:15])
_HASH = {("#" + query if query == "q01" else query): rows for query, rows in GOLD.items()}
_HASH_RUN = {("#" + query if query == "q01" else query): rows for query, rows in RUN.items()}
_BIG = {item: str(2**53 + 1 + 2 * number) for number, item in enumerate(sorted({i for r in RUN.values() for i in r}))}
_NEAR = {
    query: {item: 1 - place * 1e-9 for place, item in enumerate(ranking)} for query, ranking in RUN.items()
}  # different in double precision, equal in float32
_TEXT_GRADE = qrels(GOLD).replace(" 1\n", " relevant\n")
_SELF = {query: {query: 1.0, **{item: score / 2 for item, score in ranking.items()}} for query, ranking in RUN.items()}
_EXTRA = {**RUN, **{f"x{number}": {"d001": 1.0} for number in range(5)}}
_NEGATIVE = {query: {**judged, "d999": -1} for query, judged in GOLD.items()}
_ZERO_QUERIES = {**GOLD, "q31": {"d001": 0}}

_DUPLICATE = trec(RUN) + f"q01 Q0 {next(iter(RUN['q01']))} 21 0.01 tag\n"
_CONFLICT = qrels(GOLD) + qrels({"q01": {next(iter(GOLD["q01"])): 0}})
_CSV_SCORES = "query,item,score\n" + trec(RUN, "{query},{item},{score}")
_CSV_GOLD = "query,item,grade\n" + qrels(GOLD, "{query},{item},{grade}")


TRAPS = [
    Trap(
        "sound",
        "nothing is wrong (the control)",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN)},
        _SCORE,
        "right",
        f"{TRUTH:.4f}",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "distances in list order",
        "the values are distances: each list is in order, its values ascend",
        {"gold.json": json.dumps(GOLD), "run.json": json.dumps(_DISTANCES)},
        "score gold.json run.json -M ndcg@10",
        "caught",
        "order contradicts the scores.*--scores",
        report="mem0ai/mem0#6484",
        peers=Peers(load=_json_dicts, truth=TRUTH),
    ),
    Trap(
        "rank column against scores",
        "a TREC run whose scores are distances: the rank column contradicts them",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_DISTANCES)},
        _SCORE,
        "caught",
        "order contradicts the scores.*--scores",
        report="princeton-nlp/SimCSE#198",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "rank column against scores, trec_eval",
        "the same under a profile that goes by the scores by definition",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_DISTANCES)},
        f"{_SCORE} --profile trec_eval",
        "warned",
        "order contradicts the scores",
        report="princeton-nlp/SimCSE#198",
    ),
    Trap(
        "all scores equal",
        "every score is 1.0, so the order is that of the ids",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_TIED)},
        _SCORE,
        "warned",
        "All tied: in 30 of 30 queries",
        report="cvangysel/pytrec_eval#56",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "constant scorer by MRR",
        "a constant scorer listed gold first looks perfect where ties keep the input order",
        {"qrels.txt": qrels(GOLD), "a.run": trec({q: dict.fromkeys([*GOLD[q], *RUN[q]], 0.5) for q in GOLD})},
        "score qrels.txt a.run -M mrr --ties input",
        "warned",
        "All tied: in 30 of 30 queries",
        report="embeddings-benchmark/mteb#5092",
    ),
    Trap(
        "scores equal in float32",
        "scores that differ only beyond single precision",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_NEAR)},
        _SCORE,
        "right",
        f"{TRUTH:.4f}",
        report="trec_eval up to 9 reads scores as float32",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "one of thirty queries answered",
        "the run answers one query well and leaves 29 out",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_ONE_QUERY)},
        _SCORE,
        "warned",
        "29 gold queries without results",
        report="cvangysel/pytrec_eval#30",
        peers=Peers(truth=ndcg10(GOLD, _ONE_QUERY), without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "one of thirty queries, skipped",
        "unanswered queries left out of the mean make the empty run the best",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN), "b.run": trec(_ONE_QUERY)},
        "score qrels.txt a.run b.run -M ndcg@10 --profile trec_eval9",
        "warned",
        "do not answer the same queries",
        report="spiceai/spiceai#12277",
    ),
    Trap(
        "different query sets compared",
        "one run answers only half of the queries",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN), "b.run": trec(_HALF)},
        "compare qrels.txt a.run b.run -M ndcg@10 --profile trec_eval9",
        "caught",
        "b answered 15 of 30 queries, and under this profile",
        report="AmenRa/ranx#27",
        peers=Peers(runs=("a.run", "b.run"), without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "different query sets, scored 0",
        "the same with unanswered queries scored 0",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN), "b.run": trec(_HALF)},
        "compare qrels.txt a.run b.run -M ndcg@10",
        "warned",
        "b lacks 15.*b answered 15 of 30 queries. So it is not compared",
        report="AmenRa/ranx#27",
    ),
    Trap(
        "different depths compared",
        "recall@20 of a run that was cut at 5",
        {
            "qrels.txt": qrels(GOLD),
            "a.run": trec(WORSE),
            "b.run": trec({q: dict(list(r.items())[:5]) for q, r in WORSE.items()}),
        },
        "compare qrels.txt a.run b.run -M recall@20",
        "warned",
        "different depths \\(a 20, b 5\\)",
        report="kenn-io/msgvault#649",
        peers=Peers(runs=("a.run", "b.run"), metric="recall@20", without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "queries in another order",
        "the second run lists its queries in another order; pairing by position mixes them",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN), "b.run": trec(dict(reversed(RUN.items())))},
        "compare qrels.txt a.run b.run -M ndcg@10",
        "right",
        "0/30/0",
        report="terrier-org/pyterrier#64",
        peers=Peers(runs=("a.run", "b.run"), truth=TRUTH),
    ),
    Trap(
        "one judge for one system",
        "one judge for one system: all results of the first run are judged, half of the second's",
        {
            "qrels.txt": qrels({q: {**GOLD[q], **{i: 0 for i in RUN[q] if i not in GOLD[q]}} for q in GOLD}),
            "a.run": trec(RUN),
            "b.run": trec(
                {
                    q: {i if i in GOLD[q] or n % 2 else "e" + i: s for n, (i, s) in enumerate(r.items())}
                    for q, r in RUN.items()
                }
            ),
        },
        "compare qrels.txt a.run b.run -M ndcg@10",
        "warned",
        "not judged alike.*a 100%, b [56]",
        report="Buckley et al. 2007, bias and the limits of pooling",
        peers=Peers(runs=("a.run", "b.run"), without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "runs over different corpora",
        "the two runs have no item in common: they searched different corpora",
        {
            "qrels.txt": qrels(GOLD),
            "a.run": trec(RUN),
            "b.run": trec({q: {i if i in GOLD[q] else "x" + i: s for i, s in r.items()} for q, r in RUN.items()}),
        },
        "compare qrels.txt a.run b.run -M ndcg@10",
        "warned",
        "share 0 of 140 items beside the judged ones",
        report="IBM/mt-rag-benchmark#3",
        peers=Peers(runs=("a.run", "b.run"), without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "ids 007 and 7",
        "the gold writes 007, the run 7",
        {"qrels.txt": qrels(rename_items(GOLD, _numbered("00"))), "a.run": trec(rename_items(RUN, _numbered("")))},
        _SCORE,
        "warned",
        "differ only in the number format",
        report="AmenRa/ranx#27",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "ids 7.0 and 7",
        "the gold went through floating-point numbers: 7.0",
        {
            "qrels.txt": qrels(rename_items(GOLD, lambda i: f"{int(i[1:])}.0")),
            "a.run": trec(rename_items(RUN, _numbered(""))),
        },
        _SCORE,
        "warned",
        "differ only in the number format",
        report="AmenRa/ranx#27",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "composed and decomposed Unicode",
        "café in the gold is NFC, in the run NFD",
        {"qrels.txt": qrels(rename_items(GOLD, _accented("NFC"))), "a.run": trec(rename_items(RUN, _accented("NFD")))},
        _SCORE,
        "warned",
        "differ only in the Unicode normal form",
        report="Unicode Standard Annex 15",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "upper and lower case",
        "the gold writes D001, the run d001",
        {"qrels.txt": qrels(rename_items(GOLD, str.upper)), "a.run": trec(RUN)},
        _SCORE,
        "warned",
        "differ only in case",
        report="beir-cellar/beir#105",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "ids beyond 2^53 as floats",
        "item ids of 17 digits that a spreadsheet turned into floating-point numbers",
        {
            "qrels.txt": qrels(rename_items(GOLD, lambda i: _BIG.get(i, i))),
            "run.csv": "query,item,score\n"
            + trec(rename_items(RUN, lambda i: f"{float(_BIG[i]):.16e}"), "{query},{item},{score}"),
        },
        "score qrels.txt run.csv -M ndcg@10",
        "warned|caught",
        "was a floating-point number",
        report="pandas reads integer columns with gaps as float64",
    ),
    Trap(
        "query ids that begin with #",
        "# starts no comment in a TREC file",
        {"qrels.txt": qrels(_HASH), "a.run": trec(_HASH_RUN)},
        _SCORE,
        "right",
        f"{TRUTH:.4f}.*30 queries",
        report="trec_eval reads such lines",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "text after the tag",
        "a TREC run with more than six columns",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN, "{query} Q0 {item} {rank} {score} tag and more")},
        _SCORE,
        "warned",
        f"{TRUTH:.4f}.*(column|after the tag)|(column|after the tag).*{TRUTH:.4f}",
        report="trec_eval's own test file results.trunc",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "NaN score",
        "one score is NaN",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN).replace(" 1 1.0 ", " 1 nan ", 1).replace(" 1 1 ", " 1 nan ", 1)},
        _SCORE,
        "caught",
        "a.run:1:.*(NaN|finite|nan)",
        report="embeddings-benchmark/mteb#3030",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "infinite score",
        "one score is infinite",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN, score=lambda rank, s: "inf" if rank == 20 else s)},
        _SCORE,
        "caught",
        "finite",
        report="",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "NaN grade in the gold",
        "a grade of the gold file is NaN",
        {"gold.csv": _CSV_GOLD.replace(",1\n", ",nan\n", 1), "run.csv": _CSV_SCORES},
        "score gold.csv run.csv -M ndcg@10",
        "caught",
        "gold.csv:2:.*(NaN|finite|nan)",
        report="yaochenzhu/Deep-Deconf#4",
        peers=Peers(load=_dicts({**GOLD, "q01": {**GOLD["q01"], "d000": float("nan")}}, RUN), truth=TRUTH),
    ),
    Trap(
        "grades as words",
        "the grade column says 'relevant'",
        {"qrels.txt": _TEXT_GRADE, "a.run": trec(RUN)},
        _SCORE,
        "caught",
        "qrels.txt:1:.*relevant.*not a number",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "decimal commas",
        "scores written 0,96 as a German spreadsheet does",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN, score=lambda rank, s: str(s).replace(".", ","))},
        _SCORE,
        "caught",
        "not a number",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "gold and run swapped",
        "the run is given as gold and the gold as run",
        {"qrels.txt": trec(RUN), "a.run": qrels(GOLD)},
        _SCORE,
        "caught",
        "may be (a|the) (run|gold)",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "qrels columns reversed",
        "document id first, query id third",
        {"qrels.txt": qrels(GOLD, "{item} 0 {query} {grade}"), "a.run": trec(RUN)},
        _SCORE,
        "caught",
        "no query of the run is in the gold",
        report="castorini/pyserini#1902",
        peers=Peers(truth=TRUTH, without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "grade and document swapped",
        "the grade stands third, the document fourth",
        {"qrels.txt": qrels(GOLD, "{query} 0 {grade} {item}"), "a.run": trec(RUN)},
        _SCORE,
        "caught",
        "not a number",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "header taken as data",
        "a CSV whose header has other names than expected",
        {"gold.csv": "frage,dokument,note\n" + qrels(GOLD, "{query},{item},{grade}"), "run.csv": _CSV_SCORES},
        "score gold.csv run.csv -M ndcg@10",
        "caught",
        "there is no query column",
        peers=None,
    ),
    Trap(
        "ranks taken as scores, from 1",
        "query, item, rank without a header, as MS MARCO has it",
        {"qrels.txt": qrels(GOLD), "run.tsv": trec(RUN, "{query}\t{item}\t{rank}")},
        "score qrels.txt run.tsv -M ndcg@10",
        "caught",
        "these values look like ranks",
        report="castorini/anserini#1523",
    ),
    Trap(
        "ranks taken as scores, from 0",
        "the same, counted from 0",
        {"qrels.txt": qrels(GOLD), "run.tsv": trec(RUN, "{query}\t{item}\t{score}", score=lambda rank, s: rank - 1)},
        "score qrels.txt run.tsv -M ndcg@10",
        "caught",
        "these values look like ranks",
        report="castorini/anserini#1523",
        peers=Peers(
            load=_dicts(GOLD, {q: {i: float(p) for p, i in enumerate(r)} for q, r in RUN.items()}), truth=TRUTH
        ),
    ),
    Trap(
        "item ranked twice",
        "an item appears twice in one ranking",
        {"qrels.txt": qrels(GOLD), "a.run": _DUPLICATE},
        _SCORE,
        "caught",
        "twice",
        report="castorini/anserini#476",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "item judged twice",
        "the gold judges one item 1 and 0",
        {"qrels.txt": _CONFLICT, "a.run": trec(RUN)},
        _SCORE,
        "caught",
        "twice",
        report="castorini/pyserini#1902",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "file cut in the middle of a line",
        "the run was copied while it was written",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN)[: len(trec(RUN)) // 2 + 3]},
        _SCORE,
        "caught",
        "a.run:30[0-9]:",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "truncated gzip",
        "a compressed run lacks its end",
        {"qrels.txt": qrels(GOLD), "a.run.gz": gzip.compress(trec(RUN).encode())[:-200]},
        "score qrels.txt a.run.gz -M ndcg@10",
        "caught",
        "truncated or corrupt",
    ),
    Trap(
        "damaged second stream of bzip2",
        "two bz2 streams in one file, the second damaged",
        {
            "qrels.txt": qrels(GOLD),
            "a.run.bz2": bz2.compress(trec(_HALF).encode())
            + bz2.compress(trec(dict(list(RUN.items())[15:])).encode())[:-30],
        },
        "score qrels.txt a.run.bz2 -M ndcg@10",
        "caught",
        "bzip2 file is truncated or corrupt",
    ),
    Trap(
        "damaged second stream of xz",
        "two xz streams in one file, the second damaged",
        {
            "qrels.txt": qrels(GOLD),
            "a.run.xz": lzma.compress(trec(_HALF).encode()) + b"\xfd7zXZ\x00" + lzma.compress(trec(RUN).encode())[9:],
        },
        "score qrels.txt a.run.xz -M ndcg@10",
        "caught",
        "xz file is truncated or corrupt",
    ),
    Trap(
        "mixed encodings",
        "one id is latin-1 in a file of UTF-8",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN).encode().replace(b"d", "é".encode("latin-1"), 1)},
        _SCORE,
        "caught",
        "UTF-8",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "byte order mark",
        "a mark in front of the first query id",
        {"qrels.txt": "\ufeff" + qrels(GOLD), "a.run": trec(RUN)},
        _SCORE,
        "right",
        f"{TRUTH:.4f}.*30 queries",
        peers=Peers(truth=TRUTH, without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "Windows line ends",
        "lines end in CR LF",
        {"qrels.txt": qrels(GOLD).replace("\n", "\r\n"), "a.run": trec(RUN).replace("\n", "\r\n")},
        _SCORE,
        "right",
        f"{TRUTH:.4f}.*30 queries",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "empty arm",
        "one of the compared runs is an empty file",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN), "b.run": ""},
        "compare qrels.txt a.run b.run -M ndcg@10",
        "caught",
        "b.run.*(no rows|empty)",
        peers=Peers(runs=("b.run",), truth=0.0, without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "empty gold",
        "the gold file is empty",
        {"qrels.txt": "", "a.run": trec(RUN)},
        _SCORE,
        "caught",
        "qrels.txt.*(no rows|empty)",
        peers=Peers(without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "queries not in the gold",
        "the run answers five queries that nobody judged",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_EXTRA)},
        _SCORE,
        "warned",
        f"{TRUTH:.4f}.*5 queries of the run not in the gold",
        report="joaopalotti/trectools#24",
        peers=Peers(truth=TRUTH, without=frozenset({"scikit-learn"})),
    ),
    Trap(
        "query without relevant items",
        "one query of the gold has only grade 0",
        {"qrels.txt": qrels(_ZERO_QUERIES), "a.run": trec({**RUN, "q31": RUN["q01"]})},
        _SCORE,
        "warned",
        "1 queries with nothing relevant|1 query with nothing relevant",
        report="cvangysel/pytrec_eval#49",
        peers=Peers(truth=TRUTH * 30 / 31),
    ),
    Trap(
        "negative grades",
        "judged spam has grade -1 and must not count as a gain or in the ideal",
        {"qrels.txt": qrels(_NEGATIVE), "a.run": trec({q: {"d999": 2.0, **r} for q, r in RUN.items()})},
        _SCORE,
        "right",
        f"{ndcg10(_NEGATIVE, {q: {'d999': 2.0, **r} for q, r in RUN.items()}):.4f}",
        peers=Peers(truth=ndcg10(_NEGATIVE, {q: {"d999": 2.0, **r} for q, r in RUN.items()})),
    ),
    Trap(
        "query among its own results",
        "the corpus holds the queries, and each ranks itself first",
        {"qrels.txt": qrels(GOLD), "a.run": trec(_SELF)},
        _SCORE,
        "warned",
        "30 of 30 queries are among their own results",
        report="beir-cellar/beir#187",
        peers=Peers(truth=TRUTH),
    ),
    Trap(
        "metric name of another tool",
        "ranx's rbp.50 means p = 0.5, not a cutoff of 50",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN)},
        "score qrels.txt a.run -M rbp.50 --format json",
        "right",
        '"p": 0.5',
        report="ranx's documentation of its metrics",
    ),
    Trap(
        "metric that no tool shares",
        "trec_eval's utility is not computed and must not be guessed",
        {"qrels.txt": qrels(GOLD), "a.run": trec(RUN)},
        "score qrels.txt a.run -M utility",
        "caught",
        "'utility' is trec_eval's",
    ),
    Trap(
        "a single query",
        "one query gives a mean but no interval",
        {"qrels.txt": qrels({"q01": GOLD["q01"]}), "a.run": trec(_ONE_QUERY)},
        _SCORE,
        "right",
        "1\\.0000 1 queries",
        peers=Peers(truth=ndcg10({"q01": GOLD["q01"]}, _ONE_QUERY)),
    ),
    Trap(
        "mean rank of a cut ranking",
        "gold below the cut has no rank; leaving it out flatters the mean",
        {"qrels.txt": qrels(GOLD), "a.run": trec({q: dict(list(r.items())[:5]) for q, r in WORSE.items()})},
        "score qrels.txt a.run -M mean_rank",
        "caught",
        "needs the rank of every gold item",
    ),
    Trap(
        "gold outside the corpus",
        "two gold items cannot be found because the corpus lacks them",
        {
            "qrels.txt": qrels({**GOLD, "q01": {"zzz": 1, "yyy": 1}}),
            "a.run": trec(RUN),
            "corpus.txt": "".join(f"d{n:03}\n" for n in range(200)),
        },
        f"{_SCORE} --corpus corpus.txt",
        "warned",
        "2 gold items outside the corpus",
        report="embeddings-benchmark/mteb#5021",
        peers=Peers(truth=None),
    ),
]
