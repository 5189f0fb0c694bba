// Parse, format, change and explain a metric.

import { field, h, select } from "./dom.js";

const RANKS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 25, 30, 40, 50, 60, 80, 100, 150, 200, 300, 500, 1000];
const BETTER = {
  higher: "higher is better",
  lower: "lower is better",
  neither: "neither direction is better",
};
const RECALLS = [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1];

/** Parse a metric such as `name(parameter=value)@k`. */
export function parseMetric(text, metrics) {
  const [, name, inner, cutoff] = /^([\w-]+)(?:\(([^)]*)\))?(?:@([\d.]+))?$/.exec(text) ?? [null, text, "", ""];
  const definition = metrics.find((metric) => metric.name === name || metric.aliases?.includes(name));
  return { definition, name, inner: inner ?? "", cutoff: cutoff ?? "" };
}

/** Format a parsed metric. */
export const formatMetric = ({ name, inner, cutoff }) =>
  name + (inner ? `(${inner})` : "") + (cutoff ? `@${cutoff}` : "");

/** Return the cutoffs that a metric may have; the last one is none if that is allowed. */
function cutoffs(definition) {
  if (definition?.cutoff === "none") return [""];
  if (definition?.cutoff === "recall") return RECALLS.map(String);
  return [...RANKS.map(String), ...(definition?.cutoff === "required" ? [] : [""])];
}

/** Show the controls of metric, cutoff and variant, followed by *button*. */
export function metricControls(live, metrics, change, redraw, button) {
  const steps = cutoffs(live.definition);
  const spoken = (cutoff) => (cutoff ? `@${cutoff}` : "all ranks");
  const output = h("output", { class: "number" }, spoken(live.cutoff));
  const slider = h("input", {
    type: "range",
    min: 0,
    max: steps.length - 1,
    step: 1,
    disabled: steps.length < 2,
    "aria-valuetext": spoken(live.cutoff),
    oninput: (event) => {
      const cutoff = steps[Number(event.target.value)];
      output.textContent = spoken(cutoff);
      event.target.setAttribute("aria-valuetext", spoken(cutoff));
      change({ cutoff });
    },
  });
  const nearest = steps.findIndex((step) => (live.cutoff ? Number(step || Infinity) >= Number(live.cutoff) : !step));
  slider.value = nearest < 0 ? steps.length - 1 : nearest;
  const onmetric = (name) => {
    const definition = metrics.find((metric) => metric.name === name);
    const allowed = cutoffs(definition);
    const usual = definition.cutoff === "required" ? "10" : allowed.at(-1);
    change({ definition, name, inner: "", cutoff: allowed.includes(live.cutoff) ? live.cutoff : usual });
    redraw();
    document.querySelector("select[name=metric]")?.focus();
  };
  const variant = h("input", {
    type: "text",
    class: "variant",
    value: live.inner,
    placeholder: parameterHint(live.definition),
    onchange: (event) => change({ inner: event.target.value.trim() }),
  });
  return h(
    "div",
    { class: "filters" },
    field(
      "Metric",
      select(
        // Stored runs have no subtopics.
        metrics.filter(({ subtopics }) => !subtopics).map(({ name, title }) => [name, `${name} – ${title}`]),
        live.definition?.name ?? live.name,
        onmetric,
        { name: "metric" },
      ),
    ),
    field("Cutoff", h("span", { class: "slider" }, slider, output)),
    live.definition?.parameters.length ? field("Variant", variant) : null,
    button,
  );
}

const parameterHint = (definition) =>
  (definition?.parameters ?? []).map((parameter) => `${parameter.name}=${parameter.default}`).join(", ");

/** Show title, formula and parameters of a metric. */
export function explain(place, definition) {
  if (!definition) {
    place.replaceChildren();
    return;
  }
  place.replaceChildren(
    h("h2", {}, definition.title),
    h("pre", {}, h("code", {}, definition.formula)),
    h("p", { class: "note" }, `Range ${definition.range}; ${BETTER[definition.direction]}.`),
    definition.notes ? h("p", { class: "note" }, definition.notes) : "",
    definition.parameters.length
      ? h(
          "dl",
          { class: "facts" },
          definition.parameters.map((parameter) =>
            h("div", {}, h("dt", {}, `${parameter.name} (default ${parameter.default})`), h("dd", {}, parameter.doc)),
          ),
        )
      : "",
  );
}
