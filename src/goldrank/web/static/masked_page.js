// Pages with masked names: the text with the first guess at each mask, all guesses, and the pooled answers.

import { get } from "./api.js";
import { LIST_PARAMETERS, listDetail } from "./list_detail.js";
import { bdi, empty, expandable, field, h, runName, select } from "./dom.js";
import { digits, interval, value } from "./numbers.js";
import { columnHeadings, createTable } from "./tables.js";

const MASK = /<mask>/g;
const RULES = {
  profile: [
    "Reading",
    [
      ["source", "source: a part of the name"],
      ["strict", "strict: the same person"],
    ],
  ],
  matcher: ["Matcher", [["", "of the reading"], ["names"], ["tokens"], ["surname"], ["original"], ["seed"]]],
  pool: [
    "Pooling",
    [
      ["", "of the reading"],
      ["gold", "by gold"],
      ["alias", "by alias"],
    ],
  ],
  tier: ["Right from", [["", "of the reading"], ["initial"], ["given"], ["surname"], ["all", "all names"], ["exact"]]],
};

// Choices that lose their meaning when another one changes.
const RESET_BY = { profile: { matcher: "", pool: "", tier: "" }, matcher: { tier: "" } };
// The tiers of matchers that do not have all of them.
const TIERS = { tokens: ["given", "surname"], surname: ["given"], original: ["given"], seed: ["given"] };

/** Return the options of a rule that have an effect. */
function effectiveOptions(name, options, { matcher }) {
  const known = name === "tier" ? TIERS[matcher] : null;
  return known ? options.filter(([value]) => !value || known.includes(value)) : options;
}

export async function show(view, { names, query, signal }) {
  if (!names.key) return overview(view, signal);
  const address = `masked/${encodeURIComponent(names.key)}`;
  const state = Object.fromEntries(
    [...LIST_PARAMETERS, "id", ...Object.keys(RULES)].map((name) => [name, query.get(name) ?? ""]),
  );
  await listDetail(view, signal, state, {
    name: "id",
    label: "Masked pages",
    intro: "Choose a page to see its text with the guesses.",
    placeholder: "title or id",
    orders: [
      ["id asc", "by id"],
      ["title asc", "by title"],
      ["value asc", "worst first"],
      ["value desc", "best first"],
      ["masks desc", "most masks first"],
    ],
    fetchList: (values) => get(`${address}/pages`, { ...values, profile: state.profile }, signal),
    entries: (data) =>
      data.pages.map(({ id, title, masks, value: number, beside: other }) => ({
        id,
        number: value(number),
        title: title || id,
        small: [`${masks} ${masks === 1 ? "mask" : "masks"}; ${data.beside} ${digits(other)}`],
      })),
    caption: (data) => h("p", { class: "note" }, bdi(`${data.metric}, ${data.profile}`)),
    fetchDetail: () =>
      get(
        `${address}/page`,
        { id: state.id, ...Object.fromEntries(Object.keys(RULES).map((name) => [name, state[name]])) },
        signal,
      ),
    renderDetail: (data, change) => renderPage(data, state, names.key, change),
  });
  return state.id ? `Masked page ${state.id}` : "Masked pages";
}

async function overview(view, signal) {
  const { runs } = await get("masked", {}, signal);
  const readings = Object.keys(runs[0]?.readings ?? {});
  view.replaceChildren(
    h("h1", { tabindex: "-1" }, "Masked pages"),
    h("p", { class: "lead" }, "Whose name was taken out of the text?"),
    runs.length
      ? createTable(
          columnHeadings(["Model", ...readings.map((name) => `Accuracy, ${name}`)]),
          runs.map((run) => runRow(run, readings)),
        )
      : empty("No masked runs are stored yet.", "goldrank masked predict persons -m names:majority"),
  );
  return "Masked pages";
}

function runRow(run, readings) {
  return h(
    "tr",
    {},
    h(
      "th",
      { scope: "row" },
      h("a", { href: `/masked/${encodeURIComponent(run.key)}` }, runName(run.model)),
      h("small", { class: "task" }, bdi(run.task)),
    ),
    readings.map((name) => {
      const score = run.readings[name];
      return h("td", { class: "figure" }, value(score.value), interval(score.low, score.high));
    }),
  );
}

function renderPage(data, state, key, change) {
  const readings = [data.profile, data.beside];
  return [
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: "/masked" }, "Masked"),
      " / ",
      h("a", { href: `/runs/${encodeURIComponent(key)}` }, bdi(key)),
    ),
    h("h1", { tabindex: "-1" }, bdi(data.title || data.id)),
    h(
      "p",
      { class: "lead" },
      readings.map((name) => {
        const { mask, page } = data.scores[name];
        const masks = `${mask.right} of ${mask.of} ${mask.of === 1 ? "mask" : "masks"} right`;
        return h("span", { class: "reading" }, `${name}: ${masks}, the page ${page.right ? "right" : "wrong"}. `);
      }),
    ),
    h(
      "div",
      { class: "filters" },
      Object.entries(RULES).map(([name, [label, options]]) =>
        field(
          label,
          select(effectiveOptions(name, options, data.rules), state[name] || options[0][0], (chosen) =>
            change({ ...RESET_BY[name], [name]: chosen }),
          ),
        ),
      ),
    ),
    h("h2", {}, "Pooled answers of the page"),
    groupTables(data.groups, readings),
    h(
      "p",
      { class: "legend" },
      h("span", {}, h("span", { class: "mask right" }, "right"), ` first guess, ${data.profile}`),
      h("span", {}, h("span", { class: "mask wrong" }, "wrong"), " first guess; press one to see the others"),
    ),
    ...data.examples.map((example) => renderExample(example, readings, data.examples.length)),
  ];
}

/** Show the pooled groups of each reading side by side. */
function groupTables(groups, readings) {
  return h(
    "div",
    { class: "readings" },
    readings.map((name) => groupTable(groups[name], name, readings)),
  );
}

function groupTable(groups, reading, readings) {
  const most = Math.max(...groups.map((group) => group.sum), 1e-12);
  const rows = (group) => [
    h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        bdi(group.group),
        group.right ? h("span", { class: "badge gold" }, "right") : null,
        group.named ? null : h("span", { class: "badge" }, "no name"),
        h(
          "span",
          { class: "bar" },
          h("span", {
            style: { width: `${(100 * Math.max(0, group.sum)) / most}%` },
            class: group.right ? "right" : null,
          }),
        ),
      ),
      h("td", { class: "figure" }, value(group.sum)),
      h("td", { class: "figure" }, `${(100 * group.share).toFixed(1)}%`),
    ),
    h("tr", { class: "members" }, h("td", { colspan: 3 }, guessesOf(group, readings))),
  ];
  return h(
    "figure",
    { class: "grid" },
    h("figcaption", {}, reading),
    createTable(columnHeadings(["Group", "Sum", "Share"]), groups.slice(0, 6).flatMap(rows), { class: "pooled" }),
  );
}

/** List the guesses of a group with their masks and the readings in which each is right. */
function guessesOf(group, readings) {
  const lines = group.guesses.map(({ guess, sequence, mask, score, right }) => {
    const by = readings.filter((name) => right[name]);
    const verdict = by.length ? `right in ${by.join(" and ")}` : "wrong";
    return h("li", {}, bdi(guess), ` ${digits(score)}, mask ${sequence}:${mask}, ${verdict}`);
  });
  const count = `${lines.length} ${lines.length === 1 ? "guess" : "guesses"}`;
  return h("details", {}, h("summary", {}, count), h("ul", {}, lines));
}

function renderExample(example, readings, count) {
  const panel = h("div", { class: "guesses", hidden: true });
  const buttons = example.masks.map((mask) => maskButton(mask, readings, panel, () => buttons));
  return h(
    "section",
    { class: "example" },
    count > 1 ? h("h2", {}, `Example ${example.sequence}`) : null,
    example.text
      ? h("div", { class: "masked-text" }, inPlace(example.text, buttons))
      : h(
          "p",
          {},
          h("span", { class: "soft" }, "The text is not stored. Guesses: "),
          buttons.flatMap((button) => [button, " "]),
        ),
    panel,
    count > 1 ? groupTables(example.groups, readings) : null,
  );
}

/** Return the text with a button for each mask; masks behind the end of a truncated text follow it. */
function inPlace(text, buttons) {
  const parts = [];
  let done = 0;
  let next = 0;
  for (const match of text.matchAll(MASK)) {
    if (next >= buttons.length) break;
    parts.push(bdi(text.slice(done, match.index)), buttons[next++]);
    done = match.index + match[0].length;
  }
  const rest = text.slice(done);
  return [
    ...parts,
    rest.length > 1200 ? expandable(rest, { limit: 1000 }) : bdi(rest),
    ...buttons.slice(next).flatMap((button) => [" ", button]),
  ];
}

function maskButton(mask, readings, panel, all) {
  const first = mask.guesses[0];
  const style = !first ? "none" : first.readings[readings[0]].right ? "right" : "wrong";
  const button = h(
    "button",
    {
      type: "button",
      class: `mask ${style}`,
      "aria-expanded": "false",
      title: `hidden: ${mask.hidden}`,
      onclick: () => {
        const open = button.getAttribute("aria-expanded") !== "true";
        for (const other of all()) other.setAttribute("aria-expanded", String(other === button && open));
        panel.hidden = !open;
        panel.replaceChildren(...guesses(mask, readings));
      },
    },
    bdi(first?.name ?? "no guess"),
  );
  return button;
}

function guesses(mask, readings) {
  const rows = mask.guesses.map((guess) =>
    h(
      "tr",
      {},
      h("th", { scope: "row" }, bdi(guess.name)),
      readings.map((name) => {
        const { tier, right } = guess.readings[name];
        const verdict = right ? "right" : "wrong";
        return h("td", { class: right ? "tier" : "tier none" }, tier ? `${verdict}, ${tier}` : verdict);
      }),
      h("td", { class: "figure", title: String(guess.score) }, guess.score === null ? "–" : digits(guess.score)),
    ),
  );
  return [
    h("p", {}, h("span", { class: "soft" }, "Hidden: "), h("strong", {}, bdi(mask.hidden))),
    createTable(columnHeadings(["Guess", ...readings, "Score"], 1 + readings.length), rows),
  ];
}
