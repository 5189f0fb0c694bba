"use strict";
(() => {
  const root = document.documentElement;
  const prefersDark = window.matchMedia("(prefers-color-scheme: dark)");
  const theme = () => root.dataset.theme || (prefersDark.matches ? "dark" : "light");

  const figures = new Map();
  for (const place of document.querySelectorAll(".plot")) {
    const source = document.getElementById(place.dataset.source);
    if (source) figures.set(place, JSON.parse(source.textContent));
  }

  const draw = (place) => {
    if (!window.Plotly) return;
    const chosen = figures.get(place)[theme()];
    const layout = { ...chosen.layout, autosize: true };
    delete layout.width;
    if (layout.height) place.style.height = `${layout.height}px`;
    window.Plotly.react(place, chosen.data, layout, { ...chosen.config, responsive: true });
  };
  const drawAll = () => figures.forEach((_, place) => draw(place));

  const choice = document.getElementById("theme");
  const label = () => { choice.textContent = theme() === "dark" ? "Light" : "Dark"; };
  choice.hidden = false;
  choice.addEventListener("click", () => {
    root.dataset.theme = theme() === "dark" ? "light" : "dark";
    label();
    drawAll();
  });
  prefersDark.addEventListener("change", () => { label(); drawAll(); });
  label();
  drawAll();

  const numberOf = (cell) => {
    const said = (cell.querySelector(".value") || cell).textContent.trim();
    const found = /^[+<≤]?[−-]?\d[\d,]*(\.\d+)?/.exec(said);
    return found ? Number(found[0].replace(/[+<≤,]/g, "").replace("−", "-")) : null;
  };
  const byValue = (a, b, sign) => {
    const [left, right] = [numberOf(a), numberOf(b)];
    if (left !== null && right !== null) return sign * (left - right);
    if (left === null && right === null) return sign * a.textContent.localeCompare(b.textContent);
    return left === null ? 1 : -1;
  };
  const sort = (heading, index) => {
    const down = heading.getAttribute("aria-sort") !== "descending";
    const body = heading.closest("table").tBodies[0];
    const rows = [...body.rows].sort((a, b) => byValue(a.cells[index], b.cells[index], down ? -1 : 1));
    for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, index) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...heading.childNodes);
      button.addEventListener("click", () => sort(heading, index));
      heading.append(button);
    });
  }

  for (const line of document.querySelectorAll(".command")) {
    if (!navigator.clipboard) break;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(line.querySelector("code").textContent);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
    line.append(button);
  }

  window.addEventListener("beforeprint", () => {
    for (const part of document.querySelectorAll("details:not(.passage details)")) part.open = true;
  });
})();
