// Figures drawn by plotly, whose script is fetched when the first figure comes near the screen.

import { failure, h, said } from "./dom.js";

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

/** A figure as the API gives it: name, title, caption, note and what plotly draws. */
export function figure(described) {
  const canvas = h("div", {
    class: "canvas",
    role: "img",
    "aria-label": `${described.title}. ${described.caption ?? ""}`,
  });
  const drawn = described.plotly;
  // The room is kept from the start, so that nothing jumps when the figure comes.
  if (drawn.layout.height) canvas.style.height = `${drawn.layout.height}px`;
  // A figure far below is drawn when it comes near: ten of them at once would hold up the page.
  const watcher = new IntersectionObserver(
    async (entries) => {
      if (!entries.some((entry) => entry.isIntersecting)) return;
      watcher.disconnect();
      try {
        const library = await plotly();
        if (!canvas.isConnected) return;
        const config = { ...drawn.config, responsive: true, displaylogo: false };
        await library.newPlot(
          canvas,
          drawn.data,
          { ...drawn.layout, autosize: true, width: undefined, title: undefined },
          config,
        );
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
    { class: "plot", id: described.name ? `figure-${described.name}` : null },
    h("figcaption", {}, h("h3", {}, said(described.title ?? ""))),
    canvas,
    described.caption ? h("p", { class: "note" }, said(described.caption)) : null,
    described.note ? h("p", { class: "note" }, said(described.note)) : null,
  );
}
