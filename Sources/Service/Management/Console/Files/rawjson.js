// JSON as text. What JSON.parse would change, such as long numbers, stays as it was sent.

/** The tokens of a valid JSON text. */
const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{}:,]|[^\s[\]{}:,"]+/g;

/** @param {string} token */
const isOpening = (token) => token === "{" || token === "[";
/** @param {string} token */
const isClosing = (token) => token === "}" || token === "]";

/**
 * The text with a line for each member, as JSON.stringify indents it.
 * @param {string} text
 */
export function pretty(text) {
  const tokens = text.match(TOKENS) ?? [];
  let made = "";
  let depth = 0;
  for (const [index, token] of tokens.entries()) {
    const before = tokens[index - 1];
    if (isClosing(token)) depth -= 1;
    if (isClosing(token) ? !isOpening(before) : before === "," || isOpening(before)) made += `\n${"  ".repeat(depth)}`;
    if (isOpening(token)) depth += 1;
    made += token === ":" ? ": " : token;
  }
  return made;
}

/**
 * The text of a member of a dictionary; undefined if there is none.
 * @param {string} text
 * @param {string} name
 */
export function member(text, name) {
  const key = JSON.stringify(name);
  /** @type {number | undefined} */
  let begin;
  let [depth, before] = [0, ""];
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if (begin !== undefined && depth === 1 && (token === "," || token === "}")) return text.slice(begin, index);
    if (isOpening(token)) depth += 1;
    if (isClosing(token)) depth -= 1;
    if (depth === 1 && token === ":" && before === key) begin ??= (index ?? 0) + 1;
    before = token;
  }
  return undefined;
}
