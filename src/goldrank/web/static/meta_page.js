// Meta-evaluation: how well each evaluator predicts each downstream score, over all models of the store.

import { get, parameters } from "./api.js";
import { bdi, empty, field, h, select, skeleton } from "./dom.js";
import { createLoader } from "./loading.js";
import { interval, value } from "./numbers.js";
import { updateAddress } from "./router.js";
import { columnHeadings, createTable, scrollable } from "./tables.js";

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
    for (const side of SIDES) state[side] = evaluators.filter(({ kind }) => kind === side).map(({ name }) => name);
  }
  const heading = h("h1", { tabindex: "-1" }, "Meta-evaluation");
  const lead = h("p", { class: "lead" }, "Which evaluation predicts which other, over the models that have both?");
  if (evaluators.length < 2) {
    view.replaceChildren(
      heading,
      lead,
      empty(
        "This takes scores of several models on at least two tasks.",
        "goldrank run -m tfidf lsa:64 wordllama -t sentence-pairs questions",
      ),
    );
    return "Meta-evaluation";
  }
  const fill = createLoader(body, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    updateAddress(parameters(state));
    const isDecided = SIDES.every((side) => state[side].length);
    await fill(
      async () => (isDecided ? get("meta", state, signal) : null),
      (data) =>
        data ? renderResult(data) : [h("p", { class: "soft" }, "Choose at least one evaluator for each side.")],
    );
  }

  view.replaceChildren(heading, lead, choices(evaluators, state, refresh), body);
  await refresh();
  return "Meta-evaluation";
}

/** Choose for each evaluator whether it predicts, is predicted, or neither. */
function choices(evaluators, state, refresh) {
  const box = (side, { name }) => {
    const element = h("input", {
      type: "checkbox",
      "aria-label": `${name} is ${side}`,
      onchange: (event) =>
        refresh({
          [side]: event.target.checked ? [...state[side], name] : state[side].filter((other) => other !== name),
        }),
    });
    element.checked = state[side].includes(name);
    return element;
  };
  const headings = columnHeadings(["Evaluator", "Predicts", "Is predicted"], 3);
  const rows = evaluators.map((evaluator) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, bdi(evaluator.name), h("span", { class: "soft" }, ` ${evaluator.models} ${evaluator.models === 1 ? "model" : "models"}`)),
      SIDES.map((side) => h("td", {}, box(side, evaluator))),
    ),
  );
  return h(
    "div",
    { class: "board choices-table" },
    scrollable("Evaluators", createTable(headings, rows)),
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

function renderResult(data) {
  const cells = new Map(data.cells.map((cell) => [JSON.stringify([cell.intrinsic, cell.downstream]), cell]));
  const overall = new Map(data.overall.map((entry) => [entry.evaluator, entry]));
  const headings = ["Evaluator", ...data.downstream.map((name) => bdi(name)), "Mean"];
  const rows = data.overall.map(({ evaluator: name }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, bdi(name)),
      data.downstream.map((task) => correlation(cells.get(JSON.stringify([name, task])), data.alpha)),
      mean(overall.get(name)),
    ),
  );
  return [
    h(
      "div",
      { class: "verdict" },
      data.verdicts.map((text) => h("p", {}, bdi(text))),
    ),
    ...data.warnings.map((text) => h("p", { class: "warning" }, bdi(text), ".")),
    scrollable("Correlations", createTable(columnHeadings(headings, headings.length), rows, { class: "heat" })),
    h(
      "p",
      { class: "note" },
      `${data.models.length} models; ${Math.round(100 * data.level)}% intervals, `,
      `bootstrap of ${data.resamples} resamples (seed ${data.seed})`,
      `${data.clustered ? ", families sampled together" : ""}. Bold: significant after Holm at ${data.alpha}.`,
    ),
    h(
      "details",
      {},
      h("summary", {}, "Models"),
      h(
        "ul",
        { class: "lines" },
        data.models.map((name) => h("li", {}, bdi(name))),
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

const mean = (entry) => h("td", {}, value(entry?.mean ?? null), entry ? interval(entry.low, entry.high) : null);
