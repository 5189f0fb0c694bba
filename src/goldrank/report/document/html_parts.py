"""The parts of a section as HTML: verdict, tables, figures, queries, notes and provenance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from goldrank.errors import counts
from goldrank.metrics import Metric
from goldrank.report.document.markup import escape, folded, isolated
from goldrank.report.document.sections import Answer, Case, GoldItem, Passage, Place, Rival, RunAbout, Section
from goldrank.report.figures.description import Figure
from goldrank.report.text import formatting
from goldrank.report.text.grids import Cell, Grid

KINDS = {"ranked": "rankings", "measured": "measurements", "masked": "masked names"}
_LONG, _MIDDLE, _SHORT = 600, 320, 160
"""Characters of a text before "more": of a query, of its gold, and in a table."""


def section_markup(section: Section, number: int, opened: bool) -> str:
    """One section; what goes into detail is folded unless *opened*."""
    first, *further = section.tables
    parts = [
        f"<h2>{isolated(section.task)}</h2>",
        f'<p class="kind">{counts(len(section.runs), "run")} · {KINDS[section.kind]}</p>',
        _verdict(section.verdicts),
        f"<h3>{escape(first.title or 'Results')}</h3>",
        table(first),
        *(_fold(escape(grid.title or "More"), table(grid), opened) for grid in further),
        _figures(section, number),
        _cases(section, opened),
        _list("Data quality", section.quality),
        _list("Conventions", section.conventions),
        "<h3>Provenance</h3>",
        *(_fold(isolated(run.name), _provenance(run), opened) for run in section.runs),
    ]
    return f'<section id="section-{number}">\n' + "\n".join(filter(None, parts)) + "\n</section>"


def _verdict(sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    first, *others = sentences
    more = "".join(f"<li>{isolated(line)}</li>" for line in others)
    return f'<div class="verdict"><p>{isolated(first)}</p>{f"<ul>{more}</ul>" if more else ""}</div>'


def table(grid: Grid) -> str:
    """A table that scripts can sort, with its notes below."""
    headings = "".join(
        f'<th scope="col"{_text_class(at, grid)}>{isolated(heading)}</th>' for at, heading in enumerate(grid.headings)
    )
    rows = "\n".join(f"<tr>{''.join(_cell(cell, at, grid) for at, cell in enumerate(row))}</tr>" for row in grid.rows)
    notes = "".join(f'<p class="note">{isolated(note)}</p>' for note in grid.notes if note)
    return (
        f'<div class="wide" tabindex="0" role="region" aria-label="{escape(grid.title or "table")}">'
        f'<table class="sortable"><thead><tr>{headings}</tr></thead>\n<tbody>{rows}</tbody></table></div>{notes}'
    )


def _text_class(at: int, grid: Grid) -> str:
    return ' class="text"' if at < grid.text_columns else ""


def _cell(cell: Cell, at: int, grid: Grid) -> str:
    classes = " ".join(filter(None, ["text" * (at < grid.text_columns), "best" * cell.best]))
    detail = f"<small>{isolated(cell.detail)}</small>" if cell.detail else ""
    value = f'<span class="value">{isolated(cell.text)}</span>{escape(cell.marks)}{detail}'
    return f'<td class="{classes}">{value}</td>' if classes else f"<td>{value}</td>"


def _fold(summary: str, content: str, opened: bool) -> str:
    return f"<details{' open' * opened}><summary><h4>{summary}</h4></summary>{content}</details>"


def _list(title: str, sentences: Sequence[str]) -> str:
    if not sentences:
        return ""
    items = "".join(f"<li>{isolated(line)}</li>" for line in sentences)
    return f'<h3>{escape(title)}</h3><ul class="plain">{items}</ul>'


def figure_name(number: int, figure: Figure) -> str:
    """The id of the element that holds a figure's data."""
    return f"figure-{number}-{figure.name}"


def _figures(section: Section, number: int) -> str:
    if not section.figures and not section.left_out:
        return ""
    made = "\n".join(_figure(figure, figure_name(number, figure)) for figure in section.figures)
    left_out = "".join(
        f'<p class="note">Not shown, {escape(one.name)}: {isolated(one.reason)}.</p>' for one in section.left_out
    )
    unseen = '<noscript><p class="note">The figures need JavaScript; all numbers are in the tables.</p></noscript>'
    return f'<h3>Figures</h3>{unseen if made else ""}<div class="figures">{made}</div>{left_out}'


def _figure(figure: Figure, source: str) -> str:
    note = f" {isolated(figure.note)}" if figure.note else ""
    return (
        f"<figure><h4>{isolated(figure.title)}</h4>"
        f'<div class="plot" data-source="{escape(source)}" role="img" aria-label="{escape(figure.title)}"></div>'
        f"<figcaption>{isolated(figure.caption)}{note}</figcaption></figure>"
    )


def _cases(section: Section, opened: bool) -> str:
    if not section.cases:
        return ""
    title = cases_title(section)
    shown = "\n".join(_case(case, opened or at == 0) for at, case in enumerate(section.cases))
    return f"<h3>{escape(title)}</h3>{shown}"


def cases_title(section: Section) -> str:
    """What the queries of a section have in common."""
    metric = section.cases[0].metric
    if len(section.runs) == 1:
        return f"The queries with the worst {metric}"
    return f"The queries on which {metric} differs most"


def _case(case: Case, opened: bool) -> str:
    metric = Metric.parse(case.metric)
    apart = f"{formatting.value(metric, case.spread)} {'apart' if len(case.answers) > 1 else 'short'}"
    summary = f'{isolated(_heading(case.query))} <span class="tag">{escape(apart)}</span>'
    gold = "".join(_gold(item, at, len(case.gold)) for at, item in enumerate(case.gold, 1))
    more = f'<p class="note">And {counts(case.more_gold, "further relevant item")}.</p>' if case.more_gold else ""
    ranks = "ranks of the gold" if len(case.gold) > 1 else "rank of the gold"
    headings = [("run", "text"), (str(metric), ""), (ranks, ""), ("ranked above the gold", "text")]
    head = "".join(f'<th scope="col" class="{kind}">{escape(name)}</th>' for name, kind in headings)
    rows = "\n".join(_answer(answer, case, metric) for answer in case.answers)
    return (
        f'<details class="case"{" open" * opened}><summary>{summary}</summary>'
        f'<div class="passage">{_passage(case.query, _LONG)}</div>{gold}{more}'
        f'<div class="wide" tabindex="0" role="region" aria-label="answers"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div></details>"
    )


def _heading(query: Passage) -> str:
    said = query.title or query.text or query.id
    return said if len(said) <= 120 else said[:119].rstrip() + "…"


def _passage(passage: Passage, limit: int) -> str:
    title = f"<b>{isolated(passage.title[:300])}</b> " if passage.title else ""
    text = folded(passage.text, limit) if passage.text else ""
    return f'<span class="tag">{isolated(passage.id)}</span> {title}{text}'


def _gold(item: GoldItem, number: int, count: int) -> str:
    label = f"Gold {number}, grade {item.grade:g}" if count > 1 else f"Gold, grade {item.grade:g}"
    return f'<div class="gold"><p>{escape(label)}</p><div class="passage">{_passage(item.passage, _MIDDLE)}</div></div>'


def rank_text(place: Place) -> str:
    """A rank, or the ranks over which tied items are averaged, or a dash for what was not ranked.

    >>> rank_text(Place(3, 3)), rank_text(Place(3, 5)), rank_text(Place(None, None))
    ('3', '3–5', '–')
    """
    if place.rank is None:
        return "–"
    return str(place.rank) if place.last == place.rank else f"{place.rank}–{place.last}"


def ranks_text(answer: Answer, case: Case) -> str:
    """Where a run put the gold that is shown, in its order."""
    return " · ".join(rank_text(item.places[answer.key]) for item in case.gold) or "–"


def above_text(answer: Answer) -> str:
    """What stands above the gold beyond the items that are listed."""
    if answer.above == 0:
        return "nothing: the gold is first"
    if answer.above is None:
        return "the gold was not ranked" if answer.rivals else "the gold was not ranked, and no ranking is stored"
    left = answer.above - len(answer.rivals)
    return f"and {counts(left, 'more', 'more')}" if left > 0 else ""


def _answer(answer: Answer, case: Case, metric: Metric) -> str:
    places = escape(ranks_text(answer, case))
    rivals = "".join(f'<li class="passage">{_rival(rival)}</li>' for rival in answer.rivals)
    rest = above_text(answer)
    said = (f"<ol>{rivals}</ol>" if rivals else "") + (f'<span class="soft">{escape(rest)}</span>' if rest else "")
    return (
        f'<tr><td class="text">{isolated(answer.name)}</td><td>{escape(formatting.value(metric, answer.value))}</td>'
        f'<td>{places}</td><td class="text">{said}</td></tr>'
    )


def _rival(rival: Rival) -> str:
    judged = "" if rival.grade is None else f' <span class="tag">grade {rival.grade:g}</span>'
    return f"{rival.rank}. {_passage(rival.passage, _SHORT)}{judged}"


def _provenance(run: RunAbout) -> str:
    return f"<dl>{''.join(f'<dt>{escape(f.name)}</dt><dd>{isolated(f.value)}</dd>' for f in run.facts)}</dl>"


def commands_markup(commands: Iterable[str]) -> str:
    """Command lines, each in a box of its own."""
    return "".join(f'<div class="command"><pre><code>{escape(line)}</code></pre></div>' for line in commands)
