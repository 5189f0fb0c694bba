"""Tables and data of the grades of model judges, and of the agreement of judges."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from typing import Any

from goldrank.errors import counts
from goldrank.judging.grading import Grading
from goldrank.judging.judge_agreement import AgreementReport, Bias, HumanAgreement, JudgeQuality
from goldrank.judging.labels import GradeScale
from goldrank.reporting.text import formatting
from goldrank.reporting.text.grids import Cell, Grid
from goldrank.reporting.text.results import limits
from goldrank.reporting.text.views import View
from goldrank.stats.agreement import Agreement
from goldrank.stats.intervals import Interval


def view(result: Grading | AgreementReport) -> View:
    """Return a grading or an agreement in all its forms."""
    return _grading(result) if isinstance(result, Grading) else _agreement(result)


def _grading(result: Grading) -> View:
    rows = [["grade", "name", "pairs"]]
    rows += [[str(at), name, str(result.grades[at])] for at, name in enumerate(result.scale.names)]
    rows += [["", "answer without a grade", str(result.unparsed)], ["", "no answer", str(result.ungraded)]]
    cells = [list(map(Cell, row)) for row in rows[1:]]
    return View(
        lambda: _grading_content(result),
        lambda: rows,
        lambda: [] if result.dry_run else [Grid(rows[0], cells, text_columns=2)],
        lead=lambda: [_grading_sentence(result), *result.remarks],
        schema="judge-grade",
    )


def _grading_content(result: Grading) -> dict[str, Any]:
    content = asdict(result)
    return {
        **content,
        "scale": result.scale.to_dict(),
        "grades": dict(zip(result.scale.to_dict(), result.grades, strict=True)),
    }


def _grading_sentence(result: Grading) -> str:
    expense = result.expense
    cost = "" if expense.cost is None else f", cost {expense.cost:.4g}"
    tokens = f"{expense.prompt_tokens} tokens of prompts, {expense.completion_tokens} of answers{cost}"
    if result.dry_run:
        text = f"{result.judge} would grade {counts(result.ungraded, 'pair')} of {result.pairs}"
        return (
            f"{text}: {counts(expense.requests, 'request')}, about {tokens} (estimated)."
            if expense.requests
            else f"{text}."
        )
    text = f"{result.judge} graded {counts(result.graded, 'pair')} of {result.pairs}"
    before = f", {result.before} before" if result.before else ""
    asked = f" ({counts(expense.requests, 'request')}: {tokens})" if expense.requests else ""
    return f"{text}{before}{asked}." + (f" Stopped: {result.stopped}." if result.stopped else "")


def _agreement(report: AgreementReport) -> View:
    return View(
        lambda: {
            "scale": report.scale.to_dict(),
            "humans": _humans_content(report.humans),
            "models": [_model_content(model) for model in report.models],
            "notes": list(report.notes),
        },
        lambda: _agreement_rows(report),
        lambda: [
            *_humans_grids(report.humans),
            *(g for model in report.models for g in _model_grids(model, report.scale)),
        ],
        lead=lambda: [*report.notes, *_lead(report)],
        schema="judge-agreement",
    )


def _lead(report: AgreementReport) -> list[str]:
    lines = []
    if not report.humans.doubly:
        lines.append("No pair was judged by two people, so that their agreement is not known.")
    if not report.models:
        lines.append("No model judge has graded anything; goldrank judge grade lets one.")
    return lines


def _coefficient(result: Agreement) -> dict[str, Any]:
    return {"value": result.value, **limits(result.interval), "units": result.units, "reason": result.reason}


def _humans_content(humans: HumanAgreement) -> dict[str, Any]:
    return {
        "judges": humans.judges,
        "doubly": humans.doubly,
        "alphas": {name: _coefficient(alpha) for name, alpha in humans.alphas.items()},
        "kappas": [{"judges": list(pair), **_coefficient(kappa)} for pair, kappa in humans.kappas.items()],
    }


def _model_content(model: JudgeQuality) -> dict[str, Any]:
    return {
        "judge": model.judge,
        "usable": model.usable,
        "reason": model.reason,
        "pairs": model.pairs,
        "queries": model.queries,
        "unparsed": model.unparsed,
        "kappas": {name: _coefficient(kappa) for name, kappa in model.kappas.items()},
        "error": {"value": model.error, **limits(model.error_interval)},
        "confusion": [
            {
                "human": cell.human,
                "model": cell.model,
                "number": cell.number,
                "share": cell.share,
                **limits(cell.interval),
            }
            for cell in model.confusion
        ],
        "biases": [
            {"name": bias.name, "unit": bias.unit, "value": bias.value, **limits(bias.interval), "reason": bias.reason}
            for bias in model.biases
        ],
    }


def _agreement_rows(report: AgreementReport) -> list[list[Any]]:
    rows: list[list[Any]] = [["judges", "statistic", "value", "low", "high", "units", "reason"]]

    def add(judges: str, statistic: str, content: dict[str, Any]) -> None:
        rows.append([judges, statistic, *(content.get(name) for name in rows[0][2:])])

    for name, alpha in report.humans.alphas.items():
        add("people", f"alpha {name}", _coefficient(alpha))
    for pair, kappa in report.humans.kappas.items():
        add(" – ".join(pair), "kappa quadratic", _coefficient(kappa))
    for model in report.models:
        content = _model_content(model)
        for name, kappa in content["kappas"].items():
            add(model.judge, f"kappa {name}", kappa)
        add(model.judge, "mean error", {**content["error"], "units": model.pairs})
        for cell in content["confusion"]:
            add(
                model.judge,
                f"share of {cell['model']} at human {cell['human']}",
                {**cell, "value": cell["share"], "units": cell["number"]},
            )
        for bias in content["biases"]:
            add(model.judge, f"bias {bias['name']}", {**bias, "units": model.pairs})
    return rows


def _humans_grids(humans: HumanAgreement) -> list[Grid]:
    if not humans.doubly:
        return []
    rows = [
        [Cell("all"), Cell(f"Krippendorff's alpha, {name}"), *_cells(alpha)] for name, alpha in humans.alphas.items()
    ]
    rows += [
        [Cell(" – ".join(pair)), Cell("Cohen's kappa, quadratic"), *_cells(kappa)]
        for pair, kappa in humans.kappas.items()
    ]
    notes = [f"{judge}: {counts(number, 'grade')}." for judge, number in humans.judges.items()]
    reasons = {result.reason for result in (*humans.alphas.values(), *humans.kappas.values())} - {""}
    notes += [f"{reason[:1].upper()}{reason[1:]}." for reason in sorted(reasons)]
    return [
        Grid(
            ["people", "agreement", "value", "pairs"],
            rows,
            title="Agreement of people",
            notes=notes,
            text_columns=2,
            key_columns=2,
        )
    ]


def _cells(result: Agreement) -> list[Cell]:
    return [_number(result.value, result.interval), Cell(str(result.units))]


def _number(value: float | None, interval: Interval | None, *, signed: bool = False) -> Cell:
    if value is None:
        return Cell("–")
    text = partial(formatting.signed_number, digits=3) if signed else "{:.3f}".format
    return Cell(text(value), formatting.bounds(interval, text))


def _model_grids(model: JudgeQuality, scale: GradeScale) -> list[Grid]:
    facts = [
        *(
            [Cell(f"Cohen's kappa, {name}"), _number(kappa.value, kappa.interval)]
            for name, kappa in model.kappas.items()
        ),
        [Cell("mean error (judge − people)"), _number(model.error, model.error_interval, signed=True)],
    ]
    notes = [model.reason if model.usable else f"Refused for correction. {model.reason}"]
    notes.append(f"{counts(model.pairs, 'pair')} of {counts(model.queries, 'query', 'queries')} with a human label.")
    if model.unparsed:
        notes.append(f"Left out, because the answer is not a grade: {counts(model.unparsed, 'pair')}.")
    reasons = {kappa.reason for kappa in model.kappas.values()} - {""}
    notes += [f"{reason[:1].upper()}{reason[1:]}." for reason in sorted(reasons)]
    grids = [Grid(["agreement", "value"], facts, title=f"{model.judge} against people", notes=notes)]
    if model.pairs:
        grids += [_confusion(model, scale), _biases(model)]
    return grids


def _confusion(model: JudgeQuality, scale: GradeScale) -> Grid:
    rows = []
    for human, name in enumerate(scale.names):
        cells = [cell for cell in model.confusion if cell.human == human]
        row = [_number(cell.share, cell.interval) for cell in cells]
        rows.append([Cell(f"{human} {name}"), *row, Cell(str(sum(cell.number for cell in cells)))])
    headings = ["grade of people", *(f"judge {grade}" for grade in range(len(scale.names))), "pairs"]
    return Grid(headings, rows, notes=["Shares of each row, with intervals over queries."])


def _biases(model: JudgeQuality) -> Grid:
    rows = [
        [
            Cell(bias.name.replace(":", " ", 1)),
            Cell(bias.unit),
            _number(bias.value, bias.interval, signed=True),
            Cell(_reading(bias)),
        ]
        for bias in model.biases
    ]
    notes = [
        "Bias: the change of the judge's error (its grade − that of people) among pairs with the same human grade."
    ]
    reasons = {bias.reason for bias in model.biases} - {""}
    notes += [f"{reason[:1].upper()}{reason[1:]}." for reason in sorted(reasons)]
    return Grid(["bias", "per", "grades", "shown"], rows, notes=notes, text_columns=2)


def _reading(bias: Bias) -> str:
    if bias.interval is None or bias.value is None:
        return "–"
    return ("favoured" if bias.value > 0 else "disfavoured") if bias.is_shown else "not shown"
