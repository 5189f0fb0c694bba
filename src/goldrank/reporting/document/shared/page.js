// What report and explorer share: figures that fit their width with a legend below, and tables that say that they scroll.
(() => {
  const NARROW = 480;
  const SVG = "http://www.w3.org/2000/svg";
  const DASHES = { solid: "", dash: "6 3", dashdot: "6 3 2 3", dot: "2 3" };
  const POINTS = {
    square: "9,2 17,2 17,10 9,10",
    diamond: "13,1 18,6 13,11 8,6",
    "triangle-up": "13,1 18,10 8,10",
    "triangle-down": "13,11 18,2 8,2",
    "triangle-left": "8,6 17,1 17,11",
    "triangle-right": "18,6 9,1 9,11",
    cross: "11,1 15,1 15,4 18,4 18,8 15,8 15,11 11,11 11,8 8,8 8,4 11,4",
    x: "10,1 13,4 16,1 18,3 15,6 18,9 16,11 13,8 10,11 8,9 11,6 8,3",
  };
  const PATTERNS = {
    "/": "M6 12L12 0M11 12L17 0M16 12L22 0",
    "\\": "M6 0L12 12M11 0L17 12M16 0L22 12",
    x: "M6 0L18 12M18 0L6 12",
    "-": "M4 4H22M4 8H22",
    "+": "M4 6H22M9 0V12M17 0V12",
    ".": "M8 4H10M12 4H14M16 4H18M8 8H10M12 8H14M16 8H18",
  };

  function shape(name, attributes) {
    const element = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    return element;
  }

  /** Draw the line, mark or bar of a series. */
  function swatch(entry) {
    const picture = shape("svg", { viewBox: "0 0 26 12", "aria-hidden": "true", class: "swatch" });
    picture.style.color = `var(--${entry.colour})`;
    if (entry.mark === "bars") {
      picture.append(shape("rect", { x: 5, y: 0, width: 16, height: 12, fill: "currentColor" }));
      if (entry.pattern) picture.append(shape("path", { d: PATTERNS[entry.pattern], class: "pattern" }));
      return picture;
    }
    if (entry.mark !== "points")
      picture.append(
        shape("path", { d: "M0 6H26", stroke: "currentColor", "stroke-width": 2, "stroke-dasharray": DASHES[entry.dash] }),
      );
    if (entry.mark !== "steps" && entry.marker) {
      const look = entry.hollow ? { class: "hollow" } : { fill: "currentColor" };
      picture.append(
        entry.marker === "circle"
          ? shape("circle", { cx: 13, cy: 6, r: 4.2, ...look })
          : shape("polygon", { points: POINTS[entry.marker], ...look }),
      );
    }
    return picture;
  }

  function drawLegend(place, entries, library) {
    const list = document.createElement("ul");
    list.className = "legend";
    for (const entry of entries) {
      const button = document.createElement("button");
      const name = document.createElement("bdi");
      name.textContent = entry.name;
      button.type = "button";
      button.title = "Show or hide";
      button.setAttribute("aria-pressed", "true");
      button.append(swatch(entry), name);
      button.addEventListener("click", () => {
        const shown = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shown));
        const traces = place.data.flatMap((trace, at) => (trace.legendgroup === entry.group ? [at] : []));
        library.restyle(place, { visible: shown }, traces);
      });
      const item = document.createElement("li");
      item.append(button);
      list.append(item);
    }
    if (place.nextElementSibling?.matches("ul.legend")) place.nextElementSibling.remove();
    if (entries.length) place.after(list);
  }

  /** Fit a layout to a telephone: names of rows above their values instead of beside them, and narrow margins. */
  function fitted(plot, narrow) {
    const layout = { ...plot.layout, autosize: true };
    delete layout.width;
    if (!narrow) return layout;
    layout.margin = { ...layout.margin, l: 40, r: 20 };
    const rows = layout.yaxis?.ticktext?.length;
    // Bars and the cells of a heat map fill their rows and leave no room for names.
    const filled = plot.data.some((trace) => trace.type === "heatmap" || trace.type === "bar");
    if (!rows || filled || layout.yaxis.type === "log") return layout;
    // The values of several series lie below each other in a row.
    const series = plot.legend?.length || 1;
    // A text at a value lies between the value and the name of the row.
    const above = 9 + 3 * series + (plot.data.some((trace) => trace.text?.length && trace.mode?.includes("text")) ? 14 : 0);
    const names = layout.yaxis.ticktext.map((text, at) => ({
      text,
      x: 0,
      xref: "paper",
      xanchor: "left",
      y: layout.yaxis.tickvals[at],
      yanchor: "bottom",
      yshift: above,
      showarrow: false,
      font: { size: 12 },
    }));
    layout.annotations = [...(layout.annotations ?? []), ...names];
    layout.yaxis = { ...layout.yaxis, automargin: false, showticklabels: false };
    layout.margin = { ...layout.margin, l: 8, t: 16 };
    layout.height += (12 + above) * rows;
    return layout;
  }

  const drawn = new WeakMap();

  /** Draw a figure, or draw it again in other colours; *figure* has data, layout and config for plotly, and a legend. */
  function draw(library, place, figure) {
    const narrow = place.clientWidth < NARROW;
    const layout = fitted(figure, narrow);
    if (layout.height) place.style.height = `${layout.height}px`;
    const before = drawn.get(place);
    drawn.set(place, { figure, narrow });
    if (!before) {
      new ResizeObserver(() => {
        const now = drawn.get(place);
        if (place.clientWidth && now.narrow !== place.clientWidth < NARROW) draw(library, place, now.figure);
      }).observe(place);
    }
    const config = { ...figure.config, responsive: true, ...(narrow ? { displayModeBar: false } : {}) };
    const ready = library.react(place, figure.data, layout, config);
    drawLegend(place, figure.legend ?? [], library);
    return ready;
  }

  /** Say above a region that it scrolls sideways, while it does. */
  function watchScrolling(region) {
    const look = () => {
      const hidden = region.scrollWidth - region.clientWidth;
      region.classList.toggle("overflows", hidden > 1);
      region.classList.toggle("at-end", hidden - region.scrollLeft <= 1);
    };
    const watcher = new ResizeObserver(look);
    watcher.observe(region);
    for (const content of region.children) watcher.observe(content);
    region.addEventListener("scroll", look, { passive: true });
  }

  globalThis.goldrankPage = { draw, watchScrolling };
})();
