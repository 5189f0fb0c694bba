// Choose a slice of the queries, or an attribute to show results by.

import { get } from "./api.js";
import { field, h } from "./dom.js";

/** Return the slices that some runs share; none if they do not rank. */
export async function sharedSlices(keys, signal) {
  const { slices } = await get("slices", { key: keys }, signal);
  return slices;
}

/** Create a control that restricts a view to one slice; null if there are no slices. */
export function sliceField(slices, chosen, onchange) {
  if (!slices.length && !chosen) return null;
  const known = slices.some(({ name }) => name === chosen) || !chosen;
  // The closed control shows the option alone, so the option names its attribute too.
  const option = ({ name, attribute, value, queries }) =>
    h("option", { value: name }, `${attribute}: ${value} (${queries})`);
  const element = h(
    "select",
    { name: "slice", onchange: (event) => onchange(event.target.value) },
    h("option", { value: "" }, "all queries"),
    known ? null : h("option", { value: chosen }, chosen),
    attributes(slices).map((attribute) =>
      h("optgroup", { label: attribute }, slices.filter((part) => part.attribute === attribute).map(option)),
    ),
  );
  element.value = chosen;
  return field("Slice", element);
}

/** Create a control that chooses the attribute to show results by; null if there are no slices. */
export function attributeField(slices, chosen, onchange) {
  const names = attributes(slices);
  if (!names.length) return null;
  const element = h(
    "select",
    { name: "by", onchange: (event) => onchange(event.target.value) },
    h("option", { value: "" }, "no attribute"),
    names.map((name) => h("option", { value: name }, name)),
  );
  element.value = chosen;
  return field("By slices of", element);
}

const attributes = (slices) => [...new Set(slices.map(({ attribute }) => attribute))];
