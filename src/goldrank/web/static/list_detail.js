// A list with the details of the chosen entry beside it, for the views of queries and of masked pages.

import { parameters } from "./api.js";
import { bdi, debounce, field, h, select, skeleton } from "./dom.js";
import { createLoader } from "./loading.js";
import { updateAddress } from "./router.js";
import { pager } from "./tables.js";

export const LIST_PARAMETERS = ["q", "sort", "order", "page"];
const SIZE = 25;

/**
 * Render list and detail from the address, and keep the address up to date.
 *
 * @param state the parameters of the address; `state[kind.name]` is the chosen entry.
 * @param kind what differs between views: `name`, `label`, `intro`, `placeholder`, `orders` ([value, label] pairs, the
 *   default first), `filters(refresh)` if there are further controls, `opensFirst` if the first entry is shown where the address names none, `fetchList(values)`,
 *   `entries(data)` with id, number, title and small print, `caption(data, refresh)`, where `refresh` changes the state
 *   and loads the list again, `fetchDetail()` and `renderDetail(data, change)`, where `change` changes the state and
 *   renders the detail again.
 */
export async function listDetail(view, signal, state, kind) {
  const list = h("div", { class: "found" }, skeleton(8));
  const detail = h("div", { class: "detail" });
  const [loadList, loadDetail] = [createLoader(list, signal), createLoader(detail, signal)];
  const wide = matchMedia("(min-width: 62rem)");
  const folder = h(
    "details",
    { class: "chooser" },
    h("summary", {}, kind.label),
    h("div", {}, search(state, kind, refresh), list),
  );
  folder.open = !state[kind.name] || wide.matches;

  function fillList() {
    const values = Object.fromEntries(LIST_PARAMETERS.map((name) => [name, state[name]]));
    return loadList(
      () => kind.fetchList({ ...values, size: SIZE }),
      (data) => entries(data, state, kind, choose, refresh),
    );
  }
  async function fillDetail() {
    if (state[kind.name]) await loadDetail(kind.fetchDetail, (data) => kind.renderDetail(data, change));
    else detail.replaceChildren(h("h1", { tabindex: "-1" }, kind.label), h("p", { class: "lead" }, kind.intro));
  }
  function change(changes) {
    Object.assign(state, changes);
    updateAddress(parameters(state));
    return fillDetail();
  }
  function refresh(changes, push = false) {
    Object.assign(state, { page: "" }, changes);
    updateAddress(parameters(state), { push });
    return fillList();
  }
  function open(id, push) {
    state[kind.name] = id;
    updateAddress(parameters(state), { push });
    for (const link of list.querySelectorAll("[data-id]")) {
      if (link.dataset.id === id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
    if (!wide.matches) folder.open = false;
    return fillDetail();
  }
  async function choose(id) {
    await open(id, true);
    detail.querySelector("h1")?.focus({ preventScroll: true });
    if (detail.getBoundingClientRect().top < 0) scrollTo(0, 0);
  }

  view.replaceChildren(h("div", { class: "drill" }, folder, detail));
  if (state[kind.name] || !kind.opensFirst) {
    await Promise.all([fillList(), fillDetail()]);
    return;
  }
  await fillList();
  signal.throwIfAborted();
  const first = list.querySelector("[data-id]");
  await (first ? open(first.dataset.id, false) : fillDetail());
}

function search(state, kind, refresh) {
  const typed = debounce((q) => refresh({ q }));
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
    kind.filters?.(refresh) ?? "",
  );
}

function entries(data, state, kind, choose, refresh) {
  const listed = kind.entries(data);
  if (!listed.length) return [h("p", { class: "soft" }, "Nothing matches all these words.")];
  const entry = ({ id, number, title, small }) =>
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
        number,
        h(
          "span",
          { class: "words" },
          bdi(title, { class: "clamp" }),
          small.map((text) => h("span", { class: "key" }, bdi(text))),
        ),
      ),
    );
  return [
    kind.caption(data, refresh),
    h("ol", { class: "queries" }, listed.map(entry)),
    pager(data, (page) => refresh({ page }, true)),
  ];
}
