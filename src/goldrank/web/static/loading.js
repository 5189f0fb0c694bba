// What happens between a question to the server and its answer on the page.

import { failure } from "./dom.js";

/** Say something to who cannot see the page change. */
export function announce(text) {
  document.getElementById("status").textContent = text;
}

/**
 * A function that fills *place* with what `draw` makes of the answer to `ask`.
 *
 * The place is dimmed while it waits and shows an error in the place of an answer; an answer that a later question
 * overtook, or that comes when its view is gone, is dropped. Tells whether an answer was drawn.
 */
export function filler(place, signal) {
  let asked = 0;
  return async (ask, draw) => {
    const mine = ++asked;
    const isWanted = () => mine === asked && !signal.aborted;
    place.setAttribute("aria-busy", "true");
    let made;
    let failed = null;
    try {
      const answer = await ask();
      if (!isWanted()) return false;
      made = draw(answer);
    } catch (error) {
      if (!isWanted()) return false;
      failed = error;
      announce(`Error: ${error.message}`);
      made = [failure(error)];
    }
    place.replaceChildren(...made.flat(Infinity));
    place.removeAttribute("aria-busy");
    return failed === null;
  };
}
