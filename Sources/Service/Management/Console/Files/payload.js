// What a device shows of a payload, for the picture of a device.

import { integer, isOn, parse, stringify } from "./exactjson.js";
import { isObject } from "./payloadform.js";
import { serviceOf } from "./words.js";

/** @typedef {import("./model.js").Row} Row */

/** @typedef {{ text: string, isKnown: boolean, key?: string }} Part a text of an alert, and its key if the text is not known */

/** @typedef {ReturnType<typeof contents> & { replaced: Banner[] }} Banner what a device shows, and what it has replaced */

const STORE = "carillon-app-texts:";

/**
 * What somebody has told this browser of an app: its texts by their keys, and its categories.
 * @param {string} bundleID
 */
export function appTexts(bundleID) {
  try {
    const kept = parse(localStorage.getItem(STORE + bundleID) ?? "null");
    if (isObject(kept)) return { strings: isObject(kept.strings) ? kept.strings : {}, categories: Array.isArray(kept.categories) ? kept.categories : [] };
  } catch { /* nothing, or something that is no JSON: as if nothing had been told */ }
  return { strings: {}, categories: [] };
}

/**
 * What is known of an app, with a place for everything that its banners need and nobody has told.
 * @param {string} bundleID
 * @param {Banner[]} banners
 */
export function missingTexts(bundleID, banners) {
  const { strings, categories } = appTexts(bundleID);
  const own = banners.filter((banner) => banner.app === bundleID);
  const keys = new Set(own.flatMap((banner) => banner.missing));
  const ids = new Set(own.filter((banner) => !banner.isCategoryKnown).map((banner) => banner.category));
  return {
    count: keys.size + ids.size,
    texts: {
      strings: { ...strings, ...Object.fromEntries([...keys].map((key) => [key, ""])) },
      categories: [...categories, ...[...ids].map((id) => ({ id, actions: [{ id: "", title: "" }] }))],
    },
  };
}

/**
 * @returns what is wrong with the text; null if it is kept
 * @param {string} bundleID
 * @param {string} text
 */
export function saveAppTexts(bundleID, text) {
  let made;
  try {
    made = parse(text);
  } catch (error) {
    return `That is not JSON: ${error.message}`;
  }
  if (!isObject(made)) return "The JSON has to be a dictionary with strings and categories.";
  if (made.strings !== undefined && (!isObject(made.strings) || Object.values(made.strings).some((each) => typeof each !== "string"))) {
    return "strings has to be a dictionary of texts.";
  }
  if (made.categories !== undefined && !(Array.isArray(made.categories) && made.categories.every(isObject))) return "categories has to be a list of dictionaries.";
  localStorage.setItem(STORE + bundleID, stringify(made));
  return null;
}

/** @param {unknown} value */
const text = (value) => (typeof value === "string" && value !== "" ? value : null);

/**
 * A text of an alert. If the alert has a key instead, the app's text with that key, or the key itself if it is not known.
 * @param {Record<string, any>} alert
 * @param {string} name
 * @param {string} keyName
 * @param {string} argumentsName
 * @param {Record<string, unknown>} strings
 * @returns {Part | null}
 */
function part(alert, name, keyName, argumentsName, strings) {
  const key = text(alert[keyName]);
  if (key === null) return text(alert[name]) === null ? null : { text: alert[name], isKnown: true };
  const values = Array.isArray(alert[argumentsName]) ? alert[argumentsName].map(String) : [];
  const format = Object.hasOwn(strings, key) ? strings[key] : undefined;
  if (typeof format !== "string" || format === "") return { text: values.length === 0 ? key : `${key} (${values.join(", ")})`, isKnown: false, key };
  let next = 0;
  return {
    isKnown: true,
    text: format.replaceAll(/%(?:(\d+)\$)?@|%%/g, (found, position) => {
      if (found === "%%") return "%";
      const index = position === undefined ? next++ : Number(position) - 1;
      return values[index] ?? "";
    }),
  };
}

/** @param {unknown} sound */
function soundOf(sound) {
  if (isObject(sound)) return isOn(sound.critical) ? `Critical sound ${text(sound.name) ?? "default"}` : `Sound ${text(sound.name) ?? "default"}`;
  return text(sound) === null ? null : `Sound ${sound}`;
}

/**
 * What a device shows for a notification of the journal.
 * @param {Row} row
 */
export function contents(row) {
  const { request } = row;
  const payload = request?.payload ?? {};
  const aps = isObject(payload.aps) ? payload.aps : {};
  const headers = request?.headers ?? {};
  const { service, app } = serviceOf(row.topic);
  const { strings, categories } = appTexts(app);
  const alert = isObject(aps.alert) ? aps.alert : text(aps.alert) === null ? {} : { body: aps.alert };
  const category = text(aps.category) ?? "";
  const title = part(alert, "title", "title-loc-key", "title-loc-args", strings);
  const body = part(alert, "body", "loc-key", "loc-args", strings);
  const subtitle = part(alert, "subtitle", "subtitle-loc-key", "subtitle-loc-args", strings);
  const isShown = service === null && (title !== null || body !== null || subtitle !== null);
  const number = service === null ? integer(aps.badge) : null;
  const badge = number !== null && number >= 0 ? number : null;
  const known = categories.find((each) => each.id === category);
  return {
    key: row.key, time: row.time, app, appName: app.split(".").at(-1) ?? app, title, subtitle, body, badge, isShown, category,
    sound: soundOf(aps.sound), thread: text(aps["thread-id"]) ?? "", collapseID: headers["apns-collapse-id"] ?? "",
    level: text(aps["interruption-level"]), isMutable: isOn(aps["mutable-content"]),
    isCategoryKnown: category === "" || known !== undefined,
    actions: actionsOf(known?.actions),
    missing: [title, subtitle, body].flatMap((each) => (each?.isKnown === false ? each.key ?? [] : [])),
    what: service !== null ? `A push for the app's service: ${service}`
      : isOn(aps["content-available"]) ? "Silent: it woke the app" : badge !== null ? `Badge ${badge}` : "Nothing to show",
  };
}

/**
 * The titles of a category's actions.
 * @param {unknown} actions
 * @returns {string[]}
 */
function actionsOf(actions) { return Array.isArray(actions) ? actions.map((action) => String(action?.title ?? action?.id ?? "")) : []; }
