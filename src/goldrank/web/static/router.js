// Which view an address shows. All state of a view is in its address, so that every view can be linked to.

const ROUTES = [
  [/^\/$/, "runs_page.js"],
  [/^\/runs\/(?<key>[^/]+)$/, "run_page.js"],
  [/^\/compare$/, "compare_page.js"],
  [/^\/query$/, "query_page.js"],
  [/^\/playground$/, "playground_page.js"],
  [/^\/quality$/, "quality_page.js"],
  [/^\/meta$/, "meta_page.js"],
  [/^\/masked$/, "masked_page.js"],
  [/^\/masked\/(?<key>[^/]+)$/, "masked_page.js"],
];

let listener = () => {};
let present = "";

/** The module of a view and what its path names; null where there is no such view. */
export function matched(path) {
  for (const [pattern, module] of ROUTES) {
    const found = pattern.exec(path);
    if (!found) continue;
    try {
      const names = Object.entries(found.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]);
      return { module, names: Object.fromEntries(names) };
    } catch {
      return null; // A path that is not valid UTF-8.
    }
  }
  return null;
}

/** Call *onchange* now and whenever the address changes through a link or the browser's buttons. */
export function start(onchange) {
  listener = onchange;
  history.scrollRestoration = "manual";
  addEventListener("popstate", (event) => {
    // A jump within the page (#main) leads to no other view.
    if (location.pathname + location.search === present) return;
    change({ moved: true, scroll: event.state?.scroll ?? 0 });
  });
  addEventListener("scroll", keepScroll, { passive: true });
  document.addEventListener("click", follow);
  change({ moved: false, scroll: null });
}

function change(how) {
  present = location.pathname + location.search;
  listener(how);
}

/** Go to another view. */
export function go(address) {
  history.pushState({ scroll: 0 }, "", address);
  change({ moved: true, scroll: 0 });
}

/** Note in the address what the present view shows, without drawing it anew. */
export function note(query, { push = false } = {}) {
  const text = query.toString();
  const address = `${location.pathname}${text ? `?${text}` : ""}`;
  if (address === location.pathname + location.search) return;
  if (push) history.pushState({ scroll: scrollY }, "", address);
  else history.replaceState({ scroll: scrollY }, "", address);
  present = address;
  document.dispatchEvent(new Event("addresschange"));
}

let waiting = 0;

function keepScroll() {
  clearTimeout(waiting);
  waiting = setTimeout(() => history.replaceState({ scroll: scrollY }, ""), 150);
}

function follow(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.hash || !matched(url.pathname)) return;
  event.preventDefault();
  go(url.pathname + url.search);
}
