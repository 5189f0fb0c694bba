// One run: its scores, inputs and environment, with links to other views.

import { get, getCached, parameters, remove } from "./api.js";
import { bdi, h, runName } from "./dom.js";
import { createLoader } from "./loading.js";
import { count, dateTime, interval, seconds, value, whisker } from "./numbers.js";
import { pick, picked } from "./picks.js";
import { go } from "./router.js";
import { attributeField, sharedSlices } from "./slices.js";
import { gridTable } from "./tables.js";

export async function show(view, { names, signal }) {
  const [run, about] = await Promise.all([
    get(`runs/${encodeURIComponent(names.key)}`, {}, signal),
    getCached("about"),
  ]);
  const key = parameters({ key: run.key });
  const numbers = Object.entries(run.measured && Object.keys(run.measured).length ? run.measured : (run.summary ?? {}));
  view.replaceChildren(
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: "/" }, "Runs"),
      " / ",
      h("a", { href: `/?${parameters({ task: run.task })}` }, bdi(run.task)),
    ),
    h("h1", { tabindex: "-1" }, runName(run.model)),
    h(
      "p",
      { class: "lead" },
      bdi(run.task),
      " · ",
      run.queries ? `${count(run.queries)} queries` : `${count(numbers[0]?.[1].count)} judged pairs or texts`,
      run.judged ? ` · ${count(run.judged)} judged items` : "",
      " · ",
      seconds(run.seconds),
      " · ",
      dateTime(run.created),
    ),
    h("p", { class: "actions" }, actions(run, key)),
    ...readings(run, numbers).map(([title, entries]) =>
      h(
        "section",
        {},
        h("h2", {}, title),
        entries.length
          ? h(
              "dl",
              { class: "numbers" },
              entries.map(([name, entry]) => number(name, entry)),
            )
          : h("p", { class: "soft" }, "No scores were stored with this run."),
      ),
    ),
    run.kind === "ranked" ? await bySlice(run, signal) : "",
    h(
      "section",
      {},
      h("h2", {}, "Settings"),
      facts({ key: run.key, profile: run.profile, conventions: run.conventions, ...run.inputs }),
    ),
    h("section", {}, h("h2", {}, "Provenance"), facts({ ...run.environment, seconds: null, summaries: null })),
    about.allow_delete ? h("section", {}, h("h2", {}, "Delete"), deletion(run.key, signal)) : "",
  );
  return run.key;
}

/** Show the scores of a run by an attribute that the visitor chooses. */
async function bySlice(run, signal) {
  const slices = await sharedSlices([run.key], signal);
  const place = h("div");
  const load = createLoader(place, signal);
  const choose = (by) =>
    by
      ? load(
          () => get("scores-by-slice", { key: run.key, by }, signal),
          (data) => data.tables.map((grid) => gridTable(grid)),
        )
      : place.replaceChildren();
  const chosen = attributeField(slices, "", choose);
  if (!chosen) return "";
  return h("section", {}, h("h2", {}, "By slice"), h("div", { class: "filters" }, chosen), place);
}

/** Return the titles and scores to show; a run on masked names has the scores of each reading. */
function readings(run, numbers) {
  const all = Object.entries(run.environment.summaries ?? {});
  return all.length
    ? all.map(([name, scores]) => [`Scores, ${name} reading`, Object.entries(scores)])
    : [["Scores", numbers]];
}

function actions(run, key) {
  const link = (href, label, strong = false) => h("a", { class: strong ? "button strong" : "button", href }, label);
  const report = link(`/compare?${key}`, "Report", true);
  if (run.kind === "masked")
    return [report, link(`/masked/${encodeURIComponent(run.key)}`, "Pages"), link(`/playground?${key}`, "Playground")];
  if (run.kind === "measured") return [report];
  return [report, link(`/query?${key}`, "Queries"), link(`/playground?${key}`, "Playground")];
}

function number(name, entry) {
  return h(
    "div",
    {},
    h("dt", {}, bdi(name)),
    h(
      "dd",
      {},
      value(entry.value),
      interval(entry.low, entry.high),
      entry.value >= 0 && entry.value <= 1 ? whisker(entry) : null,
    ),
  );
}

function facts(values) {
  const shown = Object.entries(values).filter(
    ([, entry]) => entry !== null && entry !== "" && !(typeof entry === "object" && !Object.keys(entry).length),
  );
  return h(
    "dl",
    { class: "facts" },
    shown.map(([name, entry]) => h("div", {}, h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, fact(entry)))),
  );
}

function fact(entry) {
  if (Array.isArray(entry))
    return h(
      "ul",
      {},
      entry.map((element) => h("li", {}, fact(element))),
    );
  if (entry !== null && typeof entry === "object") {
    return bdi(
      Object.entries(entry)
        .filter(([, inner]) => inner !== null)
        .map(([name, inner]) => `${name} ${isQuoted(inner) ? JSON.stringify(inner) : inner}`)
        .join(", "),
    );
  }
  return bdi(entry);
}

/** Return true for objects, and for strings that could not be seen. */
const isQuoted = (entry) => typeof entry === "object" || (typeof entry === "string" && !entry.trim());

function deletion(key, signal) {
  const place = h("div");
  const load = createLoader(place, signal);
  const ask = h(
    "button",
    { type: "button", class: "danger", onclick: () => place.replaceChildren(sure) },
    "Delete this run …",
  );
  const sure = h(
    "p",
    {},
    "It cannot be brought back. ",
    h(
      "button",
      {
        type: "button",
        class: "danger",
        onclick: async () => {
          const isDeleted = await load(
            () => remove(`runs/${encodeURIComponent(key)}`),
            () => [],
          );
          if (!isDeleted) return;
          pick(picked().filter((other) => other !== key));
          go("/");
        },
      },
      "Delete it",
    ),
    " ",
    h("button", { type: "button", onclick: () => place.replaceChildren(ask) }, "Keep it"),
  );
  place.append(ask);
  return place;
}
