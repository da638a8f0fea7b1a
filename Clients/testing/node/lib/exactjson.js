// JSON in which no number becomes another one.

import { randomUUID } from 'node:crypto';

/** A number that is not whole and that Number cannot hold: its digits, as they came. */
export class ExactNumber {
  constructor(text) { this.text = text; }

  toString() { return this.text; }

  valueOf() { return Number(this.text); }
}

const exact = /^-?\d+$/;

/** The number, or what has its value: a BigInt, or an ExactNumber. */
function number(text) {
  const near = Number(text);
  if (exact.test(text)) return Number.isSafeInteger(near) ? near : BigInt(text);
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
const tokens = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;

/** Reads JSON. */
export function parse(text) {
  const numbers = [];
  // JSON.parse does not show a number's text, so a number that it would change becomes a string first: its place in `numbers`
  // behind a character that no other string of this text begins with.
  const mark = ['\u2402', '\u2403', '\u2404'].find((character) => !text.includes(character)) ?? randomUUID();
  // What is not a number is left to JSON.parse, which refuses it.
  const marked = text.replace(tokens, (token) => {
    if (token[0] === '"' || digits(token) === undefined) return token;
    const value = number(token);
    if (typeof value === 'number') return token;
    return `"${mark}${numbers.push(value) - 1}"`;
  });
  if (numbers.length === 0) return JSON.parse(text);
  return JSON.parse(marked, (_, value) =>
    (typeof value === 'string' && value.startsWith(mark) ? numbers[Number(value.slice(mark.length))] : value));
}

/** Writes JSON. */
export function stringify(value) {
  const numbers = [];
  const mark = randomUUID();
  const text = JSON.stringify(value, (_, member) => {
    if (typeof member !== 'bigint' && !(member instanceof ExactNumber)) return member;
    return `${mark}${numbers.push(member.toString()) - 1}.`;
  });
  return numbers.reduce((written, digits, place) => written.replace(`"${mark}${place}."`, digits), text);
}
