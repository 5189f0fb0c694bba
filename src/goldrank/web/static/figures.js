// Figures, drawn by plotly; its script is loaded when the first figure comes near the screen.

import { bdi, failure, h } from "./dom.js";

let script = null;

function plotly() {
  script ??= new Promise((done, failed) => {
    const tag = h("script", { src: "/static/plotly.min.js" });
    tag.addEventListener("load", () => done(globalThis.Plotly));
    tag.addEventListener("error", () => {
      script = null;
      failed(
        Object.assign(new Error("plotly is not installed beside the server"), {
          remedy: "pip install 'goldrank[web]'",
        }),
      );
    });
    document.head.append(tag);
  });
  return script;
}

/** Show a figure of the API: name, title, caption, note, legend and the specification for plotly. */
export function figure(description) {
  const canvas = h("div", {
    class: "canvas",
    role: "img",
    "aria-label": `${description.title}. ${description.caption ?? ""}`,
  });
  const { plotly: plot } = description;
  // Reserve the space, so that the page does not jump when the figure is drawn.
  if (plot.layout.height) canvas.style.height = `${plot.layout.height}px`;
  // Draw a figure only when it comes near the screen: many of them at once would block the page.
  const watcher = new IntersectionObserver(
    async (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      try {
        const library = await plotly();
        if (!canvas.isConnected) return;
        await globalThis.goldrankPage.draw(library, canvas, { ...plot, legend: description.legend });
        canvas.dataset.drawn = "";
      } catch (error) {
        canvas.replaceChildren(failure(error));
      }
    },
    { rootMargin: "300px" },
  );
  watcher.observe(canvas);
  return h(
    "figure",
    { class: "plot", id: description.name ? `figure-${description.name}` : null },
    h("h3", {}, bdi(description.title ?? "")),
    canvas,
    h(
      "figcaption",
      {},
      description.caption ? h("p", { class: "note" }, bdi(description.caption)) : null,
      description.note ? h("p", { class: "note" }, bdi(description.note)) : null,
    ),
  );
}
