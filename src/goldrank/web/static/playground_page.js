// The playground: stored runs scored by any metric at any cutoff under any conventions.

import { get, getCached, parameters } from "./api.js";
import { bdi, debounce, empty, field, h, runName, select, skeleton } from "./dom.js";
import { createLoader } from "./loading.js";
import { explain, formatMetric, metricControls, parseMetric } from "./metric_controls.js";
import { count, interval, value, whisker } from "./numbers.js";
import { updateAddress } from "./router.js";
import { sharedSlices, sliceField } from "./slices.js";
import { createTable, scrollable } from "./tables.js";

const MOST_COLUMNS = 8;
const NEXT = ["mrr", "map", "recall@100", "ndcg@10", "precision@10", "hits@1", "hits@10", "r_precision", "mean_rank"];

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  const heading = h("h1", { tabindex: "-1" }, "Metrics playground");
  if (!keys.length) {
    view.replaceChildren(heading, await chooser(signal));
    return "Playground";
  }
  const [{ metrics }, { profiles }, { conventions }, slices] = await Promise.all([
    getCached("metrics"),
    getCached("profiles"),
    getCached("conventions"),
    sharedSlices(keys, signal),
  ]);
  const state = { key: keys, metric: query.getAll("metric") };
  for (const name of ["profile", "slice"]) state[name] = query.get(name) ?? "";
  for (const { name } of conventions) state[name] = query.get(name) ?? "";
  const results = h("div", { class: "results" }, skeleton(5));
  const controls = h("div", { class: "board" });
  const explained = h("div", { class: "explained" });
  const fill = createLoader(results, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    updateAddress(parameters(state));
    await fill(
      () => get("score", state, signal),
      (data) => {
        if (!state.metric.length) state.metric = Object.keys(data.runs[0].scores);
        return scoreTable(data, state, metrics, { drop, lead });
      },
    );
  }
  const drop = (name) => {
    state.metric = state.metric.filter((metric) => metric !== name);
    refresh().then(draw);
  };
  const lead = (name) => {
    state.metric = [name, ...state.metric.filter((metric) => metric !== name)];
    refresh().then(draw);
  };
  const soon = debounce((changes) => refresh(changes), 60);

  function draw() {
    const live = parseMetric(state.metric[0] ?? "ndcg@10", metrics);
    const change = (changes) => {
      Object.assign(live, changes);
      state.metric = [...new Set([formatMetric(live), ...state.metric.slice(1)])];
      soon({});
      explain(explained, live.definition);
    };
    controls.replaceChildren(
      metricControls(live, metrics, change, draw, addButton(state, refresh, draw)),
      conventionControls(state, profiles, conventions, refresh),
    );
    explain(explained, live.definition);
  }

  const chosen = sliceField(slices, state.slice, (slice) => refresh({ slice }));
  view.replaceChildren(heading, controls, chosen ? h("div", { class: "filters" }, chosen) : "", results, explained);
  await refresh();
  signal.throwIfAborted();
  updateAddress(parameters(state));
  draw();
  return "Playground";
}

async function chooser(signal) {
  const { tasks } = await get("runs", { kind: "ranked", size: 1 }, signal);
  if (!tasks.length) return empty("There are no ranked runs yet.", "goldrank demo");
  const links = await Promise.all(
    tasks.slice(0, 12).map(async (task) => {
      const { runs } = await get("runs", { kind: "ranked", task: task.name, size: 10 }, signal);
      return h(
        "li",
        {},
        h("a", { href: `/playground?${parameters({ key: runs.map((run) => run.key) })}` }, bdi(task.name)),
        ` (${count(task.count)} runs)`,
      );
    }),
  );
  return h(
    "div",
    {},
    h(
      "p",
      {},
      "Change metric, cutoff, profile and ties, and watch the numbers. Pick runs on the ",
      h("a", { href: "/" }, "list"),
      ", or take all of a task:",
    ),
    h("ul", { class: "plain" }, links),
  );
}

function addButton(state, refresh, draw) {
  return h(
    "button",
    {
      type: "button",
      onclick: () => {
        const next = NEXT.find((name) => !state.metric.includes(name));
        if (next) refresh({ metric: [next, ...state.metric].slice(0, MOST_COLUMNS) }).then(draw);
      },
    },
    "Add a column",
  );
}

function conventionControls(state, profiles, conventions, refresh) {
  const described = Object.fromEntries(profiles.map((profile) => [profile.name, profile.title]));
  const hint = h("p", { class: "note" }, state.profile ? described[state.profile] : "");
  const others = conventions.filter((convention) => convention.choices && convention.name !== "ties");
  const label = (name) => (name[0].toUpperCase() + name.slice(1)).replaceAll("_", " ");
  const choice = (convention) =>
    field(
      label(convention.name),
      select(
        [["", "the profile's"], ...convention.choices.map(({ value: name }) => [name])],
        state[convention.name],
        (chosen) => refresh({ [convention.name]: chosen }),
        { title: convention.choices.map(({ value: name, meaning }) => `${name}: ${meaning}`).join("\n") },
      ),
    );
  const more = h(
    "details",
    {},
    h("summary", {}, "More conventions"),
    h("div", { class: "filters" }, others.map(choice)),
  );
  more.open = others.some((convention) => state[convention.name]);
  const ties = conventions.find((convention) => convention.name === "ties");
  return h(
    "div",
    {},
    h(
      "div",
      { class: "filters" },
      field(
        "Profile",
        select([["", "the runs' own"], ...profiles.map((profile) => [profile.name])], state.profile, (profile) => {
          hint.textContent = described[profile] ?? "";
          refresh({ profile });
        }),
      ),
      choice(ties),
    ),
    hint,
    more,
  );
}

function scoreTable(data, state, definitions, { drop, lead }) {
  const metrics = Object.keys(data.runs[0].scores);
  const way = parseMetric(metrics[0], definitions).definition?.direction === "lower" ? -1 : 1;
  const range = (name) => {
    const all = data.runs
      .flatMap((run) => [run.scores[name].low, run.scores[name].high, run.scores[name].value])
      .filter((number) => number !== null && number !== undefined);
    const high = Math.max(...all);
    return high <= 1 && Math.min(...all) >= 0 ? [0, 1] : [Math.min(0, ...all), high];
  };
  const ranges = Object.fromEntries(metrics.map((name) => [name, range(name)]));
  const runs = [...data.runs].sort(
    (a, b) => way * ((b.scores[metrics[0]].value ?? -Infinity) - (a.scores[metrics[0]].value ?? -Infinity)),
  );
  const headings = [
    h("th", { scope: "col" }, "Model"),
    ...metrics.map((name, at) =>
      h(
        "th",
        { scope: "col", class: at ? null : "live" },
        at
          ? h(
              "button",
              { type: "button", class: "sort", title: "change this one", onclick: () => lead(state.metric[at]) },
              bdi(name),
            )
          : bdi(name),
        metrics.length > 1
          ? h(
              "button",
              {
                type: "button",
                class: "quiet",
                "aria-label": `Drop ${name}`,
                onclick: () => drop(state.metric[at]),
              },
              "×",
            )
          : null,
      ),
    ),
  ];
  const cell = (score, name) =>
    h(
      "td",
      { class: "score-cell" },
      h(
        "div",
        { class: "score" },
        value(score.value),
        interval(score.low, score.high),
        whisker(score, ...ranges[name]),
      ),
    );
  const rows = runs.map((run) =>
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        h("a", { href: `/runs/${encodeURIComponent(run.name)}` }, runName(data.models?.[run.name] ?? run.name)),
        h("span", { class: "key" }, bdi(run.name)),
      ),
      metrics.map((name) => cell(run.scores[name], name)),
    ),
  );
  return [
    scrollable("Scores", createTable(headings, rows, { class: "scores" })),
    h("p", { class: "note" }, bdi(data.basis ?? "")),
    h("p", { class: "note" }, bdi(data.conventions_line ?? "")),
    ...(data.notes ?? []).map((text) => h("p", { class: "note" }, bdi(text))),
  ];
}
