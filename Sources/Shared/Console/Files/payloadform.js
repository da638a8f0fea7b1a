// The two views of a payload: a form with the keys that are used most, and the whole JSON. Each follows the other.

import { element, field, section } from "./dom.js";
import { ExactNumber, isOn, parse, stringify } from "./exactjson.js";

/**
 * @typedef {object} Field
 * @property {string[]} path
 * @property {boolean} [isNumber]
 * @property {boolean} [isFlag]
 */

/**
 * The fields by their names: the keys that lead to a field's value in `aps`, and the value's type.
 * @type {Record<string, Field>}
 */
const fields = {
  title: { path: ["alert", "title"] },
  subtitle: { path: ["alert", "subtitle"] },
  body: { path: ["alert", "body"] },
  badge: { path: ["badge"], isNumber: true },
  sound: { path: ["sound"] },
  thread: { path: ["thread-id"] },
  category: { path: ["category"] },
  level: { path: ["interruption-level"] },
  available: { path: ["content-available"], isFlag: true },
  mutable: { path: ["mutable-content"], isFlag: true },
};

/**
 * @param {unknown} value
 * @returns {value is Record<string, any>}
 */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value) && !(value instanceof ExactNumber);

/**
 * The text that a field shows; "" for a value that the field cannot show, such as the dictionary of a critical sound.
 * @param {unknown} payload
 * @param {string} name
 */
function read(payload, name) {
  const { path, isFlag } = fields[name];
  let value = isObject(payload) ? payload.aps : undefined;
  if (isObject(value) && typeof value.alert === "string") value = { ...value, alert: { body: value.alert } };
  for (const key of path) value = isObject(value) ? value[key] : undefined;
  if (isFlag) return isOn(value) ? "1" : "";
  return typeof value === "string" || typeof value === "number" || value instanceof ExactNumber ? String(value) : "";
}

/**
 * Whether the payload has a value that the field cannot show, so that only the JSON can be edited.
 * @param {unknown} payload
 * @param {string} name
 */
function isForeign(payload, name) {
  let value = isObject(payload) ? payload.aps : undefined;
  for (const key of fields[name].path) value = isObject(value) ? value[key] : undefined;
  return value !== undefined && value !== null && read(payload, name) === "" && value !== "" && value !== 0 && value !== false;
}

/**
 * A copy of the payload in which a field has the given text; "" removes the key.
 * @param {unknown} payload
 * @param {string} name
 * @param {string} text
 */
function write(payload, name, text) {
  const made = isObject(payload) ? parse(stringify(payload)) : {};
  if (!isObject(made.aps)) made.aps = {};
  const { path, isFlag, isNumber } = fields[name];
  let place = made.aps;
  if (path.length > 1) {
    const alert = place.alert;
    place.alert = isObject(alert) ? alert : typeof alert === "string" ? { body: alert } : {};
    place = place.alert;
  }
  const key = path[path.length - 1];
  if (text === "") delete place[key];
  else if (isFlag) place[key] = 1;
  else place[key] = isNumber && Number.isFinite(Number(text)) ? Number(text) : text;
  if (isObject(made.aps.alert) && Object.keys(made.aps.alert).length === 0) delete made.aps.alert;
  return made;
}

/**
 * @param {Element} control
 * @returns {control is HTMLInputElement}
 */
function isTick(control) { return control instanceof HTMLInputElement && control.type === "checkbox"; }

export class PayloadForm {
  /** The JSON. */
  text = element("textarea", { name: "payload", id: "payload-text", spellcheck: "false", autocomplete: "off", "aria-describedby": "check" });
  /** The form. */
  element;
  /** @type {Record<string, HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement>} */
  #fields = {};

  constructor() {
    /**
     * @param {string} name
     * @param {string} label
     * @param {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} control
     * @param {string} [className]
     */
    const make = (name, label, control, className) => {
      this.#fields[name] = control;
      control.setAttribute("name", `aps-${name}`);
      control.addEventListener("input", () => this.#write(name, isTick(control) ? (control.checked ? "1" : "") : control.value));
      return isTick(control)
        ? element("label", { class: "tick" }, control, label) : field(label, control, className);
    };
    /** @param {string} hint */
    const input = (hint, type = "text") => element("input", { type, placeholder: hint, autocomplete: "off" });
    const levels = ["passive", "active", "time-sensitive", "critical"];
    this.element = section("What it says", element("div", { class: "grid2" },
      make("title", "Title", input(""), "wide"), make("subtitle", "Subtitle", input(""), "wide"),
      make("body", "Body", element("textarea", { rows: 2 }), "wide"),
      make("badge", "Badge", input("a number", "number")), make("sound", "Sound", input("default")),
      make("thread", "Thread", input("thread-id")), make("category", "Category", input("as the app registers it")),
      make("level", "Interruption level", element("select", {}, element("option", { value: "" }, "Not given"), ...levels.map((level) => element("option", { value: level }, level)))),
      element("div", { class: "ticks" },
        make("available", "Wakes the app (content-available)", element("input", { type: "checkbox" })),
        make("mutable", "The app may change it (mutable-content)", element("input", { type: "checkbox" })))));
    this.text.addEventListener("input", () => this.#read());
  }

  /** The JSON with its label, which only screen readers show. */
  get editor() { return [element("label", { class: "unseen", for: "payload-text" }, "Payload as JSON"), this.text]; }

  /** The payload; undefined while the text is not JSON. */
  get payload() {
    try {
      return parse(this.text.value);
    } catch {
      return undefined;
    }
  }

  /**
   * What is wrong with the text; null if it is a payload.
   * @returns {string | null}
   */
  get fault() {
    let payload;
    try {
      payload = parse(this.text.value);
    } catch (error) {
      return `The payload is not JSON: ${error.message}`;
    }
    return isObject(payload) ? null : "The payload has to be a JSON dictionary.";
  }

  /** @param {unknown} payload */
  set(payload) { this.setText(stringify(payload, 2)); }

  /** @param {string} text */
  setText(text) {
    this.text.value = text;
    this.#read();
  }

  /** Indents the JSON. */
  tidy() {
    const { payload } = this;
    if (payload !== undefined) this.text.value = stringify(payload, 2);
  }

  /** Copies the values of the JSON into the fields. */
  #read() {
    const { payload } = this;
    for (const [name, control] of Object.entries(this.#fields)) {
      control.disabled = payload === undefined || isForeign(payload, name);
      if (payload === undefined || control === document.activeElement) continue;
      const value = read(payload, name);
      if (isTick(control)) control.checked = value === "1";
      else if (control.value !== value) control.value = value;
    }
  }

  /**
   * Writes a field's value into the JSON.
   * @param {string} name
   * @param {string} text
   */
  #write(name, text) {
    const { payload } = this;
    if (payload === undefined) return;
    this.text.value = stringify(write(payload, name, text), 2);
  }
}
