// Pages with masked names: the text with its masks, the guesses in their places, and what they add up to.

import { get } from "./api.js";
import { LISTED, beside } from "./beside.js";
import { empty, field, folded, h, said, select } from "./dom.js";
import { digits, interval, value } from "./numbers.js";

const MASK = /<mask>/g;
const RULES = {
  pool: [
    "Pooling",
    [
      ["alias", "by alias"],
      ["gold", "by gold"],
    ],
  ],
  matcher: ["Matcher", [["names"], ["tokens"], ["surname"], ["original"], ["seed"]]],
  tier: ["Right from", [["initial"], ["given"], ["surname"], ["all", "all names"], ["exact"]]],
};
const USUAL = { pool: "alias", matcher: "names", tier: "given" };
const TIERS = ["initial", "given", "surname", "all", "exact"];

export async function show(view, { names, query, signal }) {
  if (!names.key) return overview(view, signal);
  const address = `masked/${encodeURIComponent(names.key)}`;
  const state = Object.fromEntries(
    [...LISTED, "id", ...Object.keys(RULES)].map((name) => [name, query.get(name) ?? ""]),
  );
  await beside(view, signal, state, {
    name: "id",
    label: "Masked pages",
    intro: "Choose a page to see the guesses in their places.",
    placeholder: "title or id",
    orders: [
      ["id asc", "by id"],
      ["title asc", "by title"],
      ["value asc", "worst first"],
      ["value desc", "best first"],
      ["masks desc", "most masks first"],
    ],
    askList: (asked) => get(`${address}/pages`, asked, signal),
    entries: (found) =>
      found.pages.map(({ id, title, masks, value: number }) => ({
        id,
        value: number,
        title: title || id,
        small: `${masks} ${masks === 1 ? "mask" : "masks"}`,
      })),
    caption: (found) => found.metric,
    askDetail: () =>
      get(`${address}/page`, { id: state.id, pool: state.pool, matcher: state.matcher, tier: state.tier }, signal),
    drawDetail: (found, change) => drawn(found, names.key, change),
  });
  return state.id ? `Masked page ${state.id}` : "Masked pages";
}

async function overview(view, signal) {
  const { runs } = await get("runs", { kind: "masked", size: 100 }, signal);
  view.replaceChildren(
    h("h1", { tabindex: "-1" }, "Masked pages"),
    h("p", { class: "lead" }, "Whose name was taken out of the text?"),
    runs.length
      ? h(
          "table",
          {},
          h(
            "thead",
            {},
            h(
              "tr",
              {},
              h("th", { scope: "col" }, "Model"),
              h("th", { scope: "col" }, "Examples"),
              h("th", { scope: "col", class: "figure" }, "Accuracy"),
            ),
          ),
          h(
            "tbody",
            {},
            runs.map((run) =>
              h(
                "tr",
                {},
                h("th", { scope: "row" }, h("a", { href: `/masked/${encodeURIComponent(run.key)}` }, said(run.model))),
                h("td", {}, said(run.task)),
                h(
                  "td",
                  { class: "figure" },
                  run.headline ? [value(run.headline.mean), interval(run.headline.low, run.headline.high)] : "–",
                ),
              ),
            ),
          ),
        )
      : empty("No masked runs are stored yet.", "goldrank masked predict EXAMPLES.jsonl -m names:majority"),
  );
  return "Masked pages";
}

function drawn(found, key, change) {
  const rules = { ...USUAL, ...found.rules };
  const { mask, page } = found.scores;
  return [
    h(
      "p",
      { class: "crumbs" },
      h("a", { href: "/masked" }, "Masked"),
      " / ",
      h("a", { href: `/runs/${encodeURIComponent(key)}` }, said(key)),
    ),
    h("h1", { tabindex: "-1" }, said(found.title || found.id)),
    h(
      "p",
      { class: "lead" },
      `${mask.right} of ${mask.of} ${mask.of === 1 ? "mask" : "masks"} right; `,
      `the page as a whole ${page.right ? "is right" : "is wrong"}.`,
    ),
    h(
      "div",
      { class: "filters" },
      Object.entries(RULES).map(([name, [label, options]]) =>
        field(
          label,
          select(options, rules[name], (chosen) => change({ [name]: chosen })),
        ),
      ),
    ),
    pooled(found.pooled, "What the guesses of the page add up to"),
    h(
      "p",
      { class: "legend" },
      h("span", {}, h("span", { class: "mask right" }, "right"), " first guess"),
      h("span", {}, h("span", { class: "mask wrong" }, "wrong"), " first guess; press one to see the others"),
    ),
    ...found.examples.map((example) => drawnExample(example, rules, found.examples.length)),
  ];
}

function pooled(groups, title) {
  if (!groups.length) return "";
  const most = Math.max(...groups.map((one) => one.total), 1e-12);
  return h(
    "figure",
    { class: "grid" },
    h("figcaption", {}, title),
    h(
      "table",
      { class: "pooled" },
      h(
        "tbody",
        {},
        groups.slice(0, 5).map((one) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, said(one.name), one.right ? h("span", { class: "badge gold" }, "right") : null),
            h(
              "td",
              { class: "bar" },
              h("span", {
                style: { width: `${(100 * Math.max(0, one.total)) / most}%` },
                class: one.right ? "right" : null,
              }),
            ),
            h("td", { class: "figure" }, value(one.total)),
          ),
        ),
      ),
    ),
  );
}

function drawnExample(example, rules, count) {
  const panel = h("div", { class: "guesses", hidden: true });
  const buttons = example.masks.map((mask) => maskButton(mask, rules, panel, () => buttons));
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
          buttons.flatMap((one) => [one, " "]),
        ),
    panel,
  );
}

/** The text with a button for every mask; masks that the text was cut before come after it. */
function inPlace(text, buttons) {
  const parts = [];
  let done = 0;
  let next = 0;
  for (const match of text.matchAll(MASK)) {
    if (next >= buttons.length) break;
    parts.push(said(text.slice(done, match.index)), buttons[next++]);
    done = match.index + match[0].length;
  }
  const rest = text.slice(done);
  return [
    ...parts,
    rest.length > 1200 ? folded(rest, { limit: 1000 }) : said(rest),
    ...buttons.slice(next).flatMap((one) => [" ", one]),
  ];
}

function isRight(tier, rules) {
  return tier !== null && TIERS.indexOf(tier) >= TIERS.indexOf(rules.tier);
}

function maskButton(mask, rules, panel, all) {
  const first = mask.guesses[0];
  const style = !first ? "none" : isRight(first.tier, rules) ? "right" : "wrong";
  const button = h(
    "button",
    {
      type: "button",
      class: `mask ${style}`,
      "aria-expanded": "false",
      title: `hidden: ${mask.hidden}`,
      onclick: () => {
        const open = button.getAttribute("aria-expanded") !== "true";
        for (const one of all()) one.setAttribute("aria-expanded", String(one === button && open));
        panel.hidden = !open;
        panel.replaceChildren(...guesses(mask, rules));
      },
    },
    said(first?.name ?? "no guess"),
  );
  return button;
}

function guesses(mask, rules) {
  return [
    h("p", {}, h("span", { class: "soft" }, "Hidden: "), h("strong", {}, said(mask.hidden))),
    h(
      "table",
      {},
      h(
        "thead",
        {},
        h(
          "tr",
          {},
          ["Guess", "Agrees in", "Score"].map((label, at) =>
            h("th", { scope: "col", class: at === 2 ? "figure" : null }, label),
          ),
        ),
      ),
      h(
        "tbody",
        {},
        mask.guesses.map((guess) =>
          h(
            "tr",
            {},
            h("th", { scope: "row" }, said(guess.name)),
            h("td", { class: isRight(guess.tier, rules) ? "tier" : "tier none" }, guess.tier ?? "nothing"),
            h("td", { class: "figure", title: String(guess.score) }, guess.score === null ? "–" : digits(guess.score)),
          ),
        ),
      ),
    ),
  ];
}
