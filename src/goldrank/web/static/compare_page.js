// Compare runs: verdicts, leaderboard, figures, the queries on which they differ most, and provenance.

import { get, getCached, parameters } from "./api.js";
import { bdi, empty, field, expandable, h, runName, select, skeleton } from "./dom.js";
import { figure } from "./figures.js";
import { createLoader } from "./loading.js";
import { count, value } from "./numbers.js";
import { updateAddress } from "./router.js";
import { attributeField, sharedSlices, sliceField } from "./slices.js";
import { columnHeadings, createTable, gridTable, scrollable } from "./tables.js";

// Split before the name of a metric; commas also separate cutoffs (mrr@1,3) and parameters in brackets.
const BETWEEN_METRICS = /[\s,;]+(?=[a-z])(?![^(]*\))/i;
const CONTROLS = ["profile", "ties", "missing", "slice", "by"];

export async function show(view, { query, signal }) {
  const keys = query.getAll("key");
  const heading = h("h1", { tabindex: "-1" }, keys.length === 1 ? "Report" : "Compare");
  if (!keys.length) {
    view.replaceChildren(
      heading,
      h(
        "p",
        {},
        "Pick two or more runs of one task on the ",
        h("a", { href: "/" }, "list of runs"),
        ", then compare them here.",
      ),
      await suggestions(signal),
    );
    return "Compare";
  }
  const state = {
    key: keys,
    metric: query.getAll("metric"),
    ...Object.fromEntries(CONTROLS.map((name) => [name, query.get(name) ?? ""])),
  };
  const body = h("div", {}, skeleton(12));
  const controls = h("div", { class: "filters" });
  const fill = createLoader(body, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    updateAddress(parameters(state));
    await fill(
      () => get("compare", { ...state, theme: globalThis.goldrankTheme.current() }, signal),
      ({ summary, sections }) => [
        summary ? renderSummary(summary) : [],
        sections.map((section) => renderSection(section, sections.length > 1, state.slice)),
      ],
    );
  }

  view.replaceChildren(heading, controls, body);
  document.addEventListener("themechange", () => refresh(), { signal });
  await Promise.all([refresh(), renderControls(controls, state, refresh, signal)]);
  return keys.length === 1 ? `Report of ${keys[0]}` : `Compare ${keys.length} runs`;
}

async function suggestions(signal) {
  const { tasks } = await get("runs", { kind: "ranked", size: 1 }, signal);
  const several = tasks.filter((task) => task.count > 1);
  if (!several.length) return empty("No task has two runs yet.", "goldrank demo");
  return h(
    "div",
    {},
    h("p", {}, "Tasks with several runs:"),
    h(
      "ul",
      { class: "plain" },
      several.map((task) =>
        h(
          "li",
          {},
          h("a", { href: `/?${parameters({ task: task.name })}` }, bdi(task.name)),
          ` (${count(task.count)})`,
        ),
      ),
    ),
  );
}

async function renderControls(controls, state, refresh, signal) {
  const [{ profiles }, { conventions }, slices] = await Promise.all([
    getCached("profiles"),
    getCached("conventions"),
    sharedSlices(state.key, signal),
  ]);
  const names = profiles.map((profile) => [profile.name]);
  const values = (name) => conventions.find((entry) => entry.name === name).choices.map((choice) => [choice.value]);
  controls.replaceChildren(
    field(
      "Metrics",
      h("input", {
        type: "text",
        class: "wide",
        value: state.metric.join(", "),
        placeholder: "the runs' own; e.g. mrr, map",
        onchange: (event) => refresh({ metric: event.target.value.trim().split(BETWEEN_METRICS).filter(Boolean) }),
      }),
    ),
    field(
      "Profile",
      select([["", "the runs' own"], ...names], state.profile, (profile) => refresh({ profile })),
    ),
    field(
      "Ties",
      select([["", "the profile's"], ...values("ties")], state.ties, (ties) => refresh({ ties })),
    ),
    field(
      "Queries without results",
      select([["", "the profile's"], ...values("missing")], state.missing, (missing) => refresh({ missing })),
    ),
    sliceField(slices, state.slice, (slice) => refresh({ slice })) ?? "",
    attributeField(slices, state.by, (by) => refresh({ by })) ?? "",
  );
}

function renderSummary(summary) {
  return h(
    "article",
    { class: "section" },
    summary.verdict ? h("div", { class: "verdict" }, h("p", {}, bdi(summary.verdict))) : null,
    gridTable(summary.table, { palette: summary.palette }),
    summary.figures.length ? h("div", { class: "figures" }, summary.figures.map(figure)) : null,
  );
}

function renderSection(section, severalTasks, slice) {
  const links = Object.fromEntries(section.runs.map((run) => [run.name, `/runs/${encodeURIComponent(run.key)}`]));
  const [first, ...further] = section.tables;
  // Tables by slice were asked for on this page, so they are not hidden among the details.
  const slices = further.filter((grid) => grid.title.startsWith("By "));
  const others = further.filter((grid) => !slices.includes(grid));
  return h(
    "article",
    { class: "section" },
    severalTasks ? h("h2", {}, bdi(section.task)) : null,
    h(
      "p",
      { class: "lead" },
      h("a", { href: `/?${parameters({ task: section.task })}` }, bdi(section.task)),
      ` · ${section.runs.length} ${section.runs.length === 1 ? "run" : "runs"}`,
      section.runs.length === 2 && section.kind === "ranked"
        ? [
            " · ",
            h(
              "a",
              { href: `/diff?${parameters({ key: section.runs.map((run) => run.key), slice })}` },
              "What changed between them",
            ),
          ]
        : null,
    ),
    section.verdicts.length
      ? h(
          "div",
          { class: "verdict" },
          section.verdicts.map((text) => h("p", {}, bdi(text))),
        )
      : null,
    first
      ? gridTable(first, {
          href: (name) => links[name.replace(/^[a-z]+ /, "")] ?? links[name],
          palette: section.palette,
        })
      : null,
    slices.map((grid) => gridTable(grid)),
    section.figures.length
      ? [h("h2", {}, "Figures"), h("div", { class: "figures" }, section.figures.map(figure))]
      : null,
    section.left_out?.length
      ? details(
          "Figures left out",
          section.left_out.map((entry) => h("p", { class: "note" }, `${entry.name}: `, bdi(entry.reason))),
        )
      : null,
    section.cases.length
      ? [
          h("h2", {}, casesTitle(section)),
          section.cases.map((entry) => renderCase(entry, section)),
        ]
      : null,
    others.length ? [h("h2", {}, "In detail"), others.map((grid) => gridTable(grid))] : null,
    listed("Data quality", section.quality),
    listed("Conventions", section.conventions),
    h("h2", {}, "Provenance"),
    section.runs.map((run) =>
      details(
        run.name,
        h(
          "dl",
          { class: "facts" },
          run.facts.map((fact) => h("div", {}, h("dt", {}, fact.name), h("dd", {}, bdi(fact.value)))),
        ),
      ),
    ),
    section.commands.length
      ? [h("h2", {}, "How to reproduce"), h("pre", {}, h("code", {}, section.commands.join("\n")))]
      : null,
  );
}

function casesTitle({ runs, cases }) {
  const { metric } = cases[0];
  return runs.length > 1 ? `The queries on which ${metric} differs most` : `The queries with the worst ${metric}`;
}

const details = (title, content) => h("details", {}, h("summary", {}, bdi(title)), content);

const listed = (title, lines) =>
  lines?.length
    ? [
        h("h2", {}, title),
        h(
          "ul",
          { class: "lines" },
          lines.map((text) => h("li", {}, bdi(text))),
        ),
      ]
    : null;

function renderCase(entry, section) {
  const href = `/query?${parameters({ key: section.runs.map((run) => run.key), query: entry.query.id })}`;
  const headings = [
    ...columnHeadings(["Model", bdi(entry.metric), "Gold at"]),
    h("th", { scope: "col" }, "Ranked above it"),
  ];
  return h(
    "section",
    { class: "case" },
    h("h3", {}, h("a", { href }, bdi(short(entry.query.title || entry.query.text || entry.query.id)))),
    entry.query.title && entry.query.text
      ? h("div", { class: "passage" }, expandable(entry.query.text, { limit: 220 }))
      : null,
    h(
      "p",
      { class: "answer-line" },
      "Gold: ",
      entry.gold.map((gold, at) => [
        at ? "; " : "",
        bdi(gold.passage.title || short(gold.passage.text) || gold.passage.id),
      ]),
      entry.more_gold ? h("span", { class: "soft" }, ` and ${count(entry.more_gold)} more`) : null,
    ),
    scrollable("Answers", createTable(headings, entry.answers.map(answerRow))),
  );
}

function answerRow(answer) {
  const rivals = answer.rivals.map((rival, at) => [
    at ? " · " : "",
    bdi(rival.passage.title || short(rival.passage.text) || rival.passage.id),
  ]);
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, runName(answer.name)),
    h("td", { class: "figure" }, value(answer.value)),
    h("td", { class: "figure" }, goldAt(answer)),
    h(
      "td",
      { class: "rivals" },
      rivals.length ? rivals : h("span", { class: "soft" }, answer.above === 0 ? "nothing" : "–"),
    ),
  );
}

const goldAt = (answer) =>
  answer.above === null || answer.above === undefined
    ? h("span", { class: "soft" }, "not found")
    : count(answer.above + 1);

const short = (text) => (text && text.length > 160 ? `${text.slice(0, 160)} …` : text);
