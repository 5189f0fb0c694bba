// Format numbers and times, and draw a value with its interval.

import { h, svg } from "./dom.js";

const integers = new Intl.NumberFormat("en");

export const count = (number) => (number === null || number === undefined ? "–" : integers.format(number));

/** Show a score as the command line does, with the unrounded number as its title. */
export function value(number) {
  if (number === null || number === undefined) return h("span", { class: "number none", title: "undefined" }, "–");
  return h("span", { class: "number", title: String(number) }, digits(number));
}

/** Show a difference with its sign. */
export function signed(number) {
  if (number === null || number === undefined) return value(number);
  const sign = number > 0 ? "+" : number < 0 ? "−" : "";
  return h("span", { class: "number", title: String(number) }, sign + digits(Math.abs(number)));
}

export function digits(number) {
  const isCount = Number.isInteger(number) && Math.abs(number) >= 10;
  const text = isCount ? integers.format(number) : number.toFixed(Math.abs(number) >= 100 ? 1 : 4);
  return text.replace("-", "−");
}

export function interval(low, high) {
  if (low === null || low === undefined || high === null || high === undefined) return null;
  return h("span", { class: "interval", title: `${low} to ${high}` }, `[${digits(low)}, ${digits(high)}]`);
}

export function seconds(number) {
  if (number === null || number === undefined) return "–";
  if (number < 0.05) return "< 0.1 s";
  if (number < 10) return `${number.toFixed(1)} s`;
  if (number < 120) return `${Math.round(number)} s`;
  return number < 7200 ? `${Math.round(number / 60)} min` : `${(number / 3600).toFixed(1)} h`;
}

export function dateTime(iso) {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return h("span", {}, iso ?? "–");
  const two = (number) => String(number).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return h(
    "time",
    { datetime: iso, title: iso },
    day,
    " ",
    h("span", { class: "soft" }, `${two(date.getHours())}:${two(date.getMinutes())}`),
  );
}

/** Draw a value and its interval on a scale between *from* and *to*. */
export function whisker({ value, low, high }, from = 0, to = 1) {
  if (value === null || value === undefined || to <= from) return null;
  const place = (number) => 2 + 96 * Math.min(1, Math.max(0, (number - from) / (to - from)));
  const drawing = svg("svg", {
    class: "whisker",
    viewBox: "0 0 100 10",
    preserveAspectRatio: "none",
    "aria-hidden": "true",
  });
  drawing.append(svg("line", { x1: 2, x2: 98, y1: 5, y2: 5, class: "track" }));
  if (low !== null && low !== undefined && high !== null && high !== undefined) {
    drawing.append(svg("line", { x1: place(low), x2: place(high), y1: 5, y2: 5, class: "range" }));
  }
  drawing.append(svg("line", { x1: place(value), x2: place(value), y1: 0.5, y2: 9.5, class: "point" }));
  return drawing;
}

/** Draw the ranks of gold items between 1 and *depth* on a logarithmic scale. */
export function strip(ranks, depth = 1000) {
  const place = (rank) => 3 + 94 * Math.min(1, Math.log(rank) / Math.log(depth));
  const drawing = svg("svg", {
    class: "strip",
    viewBox: "0 0 100 12",
    preserveAspectRatio: "none",
    role: "img",
    "aria-label": `gold at ${ranks.join(", ") || "no rank"}`,
  });
  drawing.append(svg("line", { x1: 3, x2: 97, y1: 6, y2: 6, class: "track" }));
  for (let rank = 1; rank <= depth; rank *= 10) {
    drawing.append(svg("line", { x1: place(rank), x2: place(rank), y1: 3.5, y2: 8.5, class: "track" }));
  }
  for (const rank of ranks)
    drawing.append(svg("line", { x1: place(rank), x2: place(rank), y1: 1, y2: 11, class: "gold" }));
  const ticks = [1, 10, 100, 1000].filter((rank) => rank <= depth);
  return h(
    "div",
    { title: "ranks of the gold items, rank 1 on the left" },
    drawing,
    h(
      "div",
      { class: "ticks", "aria-hidden": "true" },
      ticks.map((rank) => h("span", { style: { left: `${place(rank)}%` } }, String(rank))),
    ),
  );
}
