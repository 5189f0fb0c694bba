// Create elements. Text from data always becomes a text node and is never parsed as HTML.

const SVG = "http://www.w3.org/2000/svg";
const LONG = 600;
const MANY = 2000;

/** Create an element; `on…` attributes are listeners, true sets and false omits one; nested children are flattened. */
export function h(name, attributes = {}, ...children) {
  return setUp(document.createElement(name), attributes, children);
}

/** Create an SVG element in the same way. */
export function svg(name, attributes = {}, ...children) {
  return setUp(document.createElementNS(SVG, name), attributes, children);
}

function setUp(element, attributes, children) {
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

/** Isolate a text from data, so that right-to-left text does not reorder what surrounds it. */
export function bdi(text, attributes = {}) {
  return h("bdi", { dir: "auto", ...attributes }, String(text));
}

/** Show the name of a run, with places for line breaks: specs are long and have no spaces. */
export function runName(text) {
  const parts = String(text).split(/(?<=[:,(/])(?=\w)/);
  return h("bdi", { dir: "auto" }, parts.flatMap((part, at) => (at ? [h("wbr"), part] : [part])));
}

/** Show a long text truncated, with a button that expands it. */
export function expandable(text, { limit = LONG, shared = null } = {}) {
  const whole = String(text ?? "");
  const body = bdi("", { class: "text" });
  const fill = (part) => body.replaceChildren(...highlight(part, shared));
  if (whole.length <= limit) {
    fill(whole);
    return body;
  }
  const short = `${truncate(whole, limit)} …`;
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

/** Return the first characters of a text without cutting a surrogate pair. */
function truncate(text, length) {
  const part = text.slice(0, length);
  return /[\uD800-\uDBFF]$/.test(part) ? part.slice(0, -1) : part;
}

/** Return text nodes, with the words that are in *shared* emphasised. */
function highlight(text, shared) {
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

/** Show grey bars while something is loading. */
export function skeleton(lines = 6) {
  return h(
    "div",
    { class: "skeleton", "aria-hidden": "true" },
    Array.from({ length: lines }, () => h("div")),
  );
}

/** Show what is missing, and the commands that create it. */
export function empty(what, ...commands) {
  return h(
    "div",
    { class: "empty" },
    h("p", {}, what),
    commands.map((line) => h("pre", {}, h("code", {}, line))),
  );
}

/** Show an error with its place and remedy. */
export function failure(error) {
  return h(
    "div",
    { class: "failure", role: "alert" },
    h("p", {}, h("strong", {}, bdi(error.message))),
    error.where ? h("p", {}, "In ", bdi(error.where)) : null,
    error.remedy ? h("p", {}, "What to do: ", bdi(error.remedy)) : null,
  );
}

/** Create a control with its label. */
export function field(label, control) {
  return h("label", { class: "field" }, h("span", {}, label), control);
}

/** Create a select element from [value, label] pairs. */
export function select(options, chosen, onchange, attributes = {}) {
  const element = h(
    "select",
    { ...attributes, onchange: (event) => onchange(event.target.value) },
    options.map(([value, label]) => h("option", { value }, label ?? value)),
  );
  element.value = chosen ?? "";
  return element;
}

/** Return a function that calls *action* once it has not been called for a while; for typing. */
export function debounce(action, wait = 250) {
  let timer = 0;
  return (...values) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...values), wait);
  };
}
