// The JSON API, with its errors as exceptions that say what to do.

export class ApiError extends Error {
  constructor(status, body) {
    super(body?.error ?? `the server answered ${status}`);
    this.status = status;
    this.where = body?.where;
    this.remedy = body?.remedy;
  }
}

/** A query string; empty values are left out, arrays are repeated. */
export function parameters(values) {
  const made = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== null && one !== undefined && one !== "") made.append(name, one);
    }
  }
  return made;
}

export async function get(path, values = {}, signal = undefined) {
  return ask("GET", address(path, values), signal);
}

export const remove = (path) => ask("DELETE", address(path, {}));

export function address(path, values) {
  const query = parameters(values).toString();
  return `/api/${path}${query ? `?${query}` : ""}`;
}

async function ask(method, url, signal) {
  let answer;
  try {
    answer = await fetch(url, { method, signal, headers: { Accept: "application/json" } });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { error: "the server does not answer", remedy: "is goldrank serve still running?" });
  }
  const body = await answer.json().catch(() => null);
  if (!answer.ok) throw new ApiError(answer.status, body);
  return body;
}

const kept = new Map();

/** An answer that does not change while the page is open. */
export function once(path) {
  if (!kept.has(path)) {
    const asked = get(path);
    asked.catch(() => kept.delete(path));
    kept.set(path, asked);
  }
  return kept.get(path);
}
