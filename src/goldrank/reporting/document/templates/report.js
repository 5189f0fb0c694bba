"use strict";
(() => {
  const { goldrankPage: page, goldrankTheme: theme } = globalThis;
  const figures = new Map();
  for (const place of document.querySelectorAll(".canvas")) {
    const source = document.getElementById(place.dataset.source);
    if (source) figures.set(place, JSON.parse(source.textContent));
  }
  const drawAll = () => {
    if (!globalThis.Plotly) return;
    figures.forEach((figure, place) => {
      page.draw(globalThis.Plotly, place, { ...figure[theme.current()], legend: figure.legend });
    });
  };
  theme.connect(document.getElementById("theme"));
  document.addEventListener("themechange", drawAll);
  drawAll();
  document.querySelectorAll(".scroll").forEach(page.watchScrolling);

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
    for (const other of heading.parentElement.cells) {
      other.removeAttribute("aria-sort");
      other.querySelector(".arrow").textContent = "";
    }
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    heading.querySelector(".arrow").textContent = down ? "↓" : "↑";
    body.append(...rows);
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    [...table.tHead.rows[0].cells].forEach((heading, index) => {
      const button = document.createElement("button");
      const arrow = document.createElement("span");
      arrow.className = "arrow";
      arrow.setAttribute("aria-hidden", "true");
      button.type = "button";
      button.className = "sort";
      button.append(...heading.childNodes, arrow);
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
