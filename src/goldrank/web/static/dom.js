// Elements and texts. Whatever comes from data becomes a text node here: nothing is ever parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
const LONG = 600;
const MANY = 2000;

/** An element; `on…` are listeners, true and false set and leave out, arrays of children are flattened. */
export function h(name, attributes = {}, ...children) {
  return dress(document.createElement(name), attributes, children);
}

/** The same for an element of a drawing. */
export function svg(name, attributes = {}, ...children) {
  return dress(document.createElementNS(SVG, name), attributes, children);
}

function dress(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "value") element.value = value;
    else if (name === "style")
      for (const [rule, entry] of Object.entries(value)) element.style.setProperty(rule, entry);
    else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(
    ...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false),
  );
  return element;
}

/** A text of the user's, kept from turning its surroundings around. */
export function said(text, attributes = {}) {
  return h("bdi", { dir: "auto", ...attributes }, String(text));
}

/** A text of any length: its beginning, and the rest when it is asked for. */
export function folded(text, { limit = LONG, shared = null } = {}) {
  const whole = String(text ?? "");
  const body = said("", { class: "text" });
  const fill = (part) => body.replaceChildren(...marked(part, shared));
  if (whole.length <= limit) {
    fill(whole);
    return body;
  }
  const short = `${beginning(whole, limit)} …`;
  const all = whole.length > MANY ? `all ${new Intl.NumberFormat("en").format(whole.length)} characters` : "more";
  const button = h("button", { type: "button", class: "more", "aria-expanded": "false" }, all);
  button.addEventListener("click", () => {
    const open = button.getAttribute("aria-expanded") !== "true";
    button.setAttribute("aria-expanded", String(open));
    button.textContent = open ? "less" : all;
    fill(open ? whole : short);
  });
  fill(short);
  return h("div", { class: "folded" }, body, " ", button);
}

/** The first characters of a text, not ending in half of one. */
export function beginning(text, length) {
  const part = text.slice(0, length);
  return /[\uD800-\uDBFF]$/.test(part) ? part.slice(0, -1) : part;
}

/** Text nodes, with the words that are in *shared* emphasised. */
function marked(text, shared) {
  if (!shared?.length) return [text];
  const wanted = new Set(shared.map((term) => term.toLowerCase()));
  const parts = [];
  let done = 0;
  for (const match of text.matchAll(/[\p{L}\p{N}\p{M}_]+/gu)) {
    if (!wanted.has(match[0].toLowerCase())) continue;
    parts.push(text.slice(done, match.index), h("mark", { class: "shared" }, match[0]));
    done = match.index + match[0].length;
  }
  return [...parts, text.slice(done)];
}

/** Grey bars in the place of what is being loaded. */
export function skeleton(lines = 6) {
  return h(
    "div",
    { class: "skeleton", "aria-hidden": "true" },
    Array.from({ length: lines }, () => h("div")),
  );
}

/** What an empty place says: what is missing, and what to run. */
export function empty(what, ...commands) {
  return h(
    "div",
    { class: "empty" },
    h("p", {}, what),
    commands.map((line) => h("pre", {}, h("code", {}, line))),
  );
}

/** An error as the API or this page words it. */
export function failure(error) {
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, h("strong", {}, said(error.message))),
    error.where ? h("p", {}, "In ", said(error.where)) : null,
    error.remedy ? h("p", {}, "What to do: ", said(error.remedy)) : null,
  );
}

/** A control with its label above it. */
export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}

/** A choice among [value, label] pairs. */
export function select(options, chosen, onchange, attributes = {}) {
  const made = h(
    "select",
    { ...attributes, onchange: (event) => onchange(event.target.value) },
    options.map(([value, label]) => h("option", { value }, label ?? value)),
  );
  made.value = chosen ?? "";
  return made;
}

/** Wait until nothing was called for a while; for typing. */
export function patiently(action, wait = 250) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}
