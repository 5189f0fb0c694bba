// The frame around every view: navigation, theme, the tray of picked runs, loading and errors.

import { getCached, parameters } from "./api.js";
import { bdi, failure, h, skeleton } from "./dom.js";
import { announce } from "./loading.js";
import { count } from "./numbers.js";
import { pick, picked, toggle } from "./picks.js";
import { matchRoute, start } from "./router.js";

const main = document.getElementById("main");
const PAGES = [
  ["/", "Runs", false],
  ["/compare", "Compare", true],
  ["/query", "Queries", true],
  ["/playground", "Playground", true],
  ["/quality", "Data", false],
  ["/meta", "Meta", false],
  ["/masked", "Masked", false],
  ["/api/docs", "API", false],
];
/** Pages that have no link of their own in the navigation. */
const PART_OF = { diff: "/compare" };
let current = new AbortController();

async function show({ moved, scroll }) {
  current.abort();
  current = new AbortController();
  const { signal } = current;
  const route = matchRoute(location.pathname);
  renderFrame();
  announce("Loading …");
  document.body.classList.add("loading");
  const view = h("div", { class: "view" }, skeleton());
  main.replaceChildren(view);
  try {
    if (!route) throw Object.assign(new Error("There is no such page."), { remedy: "Start from the list of runs." });
    const page = await import(`/static/${route.module}`);
    const title = await page.show(view, { names: route.names, query: new URLSearchParams(location.search), signal });
    if (signal.aborted) return;
    document.title = `${title} · goldrank`;
    announce(`${title}: loaded`);
  } catch (error) {
    if (signal.aborted || error.name === "AbortError") return;
    document.title = "Error · goldrank";
    announce(`Error: ${error.message}`);
    view.replaceChildren(
      h("h1", { tabindex: "-1" }, "This cannot be shown"),
      failure(error),
      h("p", {}, h("a", { href: "/" }, "All runs")),
    );
  } finally {
    if (!signal.aborted) document.body.classList.remove("loading");
  }
  main.dataset.shown = location.pathname + location.search;
  if (moved) {
    main.querySelector("h1")?.focus({ preventScroll: true });
    scrollTo(0, scroll ?? 0);
  }
}

function renderFrame() {
  const keys = new URLSearchParams(location.search).getAll("key");
  const chosen = keys.length ? keys : picked();
  const place = location.pathname.split("/")[1];
  const links = PAGES.map(([path, label, takesKeys]) => {
    const query = takesKeys && chosen.length ? `?${parameters({ key: chosen })}` : "";
    const isHere =
      path === "/" ? /^\/(runs\/|$)/.test(location.pathname) : PART_OF[place] === path || `/${place}` === path;
    return h("a", { href: path + query, "aria-current": isHere ? "page" : null }, label);
  });
  const nav = document.getElementById("nav");
  nav.replaceChildren(...links);
  const here = nav.querySelector("[aria-current]");
  // On a narrow screen, scroll the link of the current page into sight.
  if (here) nav.scrollLeft = here.offsetLeft - nav.offsetLeft - (nav.clientWidth - here.offsetWidth) / 2;
  renderTray();
}

function renderTray() {
  const tray = document.getElementById("tray");
  const keys = picked();
  tray.hidden = keys.length === 0 || location.pathname !== "/";
  document.body.classList.toggle("with-tray", !tray.hidden);
  if (tray.hidden) return;
  const query = parameters({ key: keys });
  tray.replaceChildren(
    h("strong", {}, `${keys.length} picked`),
    h(
      "ul",
      { class: "picks" },
      keys.map((key) =>
        h(
          "li",
          {},
          bdi(key),
          h("button", { type: "button", class: "quiet", "aria-label": `Drop ${key}`, onclick: () => toggle(key) }, "×"),
        ),
      ),
    ),
    h(
      "span",
      { class: "actions" },
      h("a", { class: "button strong", href: `/compare?${query}` }, keys.length > 1 ? "Compare" : "Report"),
      h("a", { class: "button", href: `/query?${query}` }, "Queries"),
      h("a", { class: "button", href: `/playground?${query}` }, "Playground"),
      h("button", { type: "button", class: "quiet", onclick: () => pick([]) }, "Clear"),
    ),
  );
}

async function renderFooter() {
  try {
    const about = await getCached("about");
    document
      .getElementById("foot")
      .replaceChildren(
        `goldrank ${about.version} · ${count(about.runs)} runs in `,
        bdi(about.store),
        about.allow_delete ? " · runs can be deleted here" : " · read-only",
      );
  } catch {
    // The view itself shows the error.
  }
}

globalThis.goldrankTheme.connect(document.getElementById("theme"));
document.addEventListener("pickschange", renderFrame);
document.addEventListener("addresschange", renderFrame);
start(show);
renderFooter();
