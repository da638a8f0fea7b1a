// JSON as the service reads it: no number becomes another one, and half a character is U+FFFD.

/** A number that is not whole and that Number cannot hold: its digits, as they came. */
export class ExactNumber {
  constructor(text) { this.text = text; }

  toString() { return this.text; }

  valueOf() { return Number(this.text); }
}

const isWhole = /^-?\d+$/;

/** The number, or what has its value: a BigInt, or an ExactNumber. */
function number(text) {
  const near = Number(text);
  if (isWhole.test(text)) return Number.isSafeInteger(near) ? near : BigInt(text);
  return Number.isFinite(near) && digits(String(near)) === digits(text) ? near : new ExactNumber(text);
}

/** The significant digits of a number that is not whole, and the power of ten of the last one. */
function digits(text) {
  const [, sign, whole, part = '', power = '0'] = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? [];
  if (whole === undefined) return undefined;
  const all = (whole + part).replace(/^0+/, '');
  const kept = all.replace(/0+$/, '');
  if (!kept) return '0';
  return `${sign}${kept}e${BigInt(power) - BigInt(part.length) + BigInt(all.length - kept.length)}`;
}

// A string, or a number. Strings are matched, so that digits inside of them are left alone.
const tokens = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;

// An escape: a character of two halves, half a character, or any other one (RFC 8259, 7 and 8.2).
const escapes = /\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F][\da-fA-F]{2})|\\./g;

/** JSON with U+FFFD in place of each half of a character. */
function withoutHalves(text) {
  return text.replace(escapes, (escape, half) => (half ? '\ufffd' : escape)).replace(/\p{Surrogate}/gu, '\ufffd');
}

/** Half a character. It begins the texts that stand for numbers: all other texts are without halves. */
const mark = '\ud800';

/** Reads JSON. */
export function parse(text) {
  const whole = withoutHalves(text);
  const numbers = [];
  // JSON.parse does not show a number's text, so a number that it would change becomes a text first: its place in `numbers`.
  const marked = whole.replace(tokens, (token) => {
    // What is not a number is left to JSON.parse, which refuses it.
    if (token[0] === '"' || digits(token) === undefined) return token;
    const value = number(token);
    if (typeof value === 'number') return token;
    return `"${mark}${numbers.push(value) - 1}"`;
  });
  if (numbers.length === 0) return JSON.parse(whole);
  // A text may be where a number may not be: as a key.
  JSON.parse(whole);
  return JSON.parse(marked, (_, value) =>
    (typeof value === 'string' && value.startsWith(mark) ? numbers[Number(value.slice(mark.length))] : value));
}

/** Writes JSON as JSON.stringify does, with the digits of each number. */
export function stringify(value) {
  const numbers = [];
  const text = JSON.stringify(value, function written(key, member) {
    // A project may have given BigInt a toJSON, which has made a text of it.
    const own = typeof this[key] === 'bigint' ? this[key] : member;
    if (typeof own === 'string') return own.replace(/\p{Surrogate}/gu, '\ufffd');
    if (typeof own !== 'bigint' && !(own instanceof ExactNumber) && !Object.is(own, -0)) return own;
    return `${mark}${numbers.push(Object.is(own, -0) ? '-0' : own.toString()) - 1}`;
  });
  if (text === undefined) return undefined;
  // Only a key may have halves of characters still, and is followed by a colon.
  return withoutHalves(text.replace(/"\\ud800(\d+)"(?!:)/g, (_, place) => numbers[Number(place)]));
}
