// Which notifications are shown. The address bar holds the filter, so that it can be kept, sent and gone back to.

import { stringify } from "./exactjson.js";

/** @typedef {import("./names.js").DeviceNames} DeviceNames */
/** @typedef {import("./model.js").Row} Row */

/** @typedef {Record<string, string>} Filter what is wanted of each of `names`; "" where nothing is asked for */

export const names = ["text", "outcome", "reason", "status", "app", "device", "id", "connection"];

/**
 * @returns {Filter} the filter in the query of a fragment; "" where nothing is asked for
 * @param {string} query
 */
export function read(query) {
  const parameters = new URLSearchParams(query);
  return Object.fromEntries(names.map((name) => [name, parameters.get(name) ?? ""]));
}

/**
 * The fragment of the address that shows the list with this filter.
 * @param {Filter} filter
 */
export function address(filter) {
  const asked = names.filter((name) => filter[name] !== "").map((name) => [name, filter[name]]);
  const query = new URLSearchParams(asked).toString();
  return query === "" ? "#/notifications" : `#/notifications?${query}`;
}

/** @param {Filter} filter */
export function isEmpty(filter) {
  return names.every((name) => filter[name] === "");
}

/**
 * The text that the search looks in, in lower case. It is made at the row's first search, and kept.
 * @param {Row} row
 */
function searched(row) {
  row.text ??= [row.title, row.topic, row.token, row.device, row.id, row.reason, row.request?.subscription, stringify(row.request?.payload ?? "")]
    .join("\n").toLowerCase();
  return row.text;
}

/**
 * The words of a search, and which of them a row must not have. Quotation marks keep words together.
 * @param {string} text
 */
function words(text) {
  return [...text.matchAll(/(-?)(?:"([^"]*)"?|(\S+))/g)]
    .map(([, minus, phrase, word]) => ({ isWanted: minus === "", word: phrase ?? word })).filter(({ word }) => word !== "");
}

/**
 * @param {Filter} filter
 * @param {DeviceNames} devices tells their names
 * @returns {(row: Row) => boolean} says whether a row is wanted
 */
export function matcher(filter, devices) {
  const wanted = Object.fromEntries(names.map((name) => [name, filter[name].trim().toLowerCase()]));
  const search = words(wanted.text);
  return (row) =>
    (wanted.outcome === "" || row.outcome === wanted.outcome)
    && (wanted.reason === "" || (row.reason ?? "").toLowerCase() === wanted.reason)
    && (wanted.status === "" || String(row.status) === wanted.status)
    && (wanted.app === "" || row.topic.toLowerCase().includes(wanted.app))
    && (wanted.device === "" || row.device.includes(wanted.device) || row.token.includes(wanted.device)
      || (devices.of(row.device) ?? "").toLowerCase().includes(wanted.device))
    && (wanted.id === "" || row.id.toLowerCase().includes(wanted.id))
    && (wanted.connection === "" || row.request?.connection === wanted.connection)
    && search.every(({ isWanted, word }) => searched(row).includes(word) === isWanted);
}
