// Data quality: what stored hits and texts say about the data sets.

import { get, parameters } from "./api.js";
import { bdi, empty, h, runName, skeleton } from "./dom.js";
import { createLoader } from "./loading.js";
import { count } from "./numbers.js";
import { columnHeadings, createTable, scrollable } from "./tables.js";

const LABELS = {
  missing: "without results",
  ignored: "results of unknown queries",
  no_relevant: "nothing relevant",
  self_dropped: "self-matches dropped",
  outside: "gold outside the corpus",
};

export async function show(view, { query, signal }) {
  const task = query.get("task") ?? "";
  const { sets } = await get("quality", { task }, signal);
  if (!sets.length) {
    view.replaceChildren(
      h("h1", { tabindex: "-1" }, "Data"),
      empty("The store holds no data sets yet.", "goldrank demo"),
    );
    return "Data";
  }
  view.replaceChildren(
    task ? h("p", { class: "crumbs" }, h("a", { href: "/quality" }, "Data")) : "",
    h("h1", { tabindex: "-1" }, task ? bdi(task) : "Data"),
    task
      ? ""
      : h(
          "p",
          { class: "lead" },
          "Is the data fit for the numbers? Open a data set to read its gold, its ties and its texts.",
        ),
    ...sets.map((set) => (task ? sheet(set) : closedSheet(set, signal))),
  );
  return task ? `Data of ${task}` : "Data";
}

/** Show the counts of a data set; the details are loaded when it is opened. */
function closedSheet(set, signal) {
  const place = h("div");
  const link = h("a", { href: `/quality?${parameters({ task: set.task })}` }, bdi(set.task));
  const fill = createLoader(place, signal);
  const button = h(
    "button",
    {
      type: "button",
      "aria-expanded": "false",
      onclick: () => {
        button.setAttribute("aria-expanded", "true");
        button.disabled = true;
        place.replaceChildren(skeleton(3));
        return fill(
          () => get("quality", { task: set.task }, signal),
          (data) => data.sets.filter((entry) => entry.data === set.data).flatMap(details),
        );
      },
    },
    "Look closer",
  );
  return h(
    "section",
    { class: "sheet" },
    h("div", { class: "between" }, h("h2", {}, link), button),
    counts(set),
    place,
  );
}

const sheet = (set) => h("section", { class: "sheet" }, counts(set), details(set));

function counts(set) {
  const shown = [
    ["runs", set.runs],
    ["queries", set.queries],
    ["judged items", set.judged],
    ["kind", set.kind],
  ];
  return h(
    "dl",
    { class: "counts" },
    shown
      .filter(([, number]) => number !== 0)
      .map(([label, number]) =>
        h("div", {}, h("dt", {}, label), h("dd", {}, typeof number === "number" ? count(number) : number)),
      ),
  );
}

function details(set) {
  return [
    set.notes?.length
      ? h(
          "ul",
          { class: "lines" },
          set.notes.map((text) => h("li", {}, bdi(text))),
        )
      : h("p", {}, "No problems were found."),
    texts(set.texts ?? {}),
    set.details?.length ? runs(set.details) : "",
    ...set.remarks.flatMap((entry) => [
      h("h3", {}, bdi(entry.model)),
      h(
        "ul",
        { class: "lines" },
        entry.remarks.map((text) => h("li", {}, bdi(text))),
      ),
    ]),
    h("p", { class: "note" }, "Data checksum ", bdi(set.data ?? "unknown", { class: "mono" })),
  ];
}

function texts(sides) {
  const entries = Object.entries(sides);
  if (!entries.length) return h("p", { class: "note" }, "The store holds no texts of this data.");
  const rows = entries.map(([side, entry]) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, side === "query" ? "queries" : "items"),
      [entry.texts, entry.empty, entry.repeated].map((number) => h("td", { class: "figure" }, count(number))),
    ),
  );
  return scrollable("Texts", createTable(columnHeadings(["Texts", "stored", "empty", "repeated"]), rows));
}

function runs(counted) {
  const columns = Object.keys(LABELS).filter((name) => counted.some((entry) => entry.counts?.[name]));
  const headings = ["Run", "corpus", "relevant", "tied", "not ranked", ...columns.map((name) => LABELS[name])];
  const rows = counted.map(({ key, model, corpus, hits, counts: numbers }) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, h("a", { href: `/runs/${encodeURIComponent(key)}` }, runName(model))),
      [corpus, hits.relevant, hits.tied, hits.unranked, ...columns.map((name) => numbers?.[name])].map((number) =>
        h("td", { class: "figure" }, count(number)),
      ),
    ),
  );
  return scrollable("Runs", createTable(columnHeadings(headings), rows));
}
