// The page of one notification: what was sent, what became of it and when, and what can be done with it.

import { json, lines, text } from "./api.js";
import * as commands from "./curl.js";
import { counted } from "./dialog.js";
import { announce, element, fill, moment, section, target } from "./dom.js";
import { parse, stringify } from "./exactjson.js";
import { Model, rowOfEntry, rowOfRequest } from "./model.js";
import { member, pretty } from "./rawjson.js";
import { duration, exactTime, fullTime } from "./time.js";
import { outcomeOf, serviceOf, steps } from "./words.js";

/** @typedef {import("./names.js").DeviceNames} DeviceNames */
/** @typedef {import("./model.js").Entry} Entry */
/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./notifications.js").Notifications} Notifications */
/** @typedef {import("./model.js").Row} Row */

/** The delivery log is written together, a moment after what it tells of. In milliseconds. */
const LOG_DELAY = 700;

export class Detail {
  title = "Notification";
  section = "notifications";
  element = element("article", { class: "page detail" });
  #feed;
  #reasons;
  #names;
  /** @type {Notifications | null} */
  #list = null;
  /** @type {string | null} */
  #key = null;
  /**
   * What is drawn: a row of the feed, or one that the service still had.
   * @type {Row | null}
   */
  #row = null;
  #state = "";
  #isSearching = false;
  /** The body as it was sent. */
  #body = "";
  #heading = element("h1", { tabindex: -1 });
  #badge = element("span", { class: "badge" });
  #around = element("span", { class: "around push" });
  #reason = element("div");
  #timeline = element("ol", { class: "timeline" });
  #facts = element("dl");

  /**
   * @param {Feed} feed
   * @param {Map<string, API.Reason>} reasons
   * @param {DeviceNames} names
   */
  constructor(feed, reasons, names) {
    this.#feed = feed;
    this.#names = names;
    this.#reasons = reasons;
    this.element.addEventListener("keydown", (event) => this.#move(event));
  }

  /**
   * @param {string} query
   * @param {string} key
   * @param {Notifications} list the page of the list, which knows where it was left
   */
  open(query, key, list) {
    const hadFocus = this.element.contains(document.activeElement);
    this.#list = list;
    this.#key = key;
    this.#row = null;
    this.#isSearching = false;
    this.change();
    if (hadFocus) this.focus();
  }

  focus() { this.#heading.focus(); }

  change() {
    if (this.#key === null) return;
    // What was cleared meanwhile can still be looked at.
    const row = this.#feed.model.row(this.#key) ?? this.#row;
    if (row === null) this.#search();
    else {
      if (this.#row === null) this.#draw(row);
      this.#row = row;
      this.#update(row);
    }
    this.#showAround();
  }

  // MARK: Where it is

  #links() {
    return element("div", { class: "heading" }, element("a", { class: "back", href: this.#list?.address ?? "#/notifications" }, "← Notifications"), this.#around);
  }

  /** Links to its neighbours, as the list has them. */
  #showAround() {
    if (this.#list === null || this.#key === null) return;
    const { newer, older } = this.#list.neighbours(this.#key);
    const state = `${newer} ${older}`;
    if (this.#around.dataset.state === state) return;
    this.#around.dataset.state = state;
    /**
     * @param {string | undefined} key
     * @param {string} name
     * @param {string} label
     * @param {string} shortcut
     */
    const link = (key, name, label, shortcut) => (key === undefined ? ""
      : element("a", { class: "button quiet", "data-to": name, href: `#/notification/${encodeURIComponent(key)}`, "aria-keyshortcuts": shortcut }, label));
    const focused = this.#around.contains(document.activeElement);
    this.#around.replaceChildren(link(newer, "newer", "← Newer", "ArrowLeft"), link(older, "older", "Older →", "ArrowRight"));
    if (focused) this.focus();
  }

  /** @param {KeyboardEvent} event */
  #move(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || target(event)?.closest("pre, input, select, textarea")) return;
    const selector = { ArrowLeft: "[data-to=newer]", ArrowRight: "[data-to=older]", Escape: ".back" }[event.key];
    const link = selector === undefined ? null : this.element.querySelector(selector);
    if (!(link instanceof HTMLElement)) return;
    event.preventDefault();
    link.click();
  }

  /** An address may name what the list does not have: then the service is asked. */
  async #search() {
    const key = this.#key;
    if (this.#isSearching || key === null) return;
    const isReady = this.#feed.state !== null;
    this.#drawMissing("One moment…", "");
    if (!isReady) return;
    this.#isSearching = true;
    const row = await find(key).catch(() => null);
    if (this.#key !== key || this.#row !== null) return;
    if (row === null) {
      this.#drawMissing("This notification is not there any more", "The journal keeps the last ones only, and the delivery log those of some days. Perhaps somebody cleared the list.");
      return;
    }
    this.#draw(row);
    this.#row = row;
    this.#update(row);
  }

  /**
   * @param {string} title
   * @param {string} text
   */
  #drawMissing(title, text) {
    this.#heading.textContent = title;
    this.element.replaceChildren(this.#links(), this.#heading, element("p", {}, text));
  }

  // MARK: What it is

  /** @param {Row} row */
  #draw(row) {
    const { request } = row;
    this.#heading.textContent = row.title ?? "Notification";
    this.#state = "";
    this.#reason.replaceChildren();
    this.#timeline.replaceChildren();
    // A connection that failed is no notification: there is nothing to send again, and nothing in the log.
    const hasFailed = row.outcome === "failed";
    const parts = [
      this.#links(), element("header", {}, this.#heading, element("p", { class: "under" }, this.#badge, " ", moment(row.time))),
      this.#reason, request === null || hasFailed ? null : this.#actions(row, request),
      hasFailed ? null : section("Time line", this.#timeline), section("Facts", this.#facts)];
    if (request !== null && !hasFailed) parts.push(this.#payload(row.key, request), section("Headers", headers(request)));
    fill(this.element, ...parts);
  }

  /**
   * Shows what has changed, and leaves the rest alone: somebody may be reading it, or have the focus there.
   * @param {Row} row
   */
  #update(row) {
    const name = this.#names.of(row.device);
    const state = `${row.outcome} ${row.status} ${row.reason} ${row.request?.rule} ${row.request?.captured} ${row.request?.own} ${name}`;
    if (state === this.#state) return;
    this.#state = state;
    this.#badge.dataset.outcome = row.outcome;
    this.#badge.textContent = outcomeOf(row);
    fill(this.#reason, reason(row, this.#reasons));
    this.#facts.replaceChildren(...facts(row, name));
    if (row.outcome !== "failed") this.#readTimeline(row);
  }

  /**
   * @param {Row} row
   * @param {API.RecordedRequest} request
   */
  #actions(row, request) {
    const result = element("div", { class: "result", role: "status" });
    /** @type {HTMLButtonElement} */
    const again = element("button", { type: "button", class: "primary", onclick: () => sendAgain(request, this.#body, again, result) }, "Send again");
    /** @type {HTMLButtonElement} */
    const copied = element("button", { type: "button", onclick: () => copy(commands.curl(request, this.#body), copied, result) }, "Copy as curl");
    // Only who has the endpoint can send a message of Web Push.
    if (request.protocol === "webpush") return element("div", { class: "actions" });
    // The management of channels sends nothing to devices.
    if (request.protocol === "channels") return element("div", { class: "actions" }, copied, result);
    const edit = element("a", { class: "button", href: `#/send?from=${encodeURIComponent(row.key)}` }, "Change and send");
    // Without a payload, or without a device token or a channel, there is nothing to send.
    again.disabled = request.payload === undefined || !row.token && !row.channel;
    /** @type {HTMLButtonElement | null} */
    const release = request.captured === true
      ? element("button", { type: "button", onclick: (event) => this.#release(row, request, event.currentTarget, result) }, "Release to the device") : null;
    return element("div", { class: "actions" }, ...[release, again, edit, copied, result].filter((part) => part !== null));
  }

  /**
   * Forwards a captured request, and shows what the upstream answers.
   * @param {Row} row
   * @param {API.RecordedRequest} request
   * @param {HTMLElement} button
   * @param {HTMLElement} result
   */
  async #release(row, request, button, result) {
    button.toggleAttribute("disabled", true);
    try {
      const answer = await json("POST", `/v1/requests/${request.number}/release`);
      result.textContent = answer.status === 200 ? "The upstream has accepted it."
        : `The upstream answered ${answer.status} ${answer.reason ?? ""}. ${answer.detail ?? ""}`;
      setTimeout(() => this.#readTimeline(row), LOG_DELAY);
    } catch (error) {
      result.textContent = error.message;
    }
    button.toggleAttribute("disabled", false);
  }

  /**
   * The payload, or what came in its place.
   * @param {string} key
   * @param {API.RecordedRequest} request
   */
  #payload(key, request) {
    if (request.protocol === "webpush") return messageOf(request);
    const isJSON = request.payload !== undefined;
    this.#body = commands.body(request);
    const isCut = request.bodyBytes !== undefined;
    if (this.#body === "") return section("Payload", element("p", {}, isCut ? `The journal has nothing of the body, which has ${wholeSize(request)}.` : "The request has no body."));
    // The last character of a beginning may be cut too.
    if (isCut && !isJSON) this.#body = this.#body.replace(/\uFFFD+$/u, "");
    const text = element("pre", { tabindex: 0, "aria-label": "Payload" });
    const result = element("div", { class: "result", role: "status" });
    /** @type {HTMLButtonElement} */
    const button = element("button", { type: "button", onclick: () => copy(text.textContent ?? "", button, result) }, "Copy the payload");
    /** @param {string} body */
    const show = (body) => {
      this.#body = body;
      text.textContent = isJSON ? pretty(body) : body;
    };
    show(this.#body);
    // The list has it as the browser reads JSON, which rounds long numbers.
    if (isJSON) find(key).then((row) => { if (this.#key === key && row?.sent) show(row.sent); }, () => {});
    const shownBytes = new TextEncoder().encode(this.#body).length;
    const size = request.headers?.["content-length"] ?? shownBytes;
    return section("Payload",
      isCut ? element("p", {}, `The first ${shownBytes.toLocaleString()} of ${wholeSize(request)}:`)
        : isJSON ? element("p", { class: "hint" }, `${Number(size).toLocaleString()} bytes`) : element("p", {}, "The body is not a JSON dictionary. It came as:"),
      text, element("div", { class: "actions" }, button, result));
  }

  /** @param {Row} row */
  async #readTimeline(row, attempt = 0) {
    const key = this.#key;
    const { outcome } = row;
    const isSame = () => this.#key === key && (this.#row ?? row).outcome === outcome;
    let entries;
    try {
      entries = await lines(`/v1/log?id=${encodeURIComponent(row.id)}`);
    } catch (error) {
      if (isSame()) this.#timeline.replaceChildren(element("li", {}, error.message));
      return;
    }
    if (!isSame()) return;
    this.#timeline.replaceChildren(...timeline(entries));
    if (isBehind(entries, outcome) && attempt < 5) setTimeout(() => isSame() && this.#readTimeline(row, attempt + 1), LOG_DELAY);
    else if (entries.length === 0) {
      this.#timeline.replaceChildren(element("li", {}, outcomeOf(row) === "No answer" ? "The service gives no answer." : outcomeOf(row) === "No answer yet" ? "The service has not answered yet." : "The delivery log says nothing of it."));
    }
  }
}

/**
 * A message of Web Push. The journal has what it says only if a virtual device has its keys.
 * @param {API.RecordedRequest} request
 */
function messageOf(request) {
  const size = request.bytes === undefined ? "" : counted(request.bytes, "byte");
  return section("Message", ...(size === "" ? [] : [element("p", { class: "hint" }, `${size}, as it was sent`)]),
    request.text === undefined ? element("p", {}, "It is encrypted, and the service does not have its keys.")
      : element("pre", { tabindex: 0, "aria-label": "Message" }, request.text));
}

/**
 * The size of a body of which the journal does not have all. Without content-length it is what had arrived by the answer.
 * @param {API.RecordedRequest} recordedRequest
 */
function wholeSize({ bodyBytes, headers }) {
  return `${headers?.["content-length"] === undefined ? "at least " : ""}${counted(bodyBytes ?? 0, "byte")}`;
}

/**
 * A notification that the service has: a request of the journal, or what the delivery log says; null if there is neither.
 * @param {string} key
 */
export async function find(key) {
  const number = Number(/^r([1-9][0-9]{0,14})$/.exec(key)?.[1]);
  if (number > 0) {
    const answer = await text(`/v1/requests?after=${number - 1}&limit=1`);
    const request = parse(answer)[0];
    return request?.number === number ? { ...rowOfRequest(request), sent: member(answer.slice(1, -1), "payload") } : null;
  }
  const id = /^l([0-9a-f-]{36})$/i.exec(key)?.[1];
  if (id === undefined) return null;
  const model = new Model();
  model.add((await lines(`/v1/log?id=${id}`)).flatMap((entry) => rowOfEntry(entry) ?? []));
  return model.rows.at(-1) ?? null;
}

/**
 * What a rejection means and what to do, from the service's one table.
 * @param {Row} row
 * @param {Map<string, API.Reason>} reasons
 */
function reason(row, reasons) {
  if (row.reason === null) return null;
  const known = reasons.get(row.reason);
  const status = row.status ?? known?.status;
  return element("div", { class: "callout" },
    element("strong", {}, status === undefined ? row.reason : `${status} ${row.reason}`),
    // A rule may also only have delayed the service's own answer.
    row.request?.rule === undefined ? null
      : element("p", {}, "The rule ", element("b", {}, row.request.rule), " of a rehearsal fired for this request, so the answer may be the rehearsal's."),
    known === undefined ? null : element("p", {}, known.meaning),
    known === undefined ? null : element("p", {}, element("b", {}, "What to do: "), `${known.advice}.`));
}

/**
 * The steps of a notification's life.
 * @param {Entry[]} entries
 */
export function timeline(entries) {
  const begin = entries[0]?.time;
  return entries.map((entry, index) => {
    const before = index === 0 ? null : entry.time - entries[index - 1].time;
    return element("li", { "data-event": entry.event },
      element("span", { class: "step" }, steps[entry.event] ?? entry.event,
        entry.status === undefined ? "" : `: ${entry.status}`, entry.reason === undefined ? "" : `: ${entry.reason}`,
        entry.own === undefined ? "" : ` (Carillon: ${entry.own})`),
      element("span", { class: "when" },
        moment(entry.time),
        before === null ? "" : ` · ${duration(before)} later`,
        index > 1 ? ` · ${duration(entry.time - begin)} in all` : ""));
  });
}

/** @type {Record<string, string>} */
const interfaces = { h2: "HTTP/2", binary: "the binary API", channels: "the management of broadcast channels", webpush: "Web Push", management: "the console or the management API, without a provider" };

/**
 * @param {Row} row
 * @param {string | undefined} name
 */
function facts(row, name) {
  /** @type {Partial<API.RecordedRequest>} */
  const request = row.request ?? {};
  /**
   * @param {string | undefined} text
   * @param {string} address
   */
  const link = (text, address) => (text === undefined || text === "" ? "" : element("a", { href: address }, text));
  /**
   * @param {string} name
   * @param {string} value
   */
  const filter = (name, value) => `#/notifications?${new URLSearchParams({ [name]: value })}`;
  const way = interfaces[request.protocol ?? ""];
  /** @type {[string, import("./dom.js").Content, boolean?][]} */
  const known = [
    ["Time", element("time", { datetime: exactTime(row.time), title: exactTime(row.time) }, fullTime(row.time))], ["App", link(row.topic, filter("app", row.topic))],
    ["Device", link(name === undefined ? row.device : `${name} (${row.device})`, `#/device/${row.device}`)], ["Device token", row.token, true], ["Broadcast channel", row.channel, true], ["Subscription", request.subscription, true], ["Identifier", row.id, true],
    ["Environment", request.environment], ["Team", request.team], ["Key", verified(request, request.keyID)],
    ["Certificate", verified(request, request.certificate)], ["Came by", way],
    ["Connection", request.protocol === "management" ? "" : link(request.connection, filter("connection", request.connection ?? ""))],
    ["Answer", row.request === null ? "" : row.status === null ? (["dropped", "failed"].includes(row.outcome) ? "none" : "none yet") : `${row.status} ${row.reason ?? ""}`],
    ["Rule of a rehearsal", request.rule], ["Server name", request.serverName], ["Client", request.client], ["Cause", request.cause],
    ["Captured", request.captured ? "kept here, and not forwarded" : ""], ["Carillon's own answer", request.own],
  ];
  return known.filter(([, value]) => value).flatMap(([name, value, isCopied]) => [
    element("dt", {}, name), element("dd", {}, value, isCopied && typeof value === "string" ? copyButton(name, value) : "")]);
}

/**
 * @param {string} name
 * @param {string} value
 */
function copyButton(name, value) {
  /** @type {HTMLButtonElement} */
  const button = element("button", { type: "button", class: "quiet small", "aria-label": `Copy: ${name}`, onclick: () => copy(value, button) }, "Copy");
  return button;
}

/**
 * A key or a certificate. The service may have accepted it without knowing it.
 * @param {Partial<API.RecordedRequest>} request
 * @param {string | undefined} name
 */
function verified(request, name) { return name !== undefined && request.unverified === true ? `${name} (not verified)` : name; }

/** @param {API.RecordedRequest} request */
function headers(request) {
  return element("dl", { class: "headers" },
    ...Object.entries(request.headers ?? {}).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

/**
 * Copies text, and says so on the button. Where the browser does not allow it, the text is shown to be copied by hand.
 * @param {string} copied
 * @param {HTMLButtonElement} button
 */
export async function copy(copied, button, place = button.parentElement) {
  try {
    await navigator.clipboard.writeText(copied);
    const label = button.textContent;
    button.textContent = "Copied";
    announce("Copied.");
    setTimeout(() => { if (button.textContent === "Copied") button.textContent = label; }, 1500);
  } catch {
    place?.querySelector(".by-hand")?.remove();
    place?.append(element("pre", { class: "by-hand", tabindex: 0 }, copied));
  }
}

/**
 * @param {API.RecordedRequest} request
 * @param {string} body
 * @param {HTMLButtonElement} button
 * @param {HTMLElement} result
 */
async function sendAgain(request, body, button, result) {
  button.disabled = true;
  try {
    const sent = await json("POST", request.channel === undefined ? "/v1/notifications" : "/v1/broadcasts", message(request, body));
    const text = sent.status === 200 ? "Sent again." : `Refused: ${sent.status} ${sent.reason}.`;
    result.replaceChildren(text, " ", element("code", {}, sent.apnsID));
    announce(text);
    const entries = sent.apnsID === undefined ? [] : await settled(sent.apnsID);
    if (entries.length > 0) result.append(element("ol", { class: "timeline" }, ...timeline(entries)));
  } catch (error) {
    result.replaceChildren(error.message);
  } finally {
    button.disabled = false;
  }
}

/**
 * Reads a notification's log entries again until there are some, and until they contain the outcome if that is known.
 * @param {string} id
 */
export async function settled(id, outcome = "") {
  /** @type {Entry[]} */
  let entries = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    entries = await lines(`/v1/log?id=${encodeURIComponent(id)}`);
    if (!isBehind(entries, outcome)) return entries;
    await new Promise((resolve) => { setTimeout(resolve, LOG_DELAY); });
  }
  return entries;
}

/**
 * Whether the delivery log is still to be written.
 * @param {Entry[]} entries
 * @param {string} outcome
 */
function isBehind(entries, outcome) {
  // The log has a broadcast once for all devices, until it was sent to them.
  /** @param {Entry} entry */
  const isEnd = (entry) => entry.event === "acknowledged" || (entry.event === "sent" && entry.token === undefined);
  return entries.length === 0 || (outcome === "delivered" && !entries.some(isEnd));
}

/**
 * What /v1/notifications or /v1/broadcasts takes, as JSON: everything of the request but its identifier.
 * @param {API.RecordedRequest} request
 * @param {string} body
 */
function message(request, body) {
  const headers = request.headers ?? {};
  const isBroadcast = request.channel !== undefined;
  /** @type {Record<string, unknown>} */
  const made = isBroadcast
    ? { bundleID: serviceOf(request.topic ?? "").app, channelID: request.channel } : { token: request.token, topic: request.topic ?? "" };
  /** @param {string | undefined} text */
  const whole = (text) => (/^[0-9]{1,15}$/.test(text ?? "") ? Number(text) : undefined);
  made.priority = whole(headers["apns-priority"]);
  made.expiration = whole(headers["apns-expiration"]);
  if (!isBroadcast) made.collapseID = headers["apns-collapse-id"];
  made.pushType = headers["apns-push-type"];
  return `${stringify(made).slice(0, -1)},"payload":${body}}`;
}
