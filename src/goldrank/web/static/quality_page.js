// What stored hits and texts tell of the data, before anybody believes the numbers.

import { get, parameters } from "./api.js";
import { empty, h, said, skeleton } from "./dom.js";
import { filler } from "./loading.js";
import { count } from "./numbers.js";

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
      empty("There is nothing stored to judge.", "goldrank demo"),
    );
    return "Data";
  }
  view.replaceChildren(
    task ? h("p", { class: "crumbs" }, h("a", { href: "/quality" }, "Data")) : "",
    h("h1", { tabindex: "-1" }, task ? said(task) : "Data"),
    task
      ? ""
      : h(
          "p",
          { class: "lead" },
          "Is the data fit for the numbers? Open a data set to read its gold, its ties and its texts.",
        ),
    ...sets.map((set) => (task ? sheet(set) : folded(set, signal))),
  );
  return task ? `Data of ${task}` : "Data";
}

/** A data set by its counts; what takes reading comes when it is opened. */
function folded(set, signal) {
  const place = h("div");
  const link = h("a", { href: `/quality?${parameters({ task: set.task })}` }, said(set.task));
  const fill = filler(place, signal);
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
          (found) => found.sets.filter((one) => one.data === set.data).flatMap(details),
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
          set.notes.map((text) => h("li", {}, said(text))),
        )
      : h("p", {}, "Nothing odd was found."),
    texts(set.texts ?? {}),
    set.details?.length ? runs(set.details) : "",
    ...set.remarks.flatMap((one) => [
      h("h3", {}, said(one.model)),
      h(
        "ul",
        { class: "lines" },
        one.remarks.map((text) => h("li", {}, said(text))),
      ),
    ]),
    h("p", { class: "note" }, "Data checksum ", said(set.data ?? "unknown", { class: "mono" })),
  ];
}

function texts(sides) {
  const entries = Object.entries(sides);
  if (!entries.length) return h("p", { class: "note" }, "The store holds no texts of this data.");
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Texts" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Texts", "stored", "empty", "repeated"].map((label, at) =>
            h("th", { scope: "col", class: at ? "figure" : null }, label),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        entries.map(([side, one]) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, side === "query" ? "queries" : "items"),
            [one.texts, one.empty, one.repeated].map((number) => h("td", { class: "figure" }, count(number))),
          ),
        ),
      ),
    ),
  );
}

function runs(counted) {
  const columns = Object.keys(LABELS).filter((name) => counted.some((one) => one.counts?.[name]));
  const headings = ["Run", "corpus", "relevant", "tied", "not ranked", ...columns.map((name) => LABELS[name])];
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Runs" },
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          headings.map((label, at) => h("th", { scope: "col", class: at ? "figure" : null }, label)),
        ),
      ),
      h(
        "tbody",
        {},
        counted.map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, h("a", { href: `/runs/${encodeURIComponent(one.key)}` }, said(one.model))),
            [
              one.corpus,
              one.hits.relevant,
              one.hits.tied,
              one.hits.unranked,
              ...columns.map((name) => one.counts?.[name]),
            ].map((number) => h("td", { class: "figure" }, count(number))),
          ),
        ),
      ),
    ),
  );
}
