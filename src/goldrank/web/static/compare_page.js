// Two or more runs side by side: verdict, leaderboard, figures, the queries on which they differ, provenance.

import { get, once, parameters } from "./api.js";
import { empty, field, folded, h, said, select, skeleton } from "./dom.js";
import { figure } from "./figures.js";
import { filler } from "./loading.js";
import { count, value } from "./numbers.js";
import { note } from "./router.js";
import { gridTable } from "./tables.js";

// Before the next name; a comma may also stand between cutoffs (mrr@1,3) and inside brackets.
const BETWEEN_METRICS = /[\s,;]+(?=[a-z])(?![^(]*\))/i;
const CONTROLS = ["profile", "ties", "missing"];

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
  const fill = filler(body, signal);

  async function refresh(changes = {}) {
    Object.assign(state, changes);
    note(parameters(state));
    await fill(
      () => get("compare", { ...state, theme: globalThis.goldrankTheme.current() }, signal),
      (found) => found.sections.map(drawn),
    );
  }

  view.replaceChildren(heading, controls, body);
  document.addEventListener("themechange", () => refresh(), { signal });
  await Promise.all([refresh(), drawControls(controls, state, refresh)]);
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
          h("a", { href: `/?${parameters({ task: task.name })}` }, said(task.name)),
          ` (${count(task.count)})`,
        ),
      ),
    ),
  );
}

async function drawControls(controls, state, refresh) {
  const [{ profiles }, { conventions }] = await Promise.all([once("profiles"), once("conventions")]);
  const names = profiles.map((one) => [one.name]);
  const values = (name) => conventions.find((one) => one.name === name).choices.map((one) => [one.value]);
  controls.replaceChildren(
    field(
      "Metrics",
      h("input", {
        type: "text",
        class: "wide",
        value: state.metric.join(", "),
        placeholder: "the runs' own; e.g. ndcg@10, mrr",
        onchange: (event) => refresh({ metric: event.target.value.trim().split(BETWEEN_METRICS).filter(Boolean) }),
      }),
    ),
    field(
      "Profile",
      select([["", "the runs' own"], ...names], state.profile, (profile) => refresh({ profile })),
    ),
    field(
      "Ties",
      select([["", "as the profile says"], ...values("ties")], state.ties, (ties) => refresh({ ties })),
    ),
    field(
      "Queries without results",
      select([["", "as the profile says"], ...values("missing")], state.missing, (missing) => refresh({ missing })),
    ),
  );
}

function drawn(section) {
  const links = Object.fromEntries(section.runs.map((run) => [run.name, `/runs/${encodeURIComponent(run.key)}`]));
  const [first, ...others] = section.tables;
  return h(
    "article",
    { class: "section" },
    h(
      "p",
      { class: "lead" },
      h("a", { href: `/?${parameters({ task: section.task })}` }, said(section.task)),
      ` · ${section.runs.length} ${section.runs.length === 1 ? "run" : "runs"}`,
    ),
    section.verdicts.length
      ? h(
          "div",
          { class: "verdict" },
          section.verdicts.map((text) => h("p", {}, said(text))),
        )
      : null,
    first ? gridTable(first, { href: (name) => links[name.replace(/^[a-z]+ /, "")] ?? links[name] }) : null,
    section.figures.length
      ? [h("h2", {}, "Figures"), h("div", { class: "figures" }, section.figures.map(figure))]
      : null,
    section.left_out?.length
      ? folding(
          "Figures left out",
          section.left_out.map((one) => h("p", { class: "note" }, `${one.name}: `, said(one.reason))),
        )
      : null,
    section.cases.length
      ? [
          h("h2", {}, section.runs.length > 1 ? "Where they differ most" : "Where it does worst"),
          section.cases.map((entry) => oneCase(entry, section)),
        ]
      : null,
    others.length ? [h("h2", {}, "In detail"), others.map((grid) => gridTable(grid))] : null,
    listed("What to know of the data", section.quality),
    listed("Conventions", section.conventions),
    h("h2", {}, "Where the numbers come from"),
    section.runs.map((run) =>
      folding(
        run.name,
        h(
          "dl",
          { class: "facts" },
          run.facts.map((fact) => h("div", {}, h("dt", {}, fact.name), h("dd", {}, said(fact.value)))),
        ),
      ),
    ),
    section.commands.length
      ? [h("h2", {}, "To make them again"), h("pre", {}, h("code", {}, section.commands.join("\n")))]
      : null,
  );
}

const folding = (title, content) => h("details", {}, h("summary", {}, said(title)), content);

const listed = (title, lines) =>
  lines?.length
    ? [
        h("h2", {}, title),
        h(
          "ul",
          { class: "lines" },
          lines.map((text) => h("li", {}, said(text))),
        ),
      ]
    : null;

function oneCase(entry, section) {
  const href = `/query?${parameters({ key: section.runs.map((run) => run.key), query: entry.query.id })}`;
  return h(
    "section",
    { class: "case" },
    h("h3", {}, h("a", { href }, said(short(entry.query.title || entry.query.text || entry.query.id)))),
    entry.query.title && entry.query.text
      ? h("div", { class: "passage" }, folded(entry.query.text, { limit: 220 }))
      : null,
    h(
      "p",
      { class: "answer-line" },
      "Gold: ",
      entry.gold.map((gold, at) => [
        at ? "; " : "",
        said(gold.passage.title || short(gold.passage.text) || gold.passage.id),
      ]),
      entry.more_gold ? h("span", { class: "soft" }, ` and ${count(entry.more_gold)} more`) : null,
    ),
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": "Answers" },
      h(
        "table",
        {},
        h(
          "thead",
          {},
          h(
            "tr",
            {},
            h("th", { scope: "col" }, "Model"),
            h("th", { scope: "col", class: "figure" }, said(entry.metric)),
            h("th", { scope: "col", class: "figure" }, "Gold at"),
            h("th", { scope: "col" }, "Ranked above it"),
          ),
        ),
        h(
          "tbody",
          {},
          entry.answers.map((answer) =>
            h(
              "tr",
              {},
              h("th", { scope: "row" }, said(answer.name)),
              h("td", { class: "figure" }, value(answer.value)),
              h("td", { class: "figure" }, goldAt(answer)),
              h(
                "td",
                { class: "rivals" },
                answer.rivals.length
                  ? answer.rivals.map((rival, at) => [
                      at ? " · " : "",
                      said(rival.passage.title || short(rival.passage.text) || rival.passage.id),
                    ])
                  : h("span", { class: "soft" }, answer.above === 0 ? "nothing" : "–"),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

const goldAt = (answer) =>
  answer.above === null || answer.above === undefined
    ? h("span", { class: "soft" }, "not found")
    : count(answer.above + 1);

const short = (text) => (text && text.length > 160 ? `${text.slice(0, 160)} …` : text);
