// The runs that were picked: they stay picked from view to view until the browser's tab is closed.

const NAME = "goldrank-picks";
const MOST = 20;
let picks = read();

function read() {
  try {
    const found = JSON.parse(sessionStorage.getItem(NAME) ?? "[]");
    return Array.isArray(found) ? found.filter((key) => typeof key === "string").slice(0, MOST) : [];
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
    // Without storage the picks last as long as the page.
  }
  document.dispatchEvent(new Event("pickschange"));
}

export function toggle(key) {
  pick(picks.includes(key) ? picks.filter((one) => one !== key) : [...picks, key]);
}
