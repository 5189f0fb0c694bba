"""A judging project with known grades: systems of different skill, human judges and model judges."""

from dataclasses import asdict

import numpy as np

from goldrank.hits import Run
from goldrank.judging.labels import Label, ModelGrade, timestamp
from goldrank.judging.plans import plan_items, plan_queries
from goldrank.judging.pools import build_pool
from goldrank.judging.project import JudgingProject
from goldrank.judging.tables import EVENTS

SKILLS = {"good": 0.4, "middling": 0.9, "poor": 2.5}
ITEMS = 20


def truth(queries=30, seed=0):
    """Return the true grade of each item of each query."""
    rng = np.random.default_rng(seed)
    return {
        f"q{q}": {f"q{q}d{i}": int(x > 0.8) + int(x > 1.5) for i, x in enumerate(rng.normal(0, 1, ITEMS))}
        for q in range(queries)
    }


def rankings(grades, skills=None, depth=8, seed=1):
    rng = np.random.default_rng(seed)
    runs = {}
    for name, noise in (skills or SKILLS).items():
        run = {}
        for query, row in grades.items():
            scores = {item: grade + rng.normal(0, noise) for item, grade in row.items()}
            run[query] = dict(sorted(scores.items(), key=lambda entry: -entry[1])[:depth])
        runs[name] = Run(run)
    return runs


def create(folder, grades, *, runs=None, depth=5, plan=None, sample="queries", budget=None):
    runs = runs or rankings(grades)
    pool = build_pool(runs, grades, depth=depth)
    if plan is None:
        make = plan_items if sample == "items" else plan_queries
        plan = make(pool, budget=budget, double=0)
    return JudgingProject.create(
        folder, pool=pool, plan=plan, queries={query: f"what is {query}?" for query in grades},
        texts={item: f"text of {item}" for row in grades.values() for item in row}, titles={}, rankings=runs,
        provenance={}, budget=budget,
    )  # fmt: skip


def judge(project, grades, units=None):
    """Label the planned units that are not complete, up to a number of units."""
    completed = len(project.complete_units())
    rows = [
        {
            "action": "label",
            **asdict(Label(unit.query, item, grades[unit.query][item], "ann", "human", timestamp(), 1.0)),
        }
        for unit in project.plan.units[completed:units]
        for item in unit.items
    ]
    # All labels are written in one transaction, because a transaction for each label is slow.
    if rows:
        with project._database.writing() as connection:
            connection.execute(EVENTS.insert(), rows)


def grade(project, grades, *, wrong=0.1, name="model:test", seed=2):
    """Grade the whole pool as a model judge that is wrong about a share of the items."""
    rng = np.random.default_rng(seed)
    project.add_model_grades(
        ModelGrade(query, item, grades[query][item] if rng.random() >= wrong else int(rng.integers(0, 3)), name, "", "")
        for query in project.queries
        for item in project.pool.ids(query)
    )
