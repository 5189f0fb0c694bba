// A list to choose from beside what was chosen: the shape of the views of queries and of masked pages.

import { parameters } from "./api.js";
import { field, h, patiently, said, select, skeleton } from "./dom.js";
import { filler } from "./loading.js";
import { value } from "./numbers.js";
import { note } from "./router.js";
import { pager } from "./tables.js";

export const LISTED = ["q", "sort", "order", "page"];
const SIZE = 25;

/**
 * Draw both, each from the address, and keep the address up to date.
 *
 * @param state all that the address holds; what was chosen is in `state[kind.name]`.
 * @param kind how the view differs: `name`, `label`, `intro`, `placeholder`, `orders` as [value, label] pairs of which
 *   the first is usual, `askList(asked)`, `entries(found)` with id, value, title and small print, `caption(found)`,
 *   `askDetail()` and `drawDetail(found, change)`, where `change` notes a change of state and draws the detail anew.
 */
export async function beside(view, signal, state, kind) {
  const list = h("div", { class: "found" }, skeleton(8));
  const detail = h("div", { class: "detail" });
  const [intoList, intoDetail] = [filler(list, signal), filler(detail, signal)];
  const wide = matchMedia("(min-width: 62rem)");
  const folder = h(
    "details",
    { class: "chooser" },
    h("summary", {}, kind.label),
    h("div", {}, search(state, kind, refresh), list),
  );
  folder.open = !state[kind.name] || wide.matches;

  function fillList() {
    const asked = Object.fromEntries(LISTED.map((name) => [name, state[name]]));
    return intoList(
      () => kind.askList({ ...asked, size: SIZE }),
      (found) => entries(found, state, kind, choose, (page) => refresh({ page }, true)),
    );
  }
  async function fillDetail() {
    if (state[kind.name]) await intoDetail(kind.askDetail, (found) => kind.drawDetail(found, change));
    else detail.replaceChildren(h("h1", { tabindex: "-1" }, kind.label), h("p", { class: "lead" }, kind.intro));
  }
  function change(changes) {
    Object.assign(state, changes);
    note(parameters(state));
    return fillDetail();
  }
  function refresh(changes, push = false) {
    Object.assign(state, { page: "" }, changes);
    note(parameters(state), { push });
    return fillList();
  }
  async function choose(id) {
    state[kind.name] = id;
    note(parameters(state), { push: true });
    for (const link of list.querySelectorAll("[data-id]")) {
      if (link.dataset.id === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (!wide.matches) folder.open = false;
    await fillDetail();
    detail.querySelector("h1")?.focus({ preventScroll: true });
    if (detail.getBoundingClientRect().top < 0) scrollTo(0, 0);
  }

  view.replaceChildren(h("div", { class: "drill" }, folder, detail));
  await Promise.all([fillList(), fillDetail()]);
}

function search(state, kind, refresh) {
  const typed = patiently((q) => refresh({ q }));
  const order = state.sort ? `${state.sort} ${state.order || "asc"}` : kind.orders[0][0];
  return h(
    "div",
    { class: "search", role: "search" },
    field(
      "Search",
      h("input", {
        type: "search",
        value: state.q,
        placeholder: kind.placeholder,
        oninput: (event) => typed(event.target.value),
      }),
    ),
    field(
      "Order",
      select(kind.orders, order, (text) => {
        const [sort, way] = text.split(" ");
        refresh({ sort, order: way });
      }),
    ),
  );
}

function entries(found, state, kind, choose, onpage) {
  const listed = kind.entries(found);
  if (!listed.length) return [h("p", { class: "soft" }, "Nothing holds all these words.")];
  const entry = ({ id, value: number, title, small }) =>
    h(
      "li",
      {},
      h(
        "a",
        {
          href: `${location.pathname}?${parameters({ ...state, [kind.name]: id })}`,
          "data-id": id,
          "aria-current": id === state[kind.name] ? "true" : null,
          onclick: (event) => {
            if (event.metaKey || event.ctrlKey || event.shiftKey) return;
            event.preventDefault();
            choose(id);
          },
        },
        value(number),
        h(
          "span",
          { class: "words" },
          said(title, { class: "clamp" }),
          small ? h("span", { class: "key" }, said(small)) : null,
        ),
      ),
    );
  return [
    h("p", { class: "note" }, said(kind.caption(found))),
    h("ol", { class: "queries" }, listed.map(entry)),
    pager(found, onpage),
  ];
}
