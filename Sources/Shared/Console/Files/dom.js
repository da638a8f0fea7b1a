// Makes elements. Text always becomes a text node, never markup, because payloads come from strangers.

import { exactTime, shortTime } from "./time.js";

/** @typedef {Node | string | null | undefined} Content what an element may have in it; a string becomes text */

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Attributes} [attributes] attributes by their names; "on…" adds a listener, and null leaves the attribute out
 * @param {Content[]} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === "function") made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter(isContent));
  return made;
}

/**
 * @param {Content} child
 * @returns {child is Node | string}
 */
function isContent(child) { return child !== null && child !== undefined; }

/**
 * Replaces what an element has in it.
 * @param {Element} place
 * @param {Content[]} children
 */
export function fill(place, ...children) { place.replaceChildren(...children.filter(isContent)); }

/**
 * A card with a heading.
 * @param {string} name
 * @param {Content[]} children
 */
export function section(name, ...children) {
  const id = `section-${name.toLowerCase().replaceAll(/[^a-z]+/g, "-")}`;
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, name), ...children);
}

/**
 * A control with its label above it.
 * @param {string} label
 * @param {Content} control
 * @param {string} [className]
 */
export function field(label, control, className) {
  return element("label", { class: `field ${className ?? ""}`.trim() }, element("span", {}, label), control);
}

/** The attributes of a control for the identifier of a team or a key. Conformance strict takes ten capital letters and digits only, and says so. */
export const accountID = { pattern: "[A-Za-z0-9_\\-]{1,64}", title: "1 to 64 letters, digits, hyphens and underscores", autocomplete: "off", spellcheck: "false" };

/**
 * What a page shows while its list is empty: the reason, and what to do next.
 * @param {string} title
 * @param {string} text
 * @param {Content[]} more
 */
export function empty(title, text, ...more) {
  return element("div", { class: "empty" }, element("h2", {}, title), element("p", {}, text), ...more);
}

/**
 * A time as people read it, in the local time zone. The pointer over it shows the exact time in UTC.
 * @param {number} milliseconds
 */
export function moment(milliseconds) {
  return element("time", { datetime: exactTime(milliseconds), title: exactTime(milliseconds) }, shortTime(milliseconds));
}

/**
 * The element of the console's page with an identifier, which index.html has.
 * @param {string} id
 */
export function place(id) {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`index.html has no ${id}`);
  return found;
}

/**
 * The element that a selector finds in another one, and that is there.
 * @template {Element} E
 * @param {ParentNode} parent
 * @param {string} selector
 * @param {new () => E} type
 * @returns {E}
 */
export function inside(parent, selector, type) {
  const found = parent.querySelector(selector);
  if (!(found instanceof type)) throw new Error(`there is no ${selector}`);
  return found;
}

/**
 * The element in which something happened.
 * @param {Event} event
 */
export function target(event) { return event.target instanceof Element ? event.target : null; }

/**
 * Lets screen readers read a text out, after what they are reading at the moment.
 * @param {string} text
 */
export function announce(text) {
  place("announcer").textContent = text;
}
