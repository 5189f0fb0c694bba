// Load data into a part of the page.

import { failure } from "./dom.js";

/** Announce a change to screen readers. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/**
 * Return a function that fetches data by `fetchData` and fills *place* with the elements that `render` returns for it.
 *
 * The place is dimmed while data is loading and shows the error if that fails. A response is dropped if a later request
 * was sent or if the view is gone. The function returns whether a response was rendered.
 */
export function createLoader(place, signal) {
  let latest = 0;
  return async (fetchData, render) => {
    const request = ++latest;
    const isCurrent = () => request === latest && !signal.aborted;
    place.setAttribute("aria-busy", "true");
    let content;
    let failed = null;
    try {
      const data = await fetchData();
      if (!isCurrent()) return false;
      content = render(data);
    } catch (error) {
      if (!isCurrent()) return false;
      failed = error;
      announce(`Error: ${error.message}`);
      content = [failure(error)];
    }
    place.replaceChildren(...content.flat(Infinity));
    place.removeAttribute("aria-busy");
    return failed === null;
  };
}
