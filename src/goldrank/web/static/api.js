// Requests to the JSON API; its errors become exceptions with a remedy.

class ApiError extends Error {
  constructor(status, body) {
    super(body?.error ?? `the server answered ${status}`);
    this.status = status;
    this.where = body?.where;
    this.remedy = body?.remedy;
  }
}

/** Return a query string; empty values are left out, and arrays become repeated parameters. */
export function parameters(values) {
  const result = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    for (const entry of Array.isArray(value) ? value : [value]) {
      if (entry !== null && entry !== undefined && entry !== "") result.append(name, entry);
    }
  }
  return result;
}

export async function get(path, values = {}, signal = undefined) {
  return request("GET", address(path, values), signal);
}

export const remove = (path) => request("DELETE", address(path, {}));

export const post = (path, body, signal = undefined) => request("POST", address(path, {}), signal, body);

export function address(path, values) {
  const query = parameters(values).toString();
  return `/api/${path}${query ? `?${query}` : ""}`;
}

async function request(method, url, signal, body = undefined) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    response = await fetch(url, { method, signal, headers, body: body === undefined ? null : JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, { error: "the server does not answer", remedy: "is the goldrank server still running?" });
  }
  const content = await response.json().catch(() => null);
  if (!response.ok) throw new ApiError(response.status, content);
  return content;
}

const cache = new Map();

/** Get data that does not change while the page is open, and request it only once. */
export function getCached(path) {
  if (!cache.has(path)) {
    const response = get(path);
    response.catch(() => cache.delete(path));
    cache.set(path, response);
  }
  return cache.get(path);
}
