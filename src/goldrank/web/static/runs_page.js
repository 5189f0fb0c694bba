// All runs of the store: filter, sort and pick them.

import { get, parameters } from "./api.js";
import { bdi, debounce, empty, field, h, runName, select, skeleton } from "./dom.js";
import { announce, createLoader } from "./loading.js";
import { count, dateTime, interval, seconds, value, whisker } from "./numbers.js";
import { pick, picked, toggle } from "./picks.js";
import { updateAddress } from "./router.js";
import { sharedSlices, sliceField } from "./slices.js";
import { pager, sortHeading } from "./tables.js";

const COLUMNS = [
  ["model", "Model"],
  ["task", "Task"],
  ["value", "Headline"],
  [null, "Queries"],
  ["seconds", "Time"],
  ["created", "Created"],
];
const FIELDS = ["task", "model", "kind", "q", "slice", "sort", "order", "page"];

export async function show(view, { query, signal }) {
  const state = Object.fromEntries(FIELDS.map((name) => [name, query.get(name) ?? ""]));
  const results = h("div", { class: "results" });
  const filters = h("div", { class: "filters", role: "search" });
  const fill = createLoader(results, signal);

  async function refresh(changes, push = false) {
    Object.assign(state, changes);
    updateAddress(parameters(state), { push });
    await fill(
      async () => {
        const data = await get("runs", state, signal);
        // Slices are those of one data set, so they are offered once a task is chosen.
        const ranked = state.task ? data.runs.find((run) => run.kind === "ranked") : null;
        return { ...data, slices: ranked ? await sharedSlices([ranked.key], signal) : [] };
      },
      (data) => {
        renderFilters(filters, data, state, change);
        announce(`${count(data.total)} runs`);
        return runTable(data, state, refresh);
      },
    );
  }
  const change = (changes) => refresh({ ...changes, page: "" });

  view.replaceChildren(h("h1", { tabindex: "-1" }, "Runs"), filters, results);
  results.replaceChildren(skeleton(10));
  await refresh({});
  const redraw = () => {
    for (const box of results.querySelectorAll("input[data-key]")) box.checked = picked().includes(box.dataset.key);
  };
  document.addEventListener("pickschange", redraw, { signal });
  return "Runs";
}

function renderFilters(filters, data, state, change) {
  const options = (entries, all) => [
    ["", all],
    ...entries.map(({ name, count: number }) => [name, `${name} (${number})`]),
  ];
  const withChosen = (entries, chosen) =>
    chosen && !entries.some(({ name }) => name === chosen) ? [...entries, { name: chosen, count: 0 }] : entries;
  // The search field is created only once, so that it keeps the focus while the user types.
  if (!filters.firstChild) {
    const typed = debounce((text) => change({ q: text }));
    filters.append(
      field(
        "Search",
        h("input", {
          type: "search",
          value: state.q,
          placeholder: "key, task or model",
          oninput: (event) => typed(event.target.value),
        }),
      ),
      h("span", { class: "choices" }),
    );
  }
  const focused = document.activeElement?.name;
  filters.querySelector(".choices").replaceChildren(
    field(
      "Task",
      select(options(withChosen(data.tasks, state.task), "all tasks"), state.task, (task) => change({ task, slice: "" }), {
        name: "task",
      }),
    ),
    field(
      "Model",
      select(options(withChosen(data.models, state.model), "all models"), state.model, (model) => change({ model }), {
        name: "model",
      }),
    ),
    field(
      "Kind",
      select([["", "all kinds"], ["ranked"], ["measured"], ["masked"]], state.kind, (kind) => change({ kind }), {
        name: "kind",
      }),
    ),
    sliceField(data.slices, state.slice, (slice) => change({ slice })) ?? "",
  );
  if (focused) filters.querySelector(`.choices [name="${focused}"]`)?.focus();
}

function runTable(data, state, refresh) {
  if (!data.runs.length) {
    const isFiltered = state.q || state.task || state.model || state.kind || state.slice;
    return [
      isFiltered
        ? empty("No run matches. Remove a filter.")
        : empty("The store has no runs yet. Create some:", "goldrank demo", "goldrank run -m tfidf bm25 -t questions"),
    ];
  }
  const sort = state.sort || "created";
  const order = state.order || "desc";
  const onsort = (name) => () => {
    const first = name === "task" || name === "model" ? "asc" : "desc";
    refresh({ sort: name, order: name === sort ? (order === "asc" ? "desc" : "asc") : first, page: "" }, true).then(
      () => document.querySelector(`th[data-sort="${name}"] button`)?.focus(),
    );
  };
  const headings = COLUMNS.map(([name, label]) => {
    const style = name === "model" || name === "task" || name === "value" ? null : "figure";
    return name
      ? sortHeading(label, name === sort ? order : null, onsort(name), { class: style, "data-sort": name })
      : h("th", { scope: "col", class: style }, label);
  });
  const keys = data.runs.map((run) => run.key);
  const all = h("input", {
    type: "checkbox",
    "aria-label": "Pick all on this page",
    onchange: (event) =>
      pick(event.target.checked ? [...picked(), ...keys] : picked().filter((key) => !keys.includes(key))),
  });
  all.checked = keys.every((key) => picked().includes(key));
  return [
    h(
      "table",
      { class: "runs" },
      h("caption", { class: "hidden" }, "Stored runs"),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "box" }, all), headings)),
      h("tbody", {}, data.runs.map(row)),
    ),
    pager({ total: data.total, page: data.page, size: data.size }, (page) =>
      refresh({ page: page > 1 ? page : "" }, true),
    ),
  ];
}

function row(run) {
  const box = h("input", {
    type: "checkbox",
    "data-key": run.key,
    "aria-label": `Pick ${run.key}`,
    onchange: () => toggle(run.key),
  });
  box.checked = picked().includes(run.key);
  const { headline } = run;
  return h(
    "tr",
    {},
    h("td", { class: "box" }, box),
    h(
      "th",
      { scope: "row" },
      h("a", { href: `/runs/${encodeURIComponent(run.key)}` }, runName(run.model)),
      h("span", { class: "key" }, bdi(run.key)),
    ),
    h(
      "td",
      { "data-label": "Task" },
      bdi(run.task),
      run.kind === "ranked" ? null : h("span", { class: "badge" }, run.kind),
    ),
    h("td", { class: "headline", "data-label": "Headline" }, headline ? score(headline) : "–"),
    h(
      "td",
      { class: "figure", "data-label": "Queries" },
      count(run.queries || (run.summary[headline?.metric]?.count ?? null)),
    ),
    h("td", { class: "figure", "data-label": "Time" }, seconds(run.seconds)),
    h("td", { class: "figure", "data-label": "Created" }, dateTime(run.created)),
  );
}

function score(headline) {
  return h(
    "div",
    { class: "score" },
    h("span", { class: "metric" }, bdi(headline.metric)),
    value(headline.value),
    interval(headline.low, headline.high),
    headline.value >= 0 && headline.value <= 1 ? whisker(headline) : null,
  );
}
