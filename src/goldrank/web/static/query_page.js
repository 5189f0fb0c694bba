// One query in several runs: search it, see each ranking with the gold marked, scores, texts and shared terms.

import { get, parameters } from "./api.js";
import { LISTED, beside } from "./beside.js";
import { empty, field, folded, h, said, select } from "./dom.js";
import { digits, strip, value } from "./numbers.js";

const FIELDS = [...LISTED, "metric", "depth", "query"];
const DEPTHS = [["10"], ["20"], ["50"], ["100"]];
const SNIPPET = 150;

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  if (!keys.length) {
    view.replaceChildren(h("h1", { tabindex: "-1" }, "Queries"), await suggestions(signal));
    return "Queries";
  }
  const state = { key: keys, ...Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""])) };
  await beside(view, signal, state, {
    name: "query",
    label: "Queries",
    intro: "Choose a query to see where each model put its gold.",
    placeholder: "words of the query, or its id",
    orders: [
      ["value asc", "lowest first"],
      ["value desc", "highest first"],
      ["id asc", "by id"],
    ],
    askList: (asked) => get(`runs/${encodeURIComponent(keys[0])}/queries`, { ...asked, metric: state.metric }, signal),
    entries: (found) =>
      found.queries.map(({ id, text, value: number }) => ({
        id,
        value: number,
        title: text || id,
        small: text ? id : null,
      })),
    caption: (found) => `${found.metric} of the first run`,
    askDetail: () => get("query", { key: keys, query: state.query, depth: state.depth }, signal),
    drawDetail: (found, change) => drillDown(found, keys, state, (depth) => change({ depth })),
  });
  return state.query ? `Query ${state.query}` : "Queries";
}

async function suggestions(signal) {
  const { runs } = await get("runs", { kind: "ranked", size: 10 }, signal);
  if (!runs.length) return empty("There are no ranked runs yet.", "goldrank demo");
  return h(
    "div",
    {},
    h("p", {}, "Pick runs of one task on the ", h("a", { href: "/" }, "list of runs"), ", or look into one of these:"),
    h(
      "ul",
      { class: "plain" },
      runs.map((run) =>
        h(
          "li",
          {},
          h("a", { href: `/query?${parameters({ key: run.key })}` }, said(run.model)),
          " on ",
          said(run.task),
        ),
      ),
    ),
  );
}

function drillDown(found, keys, state, ondepth) {
  const models = found.models ?? {};
  const runs = keys.filter((key) => key in found.rankings);
  const relevant = found.gold.filter((gold) => gold.grade > 0);
  const { title, text, id } = found.query;
  return [
    h("p", { class: "crumbs" }, "Query ", said(id, { class: "mono" })),
    h(
      "h1",
      { tabindex: "-1", class: "question" },
      title || text ? (title ? said(title) : folded(text, { limit: 300 })) : said(id),
    ),
    title && text ? h("div", { class: "passage" }, folded(text, { limit: 400 })) : "",
    h("h2", {}, relevant.length === 1 ? "The right answer" : `${relevant.length} right answers`),
    goldTable(found.gold, runs, models),
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
      runs.map((key) => ranking(key, models[key] ?? key, found, relevant)),
    ),
  ];
}

function goldTable(gold, runs, models) {
  const shown = gold.filter((one) => one.grade > 0);
  if (!shown.length) return h("p", { class: "soft" }, "Nothing is judged relevant to this query.");
  const best = (one) => Math.min(...runs.map((key) => one.places[key]?.rank ?? Infinity));
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Where the gold landed" },
    h(
      "table",
      { class: "gold" },
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          h("th", { scope: "col" }, "Gold"),
          runs.map((key) => h("th", { scope: "col", class: "figure" }, said(models[key] ?? key))),
        ),
      ),
      h(
        "tbody",
        {},
        shown.map((one) =>
          h(
            "tr",
            {},
            h(
              "th",
              { scope: "row" },
              said(one.title || one.item),
              one.title && one.title !== one.item ? h("span", { class: "key" }, said(one.item)) : null,
              one.grade === 1 ? null : h("span", { class: "badge gold" }, `grade ${one.grade}`),
            ),
            runs.map((key) => h("td", { class: "figure" }, place(one.places[key], best(one)))),
          ),
        ),
      ),
    ),
  );
}

function place(where, best) {
  if (!where?.found) return h("span", { class: "soft" }, "not found");
  const text = where.last > where.rank ? `${where.rank}–${where.last}` : String(where.rank);
  return where.rank === best ? h("strong", {}, text) : text;
}

function ranking(key, model, found, relevant) {
  const ranks = relevant.map((gold) => gold.places[key]?.rank).filter(Boolean);
  const entries = found.rankings[key];
  const values = Object.entries(found.values[key] ?? {});
  return h(
    "section",
    { class: "ranking", "aria-label": model },
    h("h3", {}, h("a", { href: `/runs/${encodeURIComponent(key)}` }, said(model))),
    h(
      "p",
      { class: "values" },
      values.slice(0, 4).map(([name, number]) => h("span", {}, said(name), " ", value(number))),
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
        said(entry.title || entry.item, { title: entry.item }),
        isGold ? h("span", { class: "badge gold" }, entry.grade === 1 ? "gold" : `gold, ${entry.grade}`) : null,
        entry.grade !== null && !isGold ? h("span", { class: "badge" }, "judged, not relevant") : null,
      ),
      entry.text ? h("div", { class: "passage" }, folded(entry.text, { limit: SNIPPET, shared: entry.shared })) : null,
    ),
    h("span", { class: "interval", title: String(entry.score) }, entry.score === null ? "–" : digits(entry.score)),
  );
}
