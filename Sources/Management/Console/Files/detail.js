// The page of one notification: what was sent, what became of it and when, and what can be done with it.

import { json, lines } from "./api.js";
import * as commands from "./curl.js";
import { announce, element, moment, section } from "./dom.js";
import { duration } from "./time.js";
import { outcomes, steps } from "./words.js";

/** The delivery log is written together, a moment after what it tells of. In milliseconds. */
const LOG_DELAY = 700;

export class Detail {
  title = "Notification";
  section = "notifications";
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
  open(query, key, back) {
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
          moment(row.time))),
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
    const result = element("div", { class: "result", role: "status" });
    const again = element("button", { type: "button", class: "primary", onclick: () => sendAgain(row.request, again, result) }, "Send again");
    const copied = element("button", { type: "button", onclick: () => copy(commands.curl(row.request), copied, result) }, "Copy as curl");
    const edit = element("a", { class: "button", href: `#/send?from=${encodeURIComponent(row.key)}` }, "Change and send");
    // Without a payload or a device token there is nothing to send.
    again.disabled = row.request.payload === undefined || !row.token;
    return element("div", { class: "actions" }, again, edit, copied, result);
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
    if (isBehind(entries, outcome) && attempt < 5) setTimeout(() => this.#key === key && this.#readTimeline(row, attempt + 1), LOG_DELAY);
    else if (entries.length === 0) this.#timeline.replaceChildren(element("li", {}, "The delivery log says nothing of it."));
  }
}

/** The steps of a notification's life. */
export function timeline(entries) {
  const begin = entries[0]?.time;
  return entries.map((entry, index) => {
    const before = index === 0 ? null : entry.time - entries[index - 1].time;
    return element("li", { "data-event": entry.event },
      element("span", { class: "step" }, steps[entry.event] ?? entry.event,
        entry.reason === undefined ? "" : `: ${entry.reason}`),
      element("span", { class: "when" },
        moment(entry.time),
        before === null ? "" : ` · ${duration(before)} later`,
        index > 1 ? ` · ${duration(entry.time - begin)} in all` : ""));
  });
}

const interfaces = { h2: "HTTP/2", binary: "the binary API", channels: "the management of broadcast channels", management: "the console or the management API, without a provider" };

function facts(row) {
  const request = row.request ?? {};
  const known = [
    ["App", row.topic], ["Device", row.device], ["Device token", row.token], ["Broadcast channel", row.channel], ["Identifier", row.id],
    ["Environment", request.environment], ["Team", request.team], ["Key", request.keyID],
    ["Certificate", request.certificate],
    ["Came by", interfaces[request.protocol] === undefined ? "" : `${interfaces[request.protocol]}${request.protocol === "management" ? "" : `, connection ${request.connection}`}`],
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

/** Copies text, and says so on the button. Where the browser does not allow it, the text is shown to be copied by hand. */
export async function copy(text, button, place = button.parentElement) {
  try {
    await navigator.clipboard.writeText(text);
    const label = button.textContent;
    button.textContent = "Copied";
    announce("Copied.");
    setTimeout(() => { if (button.textContent === "Copied") button.textContent = label; }, 1500);
  } catch {
    place.querySelector(".by-hand")?.remove();
    place.append(element("pre", { class: "by-hand", tabindex: 0 }, text));
  }
}

async function sendAgain(request, button, result) {
  button.disabled = true;
  try {
    const sent = await json("POST", "/v1/notifications", message(request));
    const text = sent.status === 200 ? "Sent again." : `Refused: ${sent.status} ${sent.reason}.`;
    result.replaceChildren(text, " ", element("code", {}, sent.apnsID));
    announce(text);
    const entries = await settled(sent.apnsID);
    if (entries.length > 0) result.append(element("ol", { class: "timeline" }, ...timeline(entries)));
  } catch (error) {
    result.replaceChildren(error.message);
  } finally {
    button.disabled = false;
  }
}

/** The life of a notification, once the delivery log has something of it, and its end if that is known. */
export async function settled(id, outcome = "") {
  let entries = [];
  for (let attempt = 0; attempt < 5; attempt += 1) {
    entries = await lines(`/v1/log?id=${encodeURIComponent(id)}`);
    if (!isBehind(entries, outcome)) return entries;
    await new Promise((resolve) => { setTimeout(resolve, LOG_DELAY); });
  }
  return entries;
}

/** Whether the delivery log is still to be written. */
function isBehind(entries, outcome) {
  return entries.length === 0 || (outcome === "delivered" && !entries.some((entry) => entry.event === "acknowledged"));
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
