// Makes elements. Text is set as text, always: payloads come from strangers, and nothing here can turn them into markup.

import { exactTime, shortTime } from "./time.js";

/**
 * @param {string} tag
 * @param {object} [attributes] properties by their names; "on…" are listeners, null leaves an attribute out
 * @param {...(Node|string|null)} children strings become text
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** A card with a heading. */
export function section(name, ...children) {
  const id = `section-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, name), ...children);
}

/** A control with its label above it. */
export function field(label, control, className) {
  return element("label", { class: `field ${className ?? ""}`.trim() }, element("span", {}, label), control);
}

/** What a page shows while it has nothing: why, and what to do next. */
export function empty(title, text, ...more) {
  return element("div", { class: "empty" }, element("h2", {}, title), element("p", {}, text), ...more);
}

/** A moment, local for people and exact for whoever hovers. */
export function moment(milliseconds) {
  return element("time", { datetime: exactTime(milliseconds), title: exactTime(milliseconds) }, shortTime(milliseconds));
}

/** Says something to screen readers, without interrupting them. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
