// The page of one notification: what was sent, what became of it and when, and what can be done with it.

import { json, lines } from "./api.js";
import * as commands from "./curl.js";
import { announce, element } from "./dom.js";
import { duration, exactTime, shortTime } from "./time.js";
import { outcomes, steps } from "./words.js";

/** The delivery log is written together, a moment after what it tells of. In milliseconds. */
const LOG_DELAY = 700;

export class Detail {
  element = element("article", { class: "page detail" });
  #feed;
  #reasons;
  #key = null;
  #back = "#/notifications";
  #drawn = "";
  #timeline = element("ol", { class: "timeline" });

  constructor(feed, reasons) {
    this.#feed = feed;
    this.#reasons = reasons;
  }

  /** @param back the address of the list */
  open(key, back) {
    this.#key = key;
    this.#back = back;
    this.#drawn = "";
    this.#timeline.replaceChildren();
    this.change();
  }

  focus() { this.element.querySelector("h1")?.focus(); }

  change() {
    if (this.#key === null) return;
    const row = this.#feed.model.row(this.#key);
    const state = row === undefined ? `missing ${this.#feed.state === null}` : `${row.outcome} ${row.status} ${row.reason}`;
    if (state === this.#drawn) return;
    this.#drawn = state;
    const hadFocus = this.element.querySelector("h1") === document.activeElement;
    if (row === undefined) this.#drawMissing();
    else this.#draw(row);
    if (hadFocus) this.focus();
  }

  #backLink() {
    return element("a", { class: "back", href: this.#back }, "← Notifications");
  }

  #drawMissing() {
    this.element.replaceChildren(this.#backLink(),
      element("h1", { tabindex: -1 }, this.#feed.state === null ? "One moment…" : "This notification is not there any more"),
      element("p", {}, this.#feed.state === null ? "" : "The journal keeps the last ones only."));
  }

  #draw(row) {
    const parts = [
      this.#backLink(),
      element("header", {},
        element("h1", { tabindex: -1 }, row.title ?? "Notification"),
        element("p", { class: "under" },
          element("span", { class: "badge", "data-outcome": row.outcome }, outcomes[row.outcome] ?? row.outcome), " ",
          element("time", { datetime: exactTime(row.time), title: exactTime(row.time) }, shortTime(row.time)))),
      this.#reason(row), row.request === null ? null : this.#actions(row),
      section("Time line", this.#timeline), section("Facts", facts(row)),
    ];
    if (row.request !== null) parts.push(payload(row.request), section("Headers", headers(row.request)));
    this.element.replaceChildren(...parts.filter((part) => part !== null));
    this.#readTimeline(row);
  }

  /** What a rejection means and what to do, from the service's one table. */
  #reason(row) {
    if (row.reason === null) return null;
    const known = this.#reasons.get(row.reason);
    return element("div", { class: "callout" },
      element("strong", {}, row.status === null ? row.reason : `${row.status} ${row.reason}`),
      known === undefined ? null : element("p", {}, known.meaning),
      known === undefined ? null : element("p", {}, element("b", {}, "What to do: "), `${known.advice}.`));
  }

  #actions(row) {
    const result = element("p", { class: "result", role: "status" });
    const again = element("button", { type: "button", class: "primary", onclick: () => sendAgain(row.request, again, result) }, "Send again");
    const copy = element("button", { type: "button", onclick: () => copyCommand(row.request, result) }, "Copy as curl");
    // Without a payload or a device token there is nothing to send.
    again.disabled = row.request.payload === undefined || !row.token;
    return element("div", { class: "actions" }, again, copy, result);
  }

  async #readTimeline(row, attempt = 0) {
    const key = this.#key;
    const outcome = row.outcome;
    let entries;
    try {
      entries = await lines(`/v1/log?id=${encodeURIComponent(row.id)}`);
    } catch (error) {
      this.#timeline.replaceChildren(element("li", {}, error.message));
      return;
    }
    if (this.#key !== key || row.outcome !== outcome) return;
    this.#timeline.replaceChildren(...timeline(entries));
    const isBehind = entries.length === 0 || (outcome === "delivered" && !entries.some((entry) => entry.event === "acknowledged"));
    if (isBehind && attempt < 5) setTimeout(() => this.#key === key && this.#readTimeline(row, attempt + 1), LOG_DELAY);
    else if (entries.length === 0) this.#timeline.replaceChildren(element("li", {}, "The delivery log says nothing of it."));
  }
}

function section(name, ...children) {
  const id = `section-${name.toLowerCase().replaceAll(" ", "-")}`;
  return element("section", { class: "card", "aria-labelledby": id }, element("h2", { id }, name), ...children);
}

function timeline(entries) {
  const begin = entries[0]?.time;
  return entries.map((entry, index) => {
    const before = index === 0 ? null : entry.time - entries[index - 1].time;
    return element("li", { "data-event": entry.event },
      element("span", { class: "step" }, steps[entry.event] ?? entry.event,
        entry.reason === undefined ? "" : `: ${entry.reason}`),
      element("span", { class: "when" },
        element("time", { datetime: exactTime(entry.time), title: exactTime(entry.time) }, shortTime(entry.time)),
        before === null ? "" : ` · ${duration(before)} later`,
        index > 1 ? ` · ${duration(entry.time - begin)} in all` : ""));
  });
}

function facts(row) {
  const request = row.request ?? {};
  const known = [
    ["App", row.topic], ["Device", row.device], ["Device token", row.token], ["Identifier", row.id],
    ["Environment", request.environment], ["Team", request.team], ["Key", request.keyID],
    ["Certificate", request.certificate],
    ["Connection", request.connection === undefined ? "" : `${request.connection}, ${request.protocol === "h2" ? "HTTP/2" : "binary API"}`],
    ["Rule of a rehearsal", request.rule],
  ];
  return element("dl", {}, ...known.filter(([, value]) => value).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

function payload(request) {
  if (request.payload === undefined) return section("Payload", element("p", {}, "The body is not a JSON dictionary."));
  const size = new TextEncoder().encode(commands.body(request)).length;
  return section("Payload", element("p", { class: "hint" }, `${size.toLocaleString()} bytes of JSON`),
    element("pre", { tabindex: 0, "aria-label": "Payload" }, JSON.stringify(request.payload, null, 2)));
}

function headers(request) {
  return element("dl", { class: "headers" },
    ...Object.entries(request.headers ?? {}).flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]));
}

async function copyCommand(request, result) {
  const command = commands.curl(request);
  try {
    await navigator.clipboard.writeText(command);
    result.replaceChildren("Copied.");
  } catch {
    // The browser does not let the page: then a person can.
    result.replaceChildren(element("pre", { tabindex: 0 }, command));
  }
}

async function sendAgain(request, button, result) {
  button.disabled = true;
  try {
    const sent = await json("POST", "/v1/notifications", message(request));
    const text = sent.status === 200 ? "Sent again." : `Refused: ${sent.status} ${sent.reason}.`;
    result.replaceChildren(text, " ", element("code", {}, sent.apnsID));
    const entries = await settled(sent.apnsID);
    if (entries.length > 0) result.append(element("ol", { class: "timeline" }, ...timeline(entries)));
    announce(text);
  } catch (error) {
    result.replaceChildren(error.message);
  } finally {
    button.disabled = false;
  }
}

/** The life of a notification, once the delivery log has something of it. */
async function settled(id) {
  for (let attempt = 0; attempt < 5; attempt += 1) {
    const entries = await lines(`/v1/log?id=${encodeURIComponent(id)}`);
    if (entries.length > 0) return entries;
    await new Promise((resolve) => { setTimeout(resolve, LOG_DELAY); });
  }
  return [];
}

/** What /v1/notifications takes: everything of the request but its identifier. */
function message(request) {
  const headers = request.headers ?? {};
  const made = { token: request.token, topic: request.topic ?? "", payload: request.payload };
  const whole = (text) => (/^[0-9]{1,15}$/.test(text ?? "") ? Number(text) : undefined);
  made.priority = whole(headers["apns-priority"]);
  made.expiration = whole(headers["apns-expiration"]);
  made.collapseID = headers["apns-collapse-id"];
  made.pushType = headers["apns-push-type"];
  return made;
}
