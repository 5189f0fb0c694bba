// Sortable tables, and the buttons to other pages of a list.

import { bdi, h, runName } from "./dom.js";
import { count } from "./numbers.js";

/** Create headings of columns; all but the first *texts* are for numbers. */
export function columnHeadings(labels, texts = 1) {
  return labels.map((label, at) => h("th", { scope: "col", class: at < texts ? null : "figure" }, label));
}

/** Create a table from the headings of its columns and its rows. */
export function createTable(headings, rows, attributes = {}) {
  return h("table", attributes, h("thead", {}, h("tr", {}, headings)), h("tbody", {}, rows));
}

/** Let a wide element scroll sideways. */
export function scrollable(label, content) {
  const region = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, content);
  globalThis.goldrankPage.watchScrolling(region);
  return region;
}

/** Create a heading that sorts; *order* is "asc", "desc", or null if the table is sorted by another column. */
export function sortHeading(label, order, onsort, attributes = {}) {
  const spoken = { asc: "ascending", desc: "descending" }[order] ?? "none";
  return h(
    "th",
    { scope: "col", "aria-sort": spoken, ...attributes },
    h(
      "button",
      { type: "button", class: "sort", onclick: onsort },
      label,
      h("span", { class: "arrow", "aria-hidden": "true" }, { asc: "↑", desc: "↓" }[order] ?? ""),
    ),
  );
}

/** Create the buttons to the previous and next page, if there are several pages. */
export function pager({ total, page, size }, onpage) {
  const last = Math.max(1, Math.ceil(total / size));
  const from = total ? (page - 1) * size + 1 : 0;
  const button = (label, target, text) =>
    h(
      "button",
      { type: "button", "aria-label": label, disabled: target < 1 || target > last, onclick: () => onpage(target) },
      text,
    );
  return h(
    "nav",
    { class: "pager", "aria-label": "Further pages" },
    h("span", { class: "soft" }, `${count(from)}–${count(Math.min(total, page * size))} of ${count(total)}`),
    last > 1 ? [button("Previous page", page - 1, "←"), button("Next page", page + 1, "→")] : null,
  );
}

/** Show a grid of the report (headings, rows of cells, notes) as a sortable table. */
export function gridTable(grid, { href = null, palette = {} } = {}) {
  const body = h("tbody");
  const head = h("tr");
  let column = null;
  let order = "desc";
  const texts = grid.text_columns ?? 1;
  const cells = (row) =>
    row.map((cell, at) => {
      const link = at === 0 ? href?.(cell.text) : null;
      const look = at === 0 ? (palette[cell.text] ?? palette[cell.text.replace(/^[a-z]+ /, "")]) : undefined;
      const shown = [
        look === undefined ? null : h("span", { class: `dot ${look}`, "aria-hidden": "true" }),
        cell.best ? h("strong", {}, bdi(cell.text)) : at === 0 ? runName(cell.text) : bdi(cell.text),
        cell.marks ? h("span", { class: cell.marks.length === 1 ? "marks hanging" : "marks" }, cell.marks) : null,
      ];
      return h(
        at === 0 ? "th" : "td",
        { scope: at === 0 ? "row" : null, class: at < texts ? null : "figure", "data-label": grid.headings[at] },
        link ? h("a", { href: link }, shown) : shown,
        cell.detail ? h("span", { class: "interval" }, bdi(cell.detail)) : null,
      );
    });
  const draw = () => {
    const rows = [...grid.rows];
    if (column !== null) rows.sort((a, b) => (order === "asc" ? 1 : -1) * compareCells(a[column].text, b[column].text));
    body.replaceChildren(...rows.map((row) => h("tr", {}, cells(row))));
    head.replaceChildren(
      ...grid.headings.map((heading, at) =>
        sortHeading(
          heading,
          at === column ? order : null,
          () => {
            order = at === column && order === "desc" ? "asc" : at === column ? "desc" : at < texts ? "asc" : "desc";
            column = at;
            draw();
            head.querySelectorAll("button")[at].focus();
          },
          { class: at < texts ? null : "figure" },
        ),
      ),
    );
  };
  draw();
  return h(
    "figure",
    { class: "grid" },
    grid.title ? h("figcaption", {}, bdi(grid.title)) : null,
    scrollable(grid.title || "Table", h("table", {}, h("thead", {}, head), body)),
    (grid.notes ?? []).map((text) => h("p", { class: "note" }, bdi(text))),
  );
}

function compareCells(a, b) {
  const [x, y] = [a, b].map((text) => Number(text.replace("−", "-").replaceAll(",", "").replace("%", "")));
  if (a && b && !Number.isNaN(x) && !Number.isNaN(y)) return x - y;
  if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? -1 : 1;
  return a.localeCompare(b);
}
