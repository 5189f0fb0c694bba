// One query in several runs: the rankings with the gold marked, scores, texts and shared words.

import { get, parameters } from "./api.js";
import { LIST_PARAMETERS, listDetail } from "./list_detail.js";
import { bdi, empty, field, expandable, h, select } from "./dom.js";
import { digits, strip, value } from "./numbers.js";
import { columnHeadings, createTable, scrollable } from "./tables.js";

const FIELDS = [...LIST_PARAMETERS, "metric", "depth", "query"];
const DEPTHS = [["10"], ["20"], ["50"], ["100"]];
const SNIPPET = 150;

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  if (!keys.length) {
    view.replaceChildren(h("h1", { tabindex: "-1" }, "Queries"), await suggestions(signal));
    return "Queries";
  }
  const state = { key: keys, ...Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""])) };
  await listDetail(view, signal, state, {
    name: "query",
    label: "Queries",
    intro: "Choose a query to see where each model put its gold.",
    placeholder: "words of the query, or its id",
    orders: [
      ["value asc", "lowest first"],
      ["value desc", "highest first"],
      ["id asc", "by id"],
    ],
    fetchList: (values) =>
      get(`runs/${encodeURIComponent(keys[0])}/queries`, { ...values, metric: state.metric }, signal),
    entries: (data) =>
      data.queries.map(({ id, text, value: number }) => ({
        id,
        value: number,
        title: text || id,
        small: text ? id : null,
      })),
    caption: (data) => `${data.metric} of the first run`,
    fetchDetail: () => get("query", { key: keys, query: state.query, depth: state.depth }, signal),
    renderDetail: (data, change) => drillDown(data, keys, state, (depth) => change({ depth })),
  });
  return state.query ? `Query ${state.query}` : "Queries";
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
    h("p", { class: "crumbs" }, "Query ", bdi(id, { class: "mono" })),
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
      runs.map((key) => ranking(key, models[key] ?? key, data, relevant)),
    ),
  ];
}

function goldTable(gold, runs, models) {
  const shown = gold.filter((item) => item.grade > 0);
  if (!shown.length) return h("p", { class: "soft" }, "Nothing is judged relevant to this query.");
  const best = (item) => Math.min(...runs.map((key) => item.places[key]?.rank ?? Infinity));
  const headings = columnHeadings(["Gold", ...runs.map((key) => bdi(models[key] ?? key))]);
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

function ranking(key, model, data, relevant) {
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
          entries.map((entry) => hit(entry)),
        )
      : h("p", { class: "soft" }, "No ranking was stored, only where the gold landed."),
  );
}

function hit(entry) {
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
