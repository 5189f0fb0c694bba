// The judging page: one query at a time, its passages in random order, a grade for each by a key or a tap.

import { get, post } from "./api.js";
import { bdi, expandable, failure, h } from "./dom.js";
import { Saving } from "./judge_saving.js";
import { announce } from "./loading.js";
import { count } from "./numbers.js";

const NAME = "goldrank-judge";
const LONG = 4000;
const UNJUDGEABLE = null;
const main = document.getElementById("main");
const trouble = document.getElementById("trouble");

let project = null; // scale, judges and what else is the same for all units
let judge = "";
let saving = null;
let unit = null; // the query and its passages; each passage has `grade` (undefined: none), `state` and `seconds`
let current = 0;
let isBusy = false; // while another unit is being loaded, keys do nothing: the judge has not seen its passages
let refusal = null;
let shownSince = null;
let showsGuidelines = true;

async function start() {
  globalThis.goldrankTheme.connect(document.getElementById("theme"));
  document.addEventListener("keydown", onKey);
  document.addEventListener("visibilitychange", countTime);
  addEventListener("beforeunload", (event) => {
    if (saving?.waiting) event.preventDefault();
  });
  await load(async () => {
    project = await get("judging");
    const name = project.judge ?? remembered();
    if (name) await judgeAs(name);
    else askName();
  });
}

/** Run *action* while the page is marked as busy; on failure, show the error with a button that tries again. */
async function load(action) {
  isBusy = true;
  document.body.classList.add("loading");
  try {
    await action();
  } catch (error) {
    if (error.status === undefined) throw error;
    const again = h("button", { type: "button", class: "strong", onclick: () => load(action) }, "Try again");
    showView(h("h1", { tabindex: "-1" }, "This cannot be shown"), failure(error), again);
    announce(`Error: ${error.message}`);
  } finally {
    isBusy = false;
    document.body.classList.remove("loading");
    main.dataset.shown = location.pathname;
  }
}

const showView = (...parts) => main.replaceChildren(h("div", { class: "view" }, parts));

// The judge

function remembered() {
  try {
    return localStorage.getItem(NAME) ?? "";
  } catch {
    return "";
  }
}

function remember(name) {
  try {
    localStorage.setItem(NAME, name);
  } catch {
    // The name is asked again when the page is loaded again.
  }
}

function askName() {
  unit = saving = null;
  document.getElementById("judge").replaceChildren();
  const input = h("input", {
    type: "text",
    id: "name",
    name: "name",
    maxlength: 80,
    required: true,
    autocomplete: "off",
    "aria-describedby": "name-note",
  });
  const problem = h("div", {});
  const begin = async (name) => {
    try {
      await judgeAs(name);
    } catch (error) {
      problem.replaceChildren(failure(error));
      input.focus();
    }
  };
  const form = h(
    "form",
    {
      class: "ask",
      onsubmit: (event) => {
        event.preventDefault();
        begin(input.value);
      },
    },
    h("label", { class: "field", for: "name" }, h("span", {}, "Your name"), input),
    h("button", { class: "strong" }, "Start judging"),
  );
  showView(
    h("h1", { tabindex: "-1" }, "Who is judging?"),
    form,
    h("p", { class: "note", id: "name-note" }, "It is stored with each of your labels. Use the same one each time."),
    problem,
    project.judges.length ? h("h2", {}, "Continue as") : null,
    h(
      "div",
      { class: "actions" },
      project.judges.map((name) => h("button", { type: "button", onclick: () => begin(name) }, bdi(name))),
    ),
    guidelines(),
  );
  showProgress(project.progress);
  input.focus();
}

async function judgeAs(name) {
  const answer = await post("judging/claim", { judge: name });
  judge = answer.judge;
  remember(judge);
  saving = new Saving(`goldrank-unsaved:${project.id}:${judge}:`, judge, showSaving);
  const change = h("button", { type: "button", class: "quiet", onclick: changeJudge }, "change");
  const who = document.getElementById("judge");
  who.replaceChildren(h("span", {}, h("span", { class: "soft" }, "Judge "), bdi(judge)), project.judge ? "" : change);
  // What an earlier page could not save comes first; it may have completed the unit.
  const { saved, refused } = await saving.saveLeftovers();
  use(saved ? await post("judging/claim", { judge }) : answer);
  refusal = refused;
  showSaving();
}

function changeJudge() {
  if (isBusy || saving.waiting) return;
  load(async () => {
    project = await get("judging");
    askName();
  });
}

// The unit

/** Ask for the unit that is to be judged now. */
const next = () => load(async () => use(await post("judging/claim", { judge })));

/** Show the unit of a response, at the passage *item* or the first that has no label. */
function use(answer, item = null) {
  saving.last = answer.last;
  refusal = null;
  shownSince = null;
  showProgress(answer.progress);
  unit = answer.unit;
  if (!unit) {
    showEnd(answer);
    return;
  }
  for (const passage of unit.passages) {
    passage.state = passage.label ? "saved" : "open";
    passage.grade = passage.label?.grade;
    passage.seconds = 0;
  }
  const wanted = unit.passages.findIndex((passage) => passage.id === item);
  const open = unit.passages.findIndex((passage) => passage.state === "open");
  current = Math.max(0, wanted < 0 ? open : wanted);
  renderUnit();
  showSaving();
  move(current);
}

function renderUnit() {
  const { query, passages } = unit;
  showView(
    h(
      "section",
      { class: "query" },
      h("p", { class: "soft" }, `Part ${count(unit.number)} of ${count(unit.of)}`),
      h("h1", { tabindex: "-1" }, bdi(query.text || query.id)),
    ),
    h(
      "ol",
      { class: "strip", "aria-label": "Passages" },
      passages.map((_, at) =>
        h("li", {}, h("button", { type: "button", onclick: () => isBusy || move(at) }, String(at + 1))),
      ),
    ),
    h(
      "div",
      { class: "desk" },
      h("article", { class: "passage", tabindex: "-1", "aria-labelledby": "place" }),
      h("div", { class: "side" }, gradePanel(), guidelines()),
    ),
  );
  document.title = `Part ${unit.number} of ${unit.of} · judging · goldrank`;
}

function gradePanel() {
  return h(
    "section",
    { class: "panel", "aria-label": "Your grade" },
    h(
      "div",
      { class: "grades", role: "group", "aria-label": "Grade of the passage" },
      project.scale.map(({ grade, name, definition }) =>
        h(
          "button",
          { type: "button", "data-grade": grade, "aria-keyshortcuts": grade, onclick: () => giveGrade(grade) },
          h("kbd", {}, String(grade)),
          h("span", { class: "name" }, bdi(name)),
          definition ? h("span", { class: "definition" }, definition) : null,
        ),
      ),
    ),
    h(
      "div",
      { class: "moves" },
      command("k", "Previous", () => step(-1)),
      command("x", "Cannot judge", () => giveGrade(UNJUDGEABLE), { "data-grade": "none" }),
      command("u", "Undo", undo),
      command("j", "Next", () => step(1)),
    ),
    h("p", { class: "note", id: "saved" }),
  );
}

function command(key, label, action, attributes = {}) {
  return h(
    "button",
    { type: "button", "aria-keyshortcuts": key, onclick: action, ...attributes },
    h("kbd", { "aria-hidden": "true" }, key),
    h("span", { class: "name" }, label),
  );
}

/** Go to a passage, and show and announce it. */
function move(to) {
  countTime();
  current = to;
  const passage = unit.passages[current];
  const article = main.querySelector(".passage");
  const place = `Passage ${current + 1} of ${unit.passages.length}`;
  const parts = [
    h("p", { class: "soft", id: "place" }, place),
    h("h2", {}, bdi(passage.title || passage.id)),
    passage.title ? h("p", { class: "key" }, bdi(passage.id)) : null,
    passage.text ? expandable(passage.text, { limit: LONG }) : h("p", { class: "soft" }, "This passage has no text."),
    passage.characters > passage.text.length
      ? h(
          "p",
          { class: "note" },
          `The first ${count(passage.text.length)} of ${count(passage.characters)} characters are shown.`,
        )
      : null,
  ];
  article.replaceChildren(...parts.filter(Boolean));
  showStates();
  announce(`${place}: ${passage.title || passage.id}. ${describe(passage)}`);
  // Someone who reached a button by the keyboard stays there. After a click, the space bar scrolls again.
  if (!main.querySelector(":is(.grades, .moves, .strip) :focus-visible")) article.focus({ preventScroll: true });
  scrollTo(0, 0);
}

function step(by) {
  const to = current + by;
  if (!isBusy && unit && to >= 0 && to < unit.passages.length) move(to);
}

function describe(passage) {
  if (passage.state === "open") return "Not judged.";
  return passage.grade === UNJUDGEABLE ? "Cannot be judged." : `${passage.grade}, ${project.scale[passage.grade].name}.`;
}

/** Show which passages are judged and saved, and the grade of the current one. */
function showStates() {
  const strip = main.querySelectorAll(".strip button");
  unit.passages.forEach((passage, at) => {
    const button = strip[at];
    button.className = passage.state;
    button.dataset.sign = { open: "·", saving: "…", saved: passage.grade ?? "x" }[passage.state];
    const isSaved = passage.state === "saving" ? " Not saved yet." : "";
    button.setAttribute("aria-label", `Passage ${at + 1}: ${describe(passage)}${isSaved}`);
    if (at === current) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  });
  // On a narrow screen, scroll the number of the current passage into sight.
  const place = main.querySelector(".strip");
  place.scrollLeft = strip[current].offsetLeft - place.clientWidth / 2;
  const { grade, state } = unit.passages[current];
  for (const button of main.querySelectorAll(".panel [data-grade]")) {
    const own = button.dataset.grade === "none" ? UNJUDGEABLE : Number(button.dataset.grade);
    button.setAttribute("aria-pressed", String(state !== "open" && grade === own));
  }
}

// Labels

function giveGrade(grade) {
  if (isBusy || !unit) return;
  countTime();
  const passage = unit.passages[current];
  const before = { grade: passage.grade, state: passage.state };
  const { passages } = unit;
  const content = { query: unit.query.id, item: passage.id, grade, seconds: Number(passage.seconds.toFixed(1)) };
  Object.assign(passage, { grade, state: "saving", seconds: 0 });
  refusal = null;
  saving.label(content).then(
    (answer) => {
      if (passage.grade === grade) passage.state = "saved";
      showProgress(answer.progress);
      refresh(passages, answer.left);
    },
    (error) => {
      Object.assign(passage, before);
      refusal = error;
      refresh(passages);
    },
  );
  const open = (at) => passages[at].state === "open";
  const order = passages.map((_, at) => (current + 1 + at) % passages.length);
  const to = order.find(open);
  if (to === undefined) showStates();
  else move(to);
  refresh(passages);
}

/** Show what has changed while *passages* are still on the page; *left* are yet to be judged. */
function refresh(passages, left = 0) {
  if (unit?.passages !== passages) return;
  showStates();
  showSaving();
  const isComplete = passages.every(({ state }) => state === "saved") && !saving.waiting;
  if (!isComplete) main.querySelector(".complete")?.remove();
  else if (left) next();
  else showComplete();
}

/** Offer the next query; grades can still be changed before. */
function showComplete() {
  if (main.querySelector(".complete")) return;
  const button = h("button", { type: "button", class: "strong", onclick: next }, "Next query");
  const line = h("div", { class: "complete" }, h("strong", {}, "All passages are judged."), button);
  main.querySelector(".moves").after(line);
  announce("All passages of this query are judged and saved. Press Enter for the next query.");
  button.focus();
}

async function undo() {
  if (isBusy || !saving) return;
  if (!saving.last && !saving.waiting) {
    announce("There is nothing to undo.");
    return;
  }
  await load(async () => {
    const answer = await saving.undo();
    use(answer, answer.undone?.item);
    announce(`${answer.undone ? "Taken back" : "Nothing was taken back"}. ${main.querySelector("#place")?.textContent}.`);
  });
}

/** Add the time since the last call to the current passage if the page is visible. */
function countTime() {
  const now = performance.now();
  if (shownSince !== null && unit) unit.passages[current].seconds += (now - shownSince) / 1000;
  shownSince = document.visibilityState === "visible" ? now : null;
}

// What is shown besides

function showSaving() {
  const { waiting, failure: problem } = saving;
  const message = problem
    ? [
        `${waiting === 1 ? "1 change is" : `${waiting} changes are`} not saved yet: ${problem.message}.`,
        "They are kept in this browser and sent again until they are saved.",
        problem.status ? problem.remedy : "",
      ]
    : refusal
      ? [`The label is not saved: ${refusal.message}.`, refusal.remedy]
      : [];
  // An alert that does not change is not read again.
  if (trouble.textContent !== message.join("")) {
    const lines = message.map((text, at) => h("p", {}, h(at ? "span" : "strong", {}, bdi(text ?? ""))));
    trouble.replaceChildren(...(lines.length ? [h("div", { class: "failure" }, lines)] : []));
  }
  const line = main.querySelector("#saved");
  if (!line || !unit) return;
  const saved = unit.passages.filter(({ state }) => state === "saved").length;
  const rest = waiting ? `, ${waiting} being saved` : "";
  line.textContent = `${saved} of ${unit.passages.length} passages saved${rest}`;
}

function showProgress({ labels, of }) {
  document
    .getElementById("progress")
    .replaceChildren(
      h("progress", { value: labels, max: Math.max(of, 1), "aria-label": "Labels of all judges" }),
      h("span", { class: "soft" }, `${count(labels)} of ${count(of)} labels`),
    );
}

function guidelines() {
  return h(
    "details",
    { class: "guidelines", open: showsGuidelines, ontoggle: (event) => (showsGuidelines = event.target.open) },
    h("summary", {}, "How to judge"),
    h(
      "ul",
      {},
      project.guidelines.map((line) => h("li", {}, line)),
      h(
        "li",
        { class: "keys" },
        `Keys: 0 to ${project.scale.length - 1} for the grade, x cannot judge, u undo, j or → next, k or ← previous, `,
        "m more of a long text.",
      ),
    ),
    h(
      "dl",
      {},
      project.scale.map(({ grade, name, definition }) => [
        h("dt", {}, h("kbd", {}, String(grade)), " ", bdi(name)),
        definition ? h("dd", {}, definition) : null,
      ]),
    ),
  );
}

function showEnd({ state, next_steps: steps }) {
  document.title = "Judging · goldrank";
  const [heading, text] = {
    finished: ["Everything is judged", "Thank you. All planned labels are given and saved. Next, on the command line:"],
    waiting: [
      "Nothing is left for you",
      "You have judged all that is yours. Other judges have begun the rest; what they leave can be looked for again.",
    ],
    empty: ["There is nothing to judge", "No query of this project has a passage in the pool. Next, on the command line:"],
  }[state];
  showView(
    h("h1", { tabindex: "-1" }, heading),
    h("p", { class: "lead" }, text),
    h(
      "dl",
      { class: "steps" },
      steps.map(({ command: line, does }) => [h("dt", {}, h("code", {}, line)), h("dd", {}, does)]),
    ),
    h(
      "div",
      { class: "actions" },
      h("button", { type: "button", onclick: next }, "Look again"),
      saving.last ? h("button", { type: "button", onclick: undo }, "Undo the last label") : null,
    ),
  );
  announce(heading);
  main.querySelector("h1").focus();
}

const KEYS = {
  j: () => step(1),
  ArrowRight: () => step(1),
  k: () => step(-1),
  ArrowLeft: () => step(-1),
  u: undo,
  x: () => giveGrade(UNJUDGEABLE),
  m: () => main.querySelector(".passage .more")?.click(),
};

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  if (event.target.closest("input, textarea, select")) return;
  const grade = /^\d$/.test(event.key) ? Number(event.key) : null;
  const action = grade === null ? KEYS[event.key] : grade < project?.scale.length ? () => giveGrade(grade) : null;
  if (!action) return;
  event.preventDefault();
  // A key that is held down gives one label, not one to each passage.
  if (!event.repeat || action === KEYS[event.key]) action();
}

start();
