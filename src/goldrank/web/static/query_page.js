// One query in several runs: the rankings with the gold marked, scores, texts and shared words.

import { get, parameters } from "./api.js";
import { LIST_PARAMETERS, listDetail } from "./list_detail.js";
import { bdi, empty, field, expandable, h, runName, select } from "./dom.js";
import { digits, signed, strip, value } from "./numbers.js";
import { sharedSlices, sliceField } from "./slices.js";
import { columnHeadings, createTable, scrollable } from "./tables.js";

const FIELDS = [...LIST_PARAMETERS, "metric", "depth", "query", "first", "second", "slice"];
const ORDERS_OF_ONE = [
  ["", "worst first"],
  ["value asc", "lowest first"],
  ["value desc", "highest first"],
  ["id asc", "by id"],
];
const ORDERS_OF_TWO = [
  ["", "largest difference"],
  ["difference desc", "first run higher"],
  ["difference asc", "second run higher"],
  ["value asc", "lowest value of the first run"],
  ["value desc", "highest value of the first run"],
  ["id asc", "by id"],
];
const DEPTHS = [["10"], ["20"], ["50"], ["100"]];
const SNIPPET = 150;

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  if (!keys.length) {
    view.replaceChildren(h("h1", { tabindex: "-1" }, "Queries"), await suggestions(signal));
    return "Queries";
  }
  const state = { key: keys, ...Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""])) };
  const slices = await sharedSlices(keys, signal);
  await listDetail(view, signal, state, {
    name: "query",
    label: "Queries",
    intro: "Choose a query to see where each model put its gold.",
    placeholder: "words of the query, or its id",
    opensFirst: true,
    orders: keys.length > 1 ? ORDERS_OF_TWO : ORDERS_OF_ONE,
    fetchList: (values) =>
      get(
        "queries",
        {
          ...values,
          key: keys,
          first: state.first,
          second: state.second,
          metric: state.metric,
          slice: state.slice,
        },
        signal,
      ),
    filters: (refresh) => sliceField(slices, state.slice, (slice) => refresh({ slice })),
    entries: (data) => data.queries.map((entry) => listed(entry, data)),
    caption,
    fetchDetail: () => get("query", { key: keys, query: state.query, depth: state.depth }, signal),
    renderDetail: (data, change) => drillDown(data, keys, state, (depth) => change({ depth })),
  });
  return state.query ? `Query ${state.query}` : "Queries";
}

/** Return an entry of the list: the difference with both values in small print, or the value of a single run. */
function listed({ id, text, value: number, other, difference }, data) {
  const name = text ? [id] : [];
  if (!data.second) return { id, number: value(number), title: text || id, small: name };
  const both = [number, other].map((each) => (each === null ? "–" : digits(each))).join(" · ");
  return { id, number: signed(difference), title: text || id, small: [...name, both] };
}

/** Show which metric is listed; of several runs, let two be chosen. */
function caption(data, refresh) {
  if (!data.second) return h("p", { class: "note" }, bdi(data.metric));
  const models = Object.values(data.models);
  const isRepeated = (model) => models.indexOf(model) !== models.lastIndexOf(model);
  const runs = Object.entries(data.models).map(([key, model]) => [key, isRepeated(model) ? key : model]);
  const others = (key) => runs.filter(([other]) => other !== key);
  return h(
    "div",
    { class: "search" },
    field(
      "First run",
      select(others(data.second), data.first, (first) => refresh({ first, second: data.second })),
    ),
    field(
      "Second run",
      select(others(data.first), data.second, (second) => refresh({ first: data.first, second })),
    ),
    h("p", { class: "note" }, bdi(data.metric), " of the first run minus the second"),
  );
}

async function suggestions(signal) {
  const { runs } = await get("runs", { kind: "ranked", size: 10 }, signal);
  if (!runs.length) return empty("There are no ranked runs yet.", "goldrank demo");
  return h(
    "div",
    {},
    h("p", {}, "Pick runs of one task on the ", h("a", { href: "/" }, "list of runs"), ", or open one of these:"),
    h(
      "ul",
      { class: "plain" },
      runs.map((run) =>
        h(
          "li",
          {},
          h("a", { href: `/query?${parameters({ key: run.key })}` }, bdi(run.model)),
          " on ",
          bdi(run.task),
        ),
      ),
    ),
  );
}

function drillDown(data, keys, state, ondepth) {
  const models = data.models ?? {};
  const runs = keys.filter((key) => key in data.rankings);
  const relevant = data.gold.filter((gold) => gold.grade > 0);
  const { title, text, id } = data.query;
  return [
    h("p", { class: "crumbs" }, "Query ", title || text ? bdi(id, { class: "mono" }) : null),
    h(
      "h1",
      { tabindex: "-1", class: "question" },
      title || text ? (title ? bdi(title) : expandable(text, { limit: 300 })) : bdi(id),
    ),
    title && text ? h("div", { class: "passage" }, expandable(text, { limit: 400 })) : "",
    h("h2", {}, relevant.length === 1 ? "The right answer" : `${relevant.length} right answers`),
    goldTable(data.gold, runs, models),
    h(
      "div",
      { class: "between" },
      h("h2", {}, "Rankings"),
      field("Depth", select(DEPTHS, state.depth || "20", ondepth)),
    ),
    runs.length > 1 || runs.length === 0
      ? ""
      : h("p", { class: "note" }, "Pick more runs on the list to see them side by side."),
    h(
      "div",
      { class: "rankings" },
      runs.map((key) => ranking(key, models[key] ?? key, data, relevant, repeatedTitles(data))),
    ),
  ];
}

/** Return the titles that several items share, so that their ids have to be shown. */
function repeatedTitles(data) {
  const items = new Map();
  for (const { item, title } of [...data.gold, ...Object.values(data.rankings).flat()]) {
    if (title) items.set(title, (items.get(title) ?? new Set()).add(item));
  }
  return new Set([...items].filter(([, ids]) => ids.size > 1).map(([title]) => title));
}

function goldTable(gold, runs, models) {
  const shown = gold.filter((item) => item.grade > 0);
  if (!shown.length) return h("p", { class: "soft" }, "Nothing is judged relevant to this query.");
  const best = (item) => Math.min(...runs.map((key) => item.places[key]?.rank ?? Infinity));
  const headings = columnHeadings(["Gold", ...runs.map((key) => runName(models[key] ?? key))]);
  const rows = shown.map((item) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        bdi(item.title || item.item),
        item.title && item.title !== item.item ? h("span", { class: "key" }, bdi(item.item)) : null,
        item.grade === 1 ? null : h("span", { class: "badge gold" }, `grade ${item.grade}`),
      ),
      runs.map((key) => h("td", { class: "figure" }, place(item.places[key], best(item)))),
    ),
  );
  return scrollable("Where the gold landed", createTable(headings, rows, { class: "gold" }));
}

function place(where, best) {
  if (!where?.found) return h("span", { class: "soft" }, "not found");
  const text = where.last > where.rank ? `${where.rank}–${where.last}` : String(where.rank);
  return where.rank === best ? h("strong", {}, text) : text;
}

function ranking(key, model, data, relevant, repeated) {
  const ranks = relevant.map((gold) => gold.places[key]?.rank).filter(Boolean);
  const entries = data.rankings[key];
  const values = Object.entries(data.values[key] ?? {});
  return h(
    "section",
    { class: "ranking", "aria-label": model },
    h("h3", {}, h("a", { href: `/runs/${encodeURIComponent(key)}` }, bdi(model))),
    h(
      "p",
      { class: "values" },
      values.slice(0, 4).map(([name, number]) => h("span", {}, bdi(name), " ", value(number))),
    ),
    strip(ranks),
    entries.length
      ? h(
          "ol",
          {},
          entries.map((entry) => hit(entry, repeated.has(entry.title))),
        )
      : h("p", { class: "soft" }, "No ranking was stored, only where the gold landed."),
  );
}

function hit(entry, showId) {
  const isGold = entry.grade > 0;
  return h(
    "li",
    { class: isGold ? "hit gold" : "hit", value: entry.rank },
    h("span", { class: "rank" }, String(entry.rank)),
    h(
      "div",
      {},
      h(
        "div",
        { class: "name" },
        bdi(entry.title || entry.item, { title: entry.item }),
        showId ? h("span", { class: "key" }, bdi(entry.item)) : null,
        entry.chunk ? h("span", { class: "badge", title: "its best chunk" }, bdi(entry.chunk)) : null,
        isGold ? h("span", { class: "badge gold" }, entry.grade === 1 ? "gold" : `gold, ${entry.grade}`) : null,
        entry.grade !== null && !isGold ? h("span", { class: "badge" }, "judged, not relevant") : null,
      ),
      entry.text
        ? h("div", { class: "passage" }, expandable(entry.text, { limit: SNIPPET, shared: entry.shared }))
        : null,
    ),
    h("span", { class: "interval", title: String(entry.score) }, entry.score === null ? "–" : digits(entry.score)),
  );
}
