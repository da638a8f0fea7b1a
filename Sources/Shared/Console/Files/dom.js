// Makes elements. Text always becomes a text node, never markup, because payloads come from strangers.

import { exactTime, shortTime } from "./time.js";

/**
 * @param {string} tag
 * @param {object} [attributes] attributes by their names; "on…" adds a listener, and null leaves the attribute out
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

/** The attributes of a control for the identifier of a team or a key. Conformance strict takes ten capital letters and digits only, and says so. */
export const accountID = { pattern: "[A-Za-z0-9_\\-]{1,64}", title: "1 to 64 letters, digits, hyphens and underscores", autocomplete: "off", spellcheck: "false" };

/** What a page shows while its list is empty: the reason, and what to do next. */
export function empty(title, text, ...more) {
  return element("div", { class: "empty" }, element("h2", {}, title), element("p", {}, text), ...more);
}

/** A time as people read it, in the local time zone. The pointer over it shows the exact time in UTC. */
export function moment(milliseconds) {
  return element("time", { datetime: exactTime(milliseconds), title: exactTime(milliseconds) }, shortTime(milliseconds));
}

/** Lets screen readers read a text out, after what they are reading at the moment. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
