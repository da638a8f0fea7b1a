// JSON whose numbers keep their digits. JSON.parse makes another number of 18446744073709551615, and of 1e400 none.

/** No text of a document begins with it. */
const MARK = `number-${Math.random().toString(36).slice(2)}:`;

/** A number that a JavaScript number cannot carry as it was written. */
export class ExactNumber {
  /** @param {string} text */
  constructor(text) { this.text = text; }
  toString() { return this.text; }
  valueOf() { return Number(this.text); }
  toJSON() { return MARK + this.text; }
}

/** A text, or a number, of a JSON document. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/**
 * The value of a JSON text. Throws SyntaxError, as JSON.parse does.
 * @param {string} text
 * @returns {any}
 */
export function parse(text) {
  const marked = text.replace(TOKEN, (token) => (token[0] === '"' || String(Number(token)) === token ? token : `"${MARK}${token}"`));
  if (marked === text) return JSON.parse(text);
  // The message for a fault names a place, so it has to be about the text as it is. The other checks are the same for both.
  JSON.parse(text);
  return JSON.parse(marked, (_, value) => (typeof value === "string" && value.startsWith(MARK) ? new ExactNumber(value.slice(MARK.length)) : value));
}

/**
 * The JSON of a value, whose exact numbers are as they were written.
 * @param {any} value
 * @param {number} [indent]
 */
export function stringify(value, indent) {
  return JSON.stringify(value, null, indent)?.replaceAll(new RegExp(`"${MARK}([^"]*)"`, "g"), "$1");
}

/**
 * The integer of a JSON value, however it is written: 1.0 is one (JSON Schema, 6.1.1); null for any other value.
 * @param {unknown} value
 */
export function integer(value) {
  const number = value instanceof ExactNumber ? Number(value) : value;
  return typeof number === "number" && Number.isSafeInteger(number) ? number : null;
}

/**
 * Whether a value switches something on, such as content-available: true, or the number 1. Services and devices have this rule.
 * @param {unknown} value
 */
export const isOn = (value) => value === true || integer(value) === 1;
