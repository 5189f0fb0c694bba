// The differences of two stored runs without gold: verdict, overlap and churn by depth, the queries that changed most.

import { get, parameters } from "./api.js";
import { bdi, expandable, field, h, skeleton } from "./dom.js";
import { createLoader } from "./loading.js";
import { count, interval, value } from "./numbers.js";
import { updateAddress } from "./router.js";
import { sharedSlices, sliceField } from "./slices.js";
import { columnHeadings, createTable, scrollable } from "./tables.js";

const MOST_ITEMS = 10;

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  const heading = h("h1", { tabindex: "-1" }, "What changed");
  if (keys.length !== 2) {
    view.replaceChildren(
      heading,
      h("p", {}, "Pick two runs on the ", h("a", { href: "/" }, "list of runs"), ", compare them, and come from there."),
    );
    return "What changed";
  }
  const state = { key: keys, depth: query.get("depth") ?? "", slice: query.get("slice") ?? "" };
  const body = h("div", {}, skeleton(12));
  const fill = createLoader(body, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    updateAddress(parameters(state));
    await fill(
      () => get("diff", state, signal),
      (data) => renderPair(data.pairs[0], state.key),
    );
  }

  const swap = h("button", { type: "button", onclick: () => refresh({ key: [...state.key].reverse() }) }, "Swap");
  const depth = h("input", {
    type: "number",
    min: "1",
    value: state.depth,
    placeholder: "all",
    onchange: (event) => refresh({ depth: event.target.value }),
  });
  const filters = h("div", { class: "filters" }, field("Results per query", depth));
  view.replaceChildren(heading, filters, body);
  const [slices] = await Promise.all([sharedSlices(keys, signal), refresh()]);
  filters.append(sliceField(slices, state.slice, (slice) => refresh({ slice })) ?? "", swap);
  return "What changed";
}

const runLink = (name, key) => h("a", { href: `/runs/${encodeURIComponent(key)}` }, bdi(name));

function renderPair(pair, keys) {
  return [
    h("p", { class: "lead" }, "From ", runLink(pair.a, keys[0]), " to ", runLink(pair.b, keys[1])),
    h("div", { class: "verdict" }, h("p", {}, bdi(pair.verdict))),
    pair.notes.map((text) => h("p", { class: "note" }, bdi(text))),
    scrollable("Overall", overallTable(pair)),
    h("h2", {}, "By depth"),
    scrollable("By depth", depthTable(pair)),
    h(
      "p",
      { class: "note" },
      "Items per query that entered, left, or changed their order among the common items; real changes only.",
    ),
    pair.most_changed.length ? [h("h2", {}, "Queries that changed most"), changedTable(pair, keys)] : null,
  ].filter(Boolean);
}

const measured = (measure) =>
  h("td", { class: "figure" }, value(measure.mean), interval(measure.low, measure.high));

function overallTable(pair) {
  const { measures, queries } = pair;
  const numbers = ["same", "ties", "noise", "changed"].map((name) => h("td", { class: "figure" }, count(queries[name])));
  return createTable(
    columnHeadings(["RBO", "Kendall’s tau", "Same", "Ties only", "Noise only", "Changed", "Only one run"], 0),
    [
      h(
        "tr",
        {},
        measured(measures.rbo),
        measured(measures.tau),
        numbers,
        h("td", { class: "figure" }, count(pair.only_a.length + pair.only_b.length)),
      ),
    ],
  );
}

function depthTable(pair) {
  const rows = pair.by_depth.map((row) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, count(row.depth)),
      ["overlap", "entered", "left", "moved"].map((name) => measured(row[name])),
    ),
  );
  return createTable(columnHeadings(["Depth", "Overlap", "Entered", "Left", "Moved"]), rows);
}

function changedTable(pair, keys) {
  const depth = pair.listed_depth;
  const rows = pair.most_changed.map((change) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h("a", { href: `/query?${parameters({ key: keys, query: change.query })}` }, bdi(change.query)),
        change.text ? h("div", { class: "passage" }, expandable(change.text, { limit: 120 })) : null,
      ),
      h("td", {}, itemList(change.entered)),
      h("td", {}, itemList(change.left)),
      ["rbo", "tau", `overlap@${depth}`].map((name) => h("td", { class: "figure" }, value(change.measures[name]))),
    ),
  );
  const headings = ["Query", `Entered the first ${depth}`, `Left the first ${depth}`, "RBO", "Tau", `Overlap@${depth}`];
  return scrollable("Queries that changed most", createTable(columnHeadings(headings, 3), rows));
}

function itemList(items) {
  if (!items.length) return h("span", { class: "soft" }, "–");
  const more = items.length - MOST_ITEMS;
  return [
    items.slice(0, MOST_ITEMS).map((item, at) => [at ? ", " : "", bdi(item)]),
    more > 0 ? h("span", { class: "soft" }, ` and ${count(more)} more`) : null,
  ];
}
