// Live Activities on the screen of a device, from the pushes of the journal (docs/channels.md).

import { element, moment } from "./dom.js";
import { isObject } from "./payloadform.js";
import { stringify } from "./exactjson.js";
import { serviceOf } from "./words.js";

/** @typedef {import("./model.js").Row} Row */

/**
 * @typedef {object} Activity
 * @property {string} app
 * @property {string} key
 * @property {string} type
 * @property {string} channel
 * @property {number} started
 * @property {number} time
 * @property {number} [timestamp]
 * @property {Record<string, any>} state
 * @property {number | null} stale
 * @property {number} score
 * @property {boolean} [isEnded]
 * @property {number} [until] until when it is shown, if it has ended
 */

/** @typedef {Pick<Activity, "app" | "key" | "type" | "channel" | "started"> & Partial<Activity>} Start one before its first change */

/** How long one is active if nothing ends it before, in milliseconds. */
const ACTIVE = 8 * 3600 * 1000;
/** How long an ended one stays on show if its push does not say until when, in milliseconds. */
const AFTER_END = 4 * 3600 * 1000;

/**
 * The Live Activities that a device shows, the most relevant first: of each app the one that was started last, because
 * the journal does not say which of several a push to the app's own token is for.
 * @param {Row[]} rows what was delivered to the device, oldest first
 * @param {number} now in milliseconds since 1970
 */
export function activities(rows, now) {
  /** @type {Map<string, Activity>} */
  const shown = new Map();
  for (const row of rows) {
    const { service, app } = serviceOf(row.topic);
    const sent = row.request?.payload?.aps;
    const aps = isObject(sent) ? sent : {};
    if (service !== "Live Activity") continue;
    // The device ignores a start by a Live Activity's own device token, and a change by the one that starts them.
    const token = row.request?.activityToken;
    if (token !== undefined && (token === "start") !== (aps.event === "start")) continue;
    const before = shown.get(app);
    if (aps.event === "start") {
      // A broadcast starts none.
      if (!isObject(aps["content-state"]) || row.channel !== "") continue;
      const channel = channelOf(row) ?? "";
      shown.set(app, change({ app, key: row.key, type: String(aps["attributes-type"] ?? ""), channel, started: row.time }, row, aps));
    } else if (aps.event === "update" || aps.event === "end") {
      // One that the app has started itself is known by its first update.
      /** @type {Start} */
      const activity = before ?? { app, key: row.key, type: "", channel: "", started: row.time };
      if (row.channel !== "" && row.channel !== activity.channel || row.time >= activity.started + ACTIVE) continue;
      if (activity.isEnded || (aps.timestamp ?? 0) < (activity.timestamp ?? 0)) continue;
      shown.set(app, change(activity, row, aps));
      if (aps.event === "end") Object.assign(shown.get(app) ?? {}, { isEnded: true, until: 1000 * (aps["dismissal-date"] ?? Infinity) });
    }
  }
  for (const activity of shown.values()) {
    const end = activity.started + ACTIVE;
    if (activity.isEnded) activity.until = Math.min(activity.until ?? Infinity, activity.time + AFTER_END);
    else if (end <= now) Object.assign(activity, { isEnded: true, until: end + AFTER_END });
  }
  return [...shown.values()].filter((activity) => !activity.isEnded || (activity.until ?? Infinity) > now).sort((a, b) => b.score - a.score);
}

/**
 * The channel that updates the Live Activity that a push starts; undefined if there is none.
 * @param {Row} row
 */
function channelOf(row) {
  const channel = row.request?.payload?.aps?.["input-push-channel"];
  return typeof channel === "string" ? channel : undefined;
}

/**
 * The channels that update the Live Activities that these pushes start.
 * @param {Row[]} rows
 */
export const activityChannels = (rows) => rows.flatMap((row) => channelOf(row) ?? []);

/**
 * @param {Start} activity
 * @param {Row} row
 * @param {Record<string, any>} aps
 */
function change(activity, row, aps) {
  return {
    ...activity, key: row.key, time: row.time, timestamp: aps.timestamp,
    state: isObject(aps["content-state"]) ? aps["content-state"] : activity.state ?? {},
    stale: typeof aps["stale-date"] === "number" ? 1000 * aps["stale-date"] : null, score: Number(aps["relevance-score"] ?? activity.score ?? 0),
  };
}

/**
 * A card for each, or nothing.
 * @param {Row[]} rows
 */
export function activityCards(rows, now = Date.now()) {
  return activities(rows, now).map((activity) => {
    const notes = [
      activity.isEnded ? "Ended" : null, activity.stale !== null && activity.stale <= now ? "Outdated" : null,
    ].filter((note) => note !== null);
    return element("article", { class: "banner", "aria-label": "Live Activity" },
      element("header", {}, element("span", { class: "app-name" }, activity.app.split(".").at(-1)), moment(activity.time)),
      element("a", { class: "banner-link", href: `#/notification/${encodeURIComponent(activity.key)}` },
        element("p", { class: "banner-title" }, activity.type === "" ? "Live Activity" : `Live Activity ${activity.type}`)),
      element("pre", {}, stringify(activity.state, 1)),
      notes.length === 0 ? null : element("ul", { class: "tags", "aria-label": "Details" }, ...notes.map((note) => element("li", {}, note))));
  });
}
