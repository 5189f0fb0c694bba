// Which evaluator predicts which downstream score, over all models of the store.

import { get, parameters } from "./api.js";
import { empty, field, h, said, select, skeleton } from "./dom.js";
import { filler } from "./loading.js";
import { interval, value } from "./numbers.js";
import { note } from "./router.js";

const SIDES = ["intrinsic", "downstream"];
const KINDS = [
  ["spearman", "Spearman"],
  ["pearson", "Pearson"],
  ["kendall", "Kendall"],
];

export async function show(view, { query, signal }) {
  const state = {
    intrinsic: query.getAll("intrinsic"),
    downstream: query.getAll("downstream"),
    kind: query.get("kind") ?? "",
  };
  const { evaluators } = await get("meta/evaluators", {}, signal);
  const body = h("div", {}, skeleton(5));
  if (!query.has("intrinsic") && !query.has("downstream")) {
    for (const side of SIDES) state[side] = evaluators.filter((one) => one.kind === side).map((one) => one.name);
  }
  const heading = h("h1", { tabindex: "-1" }, "Meta-evaluation");
  const lead = h("p", { class: "lead" }, "Which evaluation predicts which other, over the models that have both?");
  if (evaluators.length < 2) {
    view.replaceChildren(
      heading,
      lead,
      empty(
        "This takes scores of several models on at least two tasks.",
        "goldrank run -m tfidf lsa:64 wordllama -t sentence-pairs trec",
      ),
    );
    return "Meta-evaluation";
  }
  const fill = filler(body, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    note(parameters(state));
    const isDecided = SIDES.every((side) => state[side].length);
    await fill(
      async () => (isDecided ? get("meta", state, signal) : null),
      (found) => (found ? drawn(found) : [h("p", { class: "soft" }, "Choose at least one evaluator for each side.")]),
    );
  }

  view.replaceChildren(heading, lead, choices(evaluators, state, refresh), body);
  await refresh();
  return "Meta-evaluation";
}

/** A row for each evaluator: does it predict, is it predicted, or neither. */
function choices(evaluators, state, refresh) {
  const box = (side, { name }) => {
    const made = h("input", {
      type: "checkbox",
      "aria-label": `${name} is ${side}`,
      onchange: (event) =>
        refresh({ [side]: event.target.checked ? [...state[side], name] : state[side].filter((one) => one !== name) }),
    });
    made.checked = state[side].includes(name);
    return made;
  };
  const table = h(
    "table",
    {},
    h(
      "thead",
      {},
      h(
        "tr",
        {},
        h("th", { scope: "col" }, "Evaluator"),
        h("th", { scope: "col" }, "Predicts"),
        h("th", { scope: "col" }, "Is predicted"),
      ),
    ),
    h(
      "tbody",
      {},
      evaluators.map((one) =>
        h(
          "tr",
          {},
          h("th", { scope: "row" }, said(one.name), h("span", { class: "soft" }, ` ${one.models} models`)),
          SIDES.map((side) => h("td", {}, box(side, one))),
        ),
      ),
    ),
  );
  return h(
    "div",
    { class: "board choices-table" },
    h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Evaluators" }, table),
    h(
      "div",
      { class: "filters" },
      field(
        "Correlation",
        select(KINDS, state.kind || "spearman", (kind) => refresh({ kind })),
      ),
    ),
  );
}

function drawn(found) {
  const cells = new Map(found.cells.map((cell) => [JSON.stringify([cell.intrinsic, cell.downstream]), cell]));
  const overall = new Map(found.overall.map((one) => [one.evaluator, one]));
  const rows = found.overall.map((one) => one.evaluator);
  return [
    h(
      "div",
      { class: "verdict" },
      found.verdicts.map((text) => h("p", {}, said(text))),
    ),
    ...found.warnings.map((text) => h("p", { class: "warning" }, said(text), ".")),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Correlations" },
      h(
        "table",
        { class: "heat" },
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Evaluator"),
            found.downstream.map((name) => h("th", { scope: "col" }, said(name))),
            h("th", { scope: "col" }, "Mean"),
          ),
        ),
        h(
          "tbody",
          {},
          rows.map((name) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, said(name)),
              found.downstream.map((task) => correlation(cells.get(JSON.stringify([name, task])), found.alpha)),
              mean(overall.get(name)),
            ),
          ),
        ),
      ),
    ),
    h(
      "p",
      { class: "note" },
      `${found.models.length} models; ${Math.round(100 * found.level)}% intervals, `,
      `bootstrap of ${found.resamples} resamples (seed ${found.seed})`,
      `${found.clustered ? ", families drawn together" : ""}. Bold: significant after Holm at ${found.alpha}.`,
    ),
    h(
      "details",
      {},
      h("summary", {}, "Models"),
      h(
        "ul",
        { class: "lines" },
        found.models.map((name) => h("li", {}, said(name))),
      ),
    ),
  ];
}

function correlation(cell, alpha) {
  if (!cell || cell.value === null) return h("td", {}, "–");
  const isSure = cell.p_adjusted !== null && cell.p_adjusted < alpha;
  const style = {
    "--tint": cell.value < 0 ? "var(--wrong)" : "var(--gold)",
    "--strength": `${Math.round(Math.abs(cell.value) * 45)}%`,
  };
  return h(
    "td",
    { style, title: `p = ${cell.p}, after Holm ${cell.p_adjusted}; ${cell.models} models` },
    isSure ? h("strong", {}, value(cell.value)) : value(cell.value),
    interval(cell.low, cell.high),
  );
}

const mean = (one) => h("td", {}, value(one?.mean ?? null), one ? interval(one.low, one.high) : null);
