// Find the view of an address. All state of a view is in its address, so that every view can be linked to.

const ROUTES = [
  [/^\/$/, "runs_page.js"],
  [/^\/runs\/(?<key>[^/]+)$/, "run_page.js"],
  [/^\/compare$/, "compare_page.js"],
  [/^\/diff$/, "diff_page.js"],
  [/^\/query$/, "query_page.js"],
  [/^\/playground$/, "playground_page.js"],
  [/^\/quality$/, "quality_page.js"],
  [/^\/meta$/, "meta_page.js"],
  [/^\/masked$/, "masked_page.js"],
  [/^\/masked\/(?<key>[^/]+)$/, "masked_page.js"],
];

let listener = () => {};
let currentAddress = "";

/** Return the module of a view and the names in its path; null if there is no such view. */
export function matchRoute(path) {
  for (const [pattern, module] of ROUTES) {
    const match = pattern.exec(path);
    if (!match) continue;
    try {
      const names = Object.entries(match.groups ?? {}).map(([name, text]) => [name, decodeURIComponent(text)]);
      return { module, names: Object.fromEntries(names) };
    } catch {
      return null; // A path that is not valid UTF-8.
    }
  }
  return null;
}

/** Call *onchange* now and whenever a link or a button of the browser changes the address. */
export function start(onchange) {
  listener = onchange;
  history.scrollRestoration = "manual";
  addEventListener("popstate", (event) => {
    // A jump within the page (#main) does not change the view.
    if (location.pathname + location.search === currentAddress) return;
    change({ moved: true, scroll: event.state?.scroll ?? 0 });
  });
  addEventListener("scroll", saveScroll, { passive: true });
  document.addEventListener("click", followLink);
  change({ moved: false, scroll: null });
}

function change(how) {
  currentAddress = location.pathname + location.search;
  listener(how);
}

/** Show another view. */
export function go(address) {
  history.pushState({ scroll: 0 }, "", address);
  change({ moved: true, scroll: 0 });
}

/** Write the state of the current view into the address without rendering the view again. */
export function updateAddress(query, { push = false } = {}) {
  const text = query.toString();
  const address = `${location.pathname}${text ? `?${text}` : ""}`;
  if (address === location.pathname + location.search) return;
  if (push) history.pushState({ scroll: scrollY }, "", address);
  else history.replaceState({ scroll: scrollY }, "", address);
  currentAddress = address;
  document.dispatchEvent(new Event("addresschange"));
}

let scrollTimer = 0;

function saveScroll() {
  clearTimeout(scrollTimer);
  scrollTimer = setTimeout(() => history.replaceState({ scroll: scrollY }, ""), 150);
}

function followLink(event) {
  if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey)
    return;
  const link = event.target.closest?.("a[href]");
  if (!link || link.target || link.hasAttribute("download")) return;
  const url = new URL(link.href);
  if (url.origin !== location.origin || url.hash || !matchRoute(url.pathname)) return;
  event.preventDefault();
  go(url.pathname + url.search);
}
