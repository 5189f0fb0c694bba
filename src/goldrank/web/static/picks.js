// The picked runs, which stay picked in all views until the tab is closed.

const NAME = "goldrank-picks";
const MOST = 20;
let picks = read();

function read() {
  try {
    const stored = JSON.parse(sessionStorage.getItem(NAME) ?? "[]");
    return Array.isArray(stored) ? stored.filter((key) => typeof key === "string").slice(0, MOST) : [];
  } catch {
    return [];
  }
}

export const picked = () => [...picks];

export function pick(keys) {
  picks = [...new Set(keys)].slice(0, MOST);
  try {
    sessionStorage.setItem(NAME, JSON.stringify(picks));
  } catch {
    // Without storage, picks are lost when the page is closed.
  }
  document.dispatchEvent(new Event("pickschange"));
}

export function toggle(key) {
  pick(picks.includes(key) ? picks.filter((other) => other !== key) : [...picks, key]);
}
