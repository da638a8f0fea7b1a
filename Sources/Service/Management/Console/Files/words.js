// The words that the pages show for the API's values.

import { isOn, stringify } from "./exactjson.js";
import { services } from "./pushtypes.js";

/** @typedef {import("./model.js").Row} Row */

/** @type {Record<string, string>} */
export const outcomes = {
  delivered: "Delivered",
  stored: "Stored",
  pending: "On its way",
  rejected: "Rejected",
  replaced: "Replaced",
  expired: "Expired",
  dropped: "Dropped",
  lost: "Lost by a rehearsal",
  failed: "No connection",
  done: "Done",
};

/**
 * What became of a notification, or that nobody knows yet.
 * @param {Row} row
 */
export function outcomeOf(row) {
  if (row.request !== null && row.status === null) {
    if (row.outcome === "pending") return "No answer yet";
    if (row.outcome === "dropped") return "No answer";
  }
  if (row.request?.captured) return "Captured";
  // What becomes of it at the upstream is not known here.
  if (row.request?.forwarded && row.outcome === "pending") return "Forwarded";
  return outcomes[row.outcome] ?? row.outcome;
}

/**
 * The steps of the delivery log.
 * @type {Record<string, string>}
 */
export const steps = {
  accepted: "Accepted",
  rejected: "Rejected",
  stored: "Stored until the device connects",
  replaced: "Replaced by a newer one",
  coalesced: "Replaced by one with its collapse identifier",
  dropped: "Dropped: its app keeps no more",
  deferred: "Held for the device's power",
  throttled: "Held: too many silent notifications",
  sent: "Sent to the device",
  acknowledged: "Taken by the device",
  expired: "Expired",
  discarded: "Given up",
  duplicate: "Not shown: the device has had this identifier before",
  forwarded: "Forwarded to the upstream",
  answered: "Answered by the upstream",
  held: "Held until the upstream can be reached",
};

/**
 * The behaviours of virtual devices.
 * @type {Record<string, { label: string, hint: string }>}
 */
export const behaviours = {
  online: { label: "Online", hint: "Connected, and acknowledges at once: 200, delivered." },
  slow: { label: "Slow", hint: "Connected, and acknowledges after a while: 200, stored first, then delivered." },
  offline: { label: "Offline", hint: "Not connected: 200, stored. The newest of each app is delivered when the device is online." },
  silent: { label: "Silent", hint: "Connected, and never acknowledges: 200, stored." },
  removed: { label: "Removed", hint: "The app is not on the device any more: 410 Unregistered." },
  expired: { label: "Expired", hint: "The device token has expired: 410 ExpiredToken." },
};

/**
 * Says which nodes of a cluster did not answer.
 * @param {string[]} names
 */
export function silentNodes(names) { return `${names.length === 1 ? "The node" : "The nodes"} ${names.join(", ")} did not answer`; }

/** @type {Record<string, string>} */
export const powers = { charging: "Charging", awake: "Awake", low: "Low" };

/**
 * The app that a topic belongs to, and the app's service that it names; null if it names the app itself.
 * @param {string} topic
 */
export function serviceOf(topic) {
  for (const [suffix, service] of Object.entries(services)) {
    if (topic.endsWith(suffix)) return { service, app: topic.slice(0, -suffix.length) };
  }
  return { service: null, app: topic };
}

/** @param {unknown} value */
const text = (value) => (typeof value === "string" && value.trim() !== "" ? value : null);

/**
 * A short title for a payload: what a person would see first.
 * @param {Record<string, any> | undefined} payload
 */
export function title(payload) {
  const aps = payload?.aps;
  if (typeof aps !== "object" || aps === null) return "No aps dictionary";
  const alert = aps.alert;
  const shown = typeof alert === "object" && alert !== null
    ? text(alert.title) ?? text(alert.body) ?? text(alert["title-loc-key"]) ?? text(alert["loc-key"])
    : text(alert);
  if (shown !== null) return shown;
  if (isOn(aps["content-available"])) return "Silent";
  if (aps.badge !== undefined) return `Badge ${stringify(aps.badge)}`;
  if (text(aps.event) !== null) return `Live Activity: ${aps.event}`;
  return "No alert";
}

/** @type {Record<string, string>} */
const channelMethods = { POST: "Creates a broadcast channel", GET: "Reads a broadcast channel", DELETE: "Deletes a broadcast channel" };

/**
 * What a request of the management of broadcast channels does.
 * @param {API.RecordedRequest} request
 */
export function channelTitle(request) {
  const headers = request.headers ?? {};
  if (String(headers[":path"] ?? "").endsWith("/all-channels")) return "Lists the broadcast channels";
  return channelMethods[headers[":method"]] ?? "Management of broadcast channels";
}

/**
 * The end of something long, which is where device tokens of one service differ.
 * @param {string} value
 */
export function short(value, length = 12) {
  return value.length > length + 1 ? `…${value.slice(-length)}` : value;
}
