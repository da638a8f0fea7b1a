// The page of one message: how far it has been sent, what became of each recipient, and what it says.

import { json } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { announce, element, empty, field, section } from "./dom.js";
import { stringify } from "./exactjson.js";
import { done, download, failure, isOver, number, Poll, query, showProgress, showState, states, when } from "./parts.js";
import { duration } from "./time.js";

/** @typedef {import("./api.js").APIError} APIError */
/** @typedef {import("./shell.js").Shell} Shell */

/** How often the message is read, in milliseconds: while it is being sent, and otherwise. */
const [FAST, SLOW] = [1000, 5000];
/** How many recipients are shown at once. */
const PAGE = 100;
const RATE = 100_000;

/**
 * The parts of the page that change.
 * @typedef {Record<"problem" | "badge" | "share" | "pace" | "cause" | "outcomes" | "result", HTMLElement>
 *   & Record<"pause" | "resume" | "rate" | "cancel", HTMLButtonElement> & { bar: HTMLProgressElement }} Parts
 */

export class Message {
  title = "Message";
  section = "messages";
  element = element("section", { class: "page detail", "aria-labelledby": "message-title" });
  #shell;
  #reasons;
  #id = "";
  /** @type {API.Message | null} */
  #message = null;
  /** @type {number | null} */
  #recipients = null;
  /** Whether the app says when the notification is opened, also long after it was sent. */
  #isOpenedLater = false;
  /**
   * The count and the time of the last reading, to compute how many are sent a second.
   * @type {{ message: API.Message, now: number, count: number, text?: string } | null}
   */
  #before = null;
  #poll = new Poll((isCurrent) => this.#load(isCurrent));
  /** @type {Parts | null} */
  #parts = null;
  /** @type {Recipients | null} */
  #list = null;

  /**
   * @param {Shell} shell
   * @param {Map<string, API.Reason>} reasons
   */
  constructor(shell, reasons) {
    this.#shell = shell;
    this.#reasons = reasons;
  }

  /**
   * @param {string} query
   * @param {string} id
   */
  open(query, id) {
    if (id !== this.#id) {
      this.#id = id;
      this.#message = this.#recipients = this.#before = this.#parts = null;
      this.element.replaceChildren(element("h1", { id: "message-title", tabindex: -1 }, "Message"));
    }
    this.#poll.start();
  }

  close() { this.#poll.stop(); }

  focus() { this.element.querySelector("h1")?.focus(); }

  get #path() { return `/v1/messages/${encodeURIComponent(this.#id)}`; }

  // MARK: Reading

  /** @param {() => boolean} isCurrent */
  async #load(isCurrent) {
    const isFirst = this.#parts === null;
    /** @type {API.Message} */
    let message;
    try {
      message = await json("GET", isFirst ? `${this.#path}?include=request` : this.#path);
    } catch (error) {
      if (isCurrent()) this.#fail(error);
      return this.#parts === null ? null : SLOW;
    }
    if (!isCurrent()) return null;
    const isNews = this.#message !== null && this.#message.state !== message.state;
    this.#message = message;
    if (isFirst) {
      this.#isOpenedLater = message.request?.countsOpened === true;
      this.#build(message);
    }
    this.#count(message);
    this.#show(message);
    if (isNews) announce(states[message.state]?.label ?? message.state);
    return isOver(message) && !this.#isOpenedLater ? null : message.state === "running" ? FAST : SLOW;
  }

  /**
   * The server counts the recipients when it begins to send.
   * @param {API.Message} message
   */
  #count(message) {
    this.#recipients = isOver(message) ? done(message) : message.total ?? null;
  }

  /** @param {APIError} error */
  #fail(error) {
    if (error.status === 404) {
      this.element.replaceChildren(back(), empty("There is no such message", "It may belong to an app that was deleted."),
        element("h1", { id: "message-title", tabindex: -1, class: "unseen" }, "Message"));
    } else if (this.#parts === null) {
      this.element.replaceChildren(back(), element("h1", { id: "message-title", tabindex: -1 }, "Message"),
        failure(this.#shell, error, () => this.#poll.start()));
    } else {
      this.#parts.problem.replaceChildren(failure(this.#shell, error, () => this.#poll.start()));
    }
  }

  // MARK: What is shown

  /** @param {API.Message} message */
  #build(message) {
    /**
     * @param {string} label
     * @param {() => unknown} perform
     */
    const button = (label, perform, className = "") => element("button", { type: "button", class: className, onclick: perform }, label);
    const parts = {
      problem: element("div"), badge: element("span", { class: "badge" }), bar: element("progress", { "aria-label": "Progress" }),
      share: element("p", { class: "progress-text" }), pace: element("p", { class: "hint" }), cause: element("div", { class: "callout", hidden: true }),
      pause: button("Pause", () => this.#change("pause")), resume: button("Resume", () => this.#change("resume"), "primary"),
      rate: button("Change the rate", () => this.#askForRate()), cancel: button("Cancel", () => this.#askToCancel(), "danger"),
      outcomes: element("div"), result: element("p", { class: "problem", role: "alert" }),
    };
    this.#parts = parts;
    this.title = message.title ?? "Message";
    this.#list = new Recipients(this.#shell, this.#path, message);
    this.element.replaceChildren(back(),
      element("div", { class: "heading" }, element("h1", { id: "message-title", tabindex: -1 }, this.title), parts.badge,
        element("div", { class: "push actions" },
          element("a", { class: "button", href: `#/compose?from=${encodeURIComponent(message.id)}` }, "Use as a draft"))),
      element("p", { class: "hint" }, element("code", {}, message.bundleID), " · created ", when(message.createdAt), " · ", element("code", {}, message.id)),
      parts.problem,
      section("Progress", parts.bar, parts.share, parts.pace, parts.cause,
        element("div", { class: "actions" }, parts.pause, parts.resume, parts.rate, parts.cancel), parts.result),
      section("Outcomes", parts.outcomes), this.#list.element, request(message.request ?? {}));
    this.#shell.showTitle();
  }

  /** @param {API.Message} message */
  #show(message) {
    if (this.#parts === null) return;
    const { badge, bar, share, pace, cause, problem } = this.#parts;
    problem.replaceChildren();
    showState(badge, message);
    const isScheduled = message.state === "scheduled";
    bar.hidden = isScheduled || message.state === "cancelled";
    showProgress(bar, message, this.#recipients);
    share.replaceChildren(...isScheduled ? ["Begins ", when(message.startsAt), "."] : [this.#share(message)]);
    pace.textContent = this.#pace(message);
    pace.hidden = pace.textContent === "";
    cause.hidden = message.cause === undefined || isOver(message);
    if (!cause.hidden) cause.replaceChildren(element("strong", {}, message.state === "paused" ? "Paused by the server" : "Waiting"), element("p", {}, message.cause));
    this.#showButtons(message);
    this.#showOutcomes(message);
    this.#list?.change(message);
  }

  /** @param {API.Message} message */
  #share(message) {
    const total = this.#recipients;
    const isWhole = total !== null && !isOver(message) && total > 0;
    const percent = isWhole ? ` (${Math.floor(Math.min(1, done(message) / total) * 100)} %)` : "";
    const of = total === null || isOver(message) ? "" : ` of ${number(total)}`;
    return `${number(done(message))}${of} recipients have an outcome${percent}: ${number(message.accepted)} accepted, ${number(message.failed)} failed.`;
  }

  /** @param {API.Message} message */
  #pace(message) {
    const now = performance.now();
    const before = this.#before;
    const limit = message.rate === undefined ? "No limit on the rate." : `At most ${number(message.rate)} a second.`;
    if (before === null || before.message !== message) this.#before = { message, now, count: done(message) };
    if (isOver(message)) return message.finishedAt === undefined ? "" : `Took ${duration(Date.parse(message.finishedAt) - Date.parse(message.startsAt))}.`;
    if (message.state !== "running" || before === null || before.message === message) return message.state === "running" ? before?.text ?? limit : limit;
    const speed = Math.max(0, done(message) - before.count) / ((now - before.now) / 1000);
    const left = this.#recipients === null || speed < 1 ? "" : ` About ${duration(Math.ceil((this.#recipients - done(message)) / speed) * 1000)} left.`;
    const text = `${number(Math.round(speed))} a second now. ${limit}${left}`;
    this.#before = { message, now, count: done(message), text };
    return text;
  }

  /** @param {API.Message} message */
  #showButtons(message) {
    if (this.#parts === null) return;
    const { pause, resume, rate, cancel } = this.#parts;
    const isActive = document.activeElement;
    pause.hidden = message.state !== "running" && message.state !== "scheduled";
    resume.hidden = message.state !== "paused";
    rate.hidden = cancel.hidden = isOver(message);
    // A button that vanishes takes the focus with it.
    if (isActive === pause && pause.hidden && !resume.hidden) resume.focus();
    else if (isActive === resume && resume.hidden && !pause.hidden) pause.focus();
  }

  /** @param {API.Message} message */
  #showOutcomes(message) {
    if (this.#parts === null) return;
    /** @type {[string | null, number, string, string][]} */
    const rows = [["", message.accepted, "accepted", "The service accepted the notification."],
    ];
    if (message.opened > 0) rows.push([null, message.opened, "Opened", "The app said that the user opened it."]);
    for (const [reason, count] of Object.entries(message.failedByReason).sort(([, a], [, b]) => b - a)) {
      rows.push([reason, count, reason, this.#reasons.get(reason)?.meaning ?? meanings[reason.split(":")[0]] ?? ""]);
    }
    const text = JSON.stringify(rows);
    if (this.#parts.outcomes.dataset.rows === text) return;
    this.#parts.outcomes.dataset.rows = text;
    this.#parts.outcomes.replaceChildren(element("table", { class: "outcomes", "aria-label": "Outcomes" },
      element("thead", {}, element("tr", {}, ...["Outcome", "Recipients"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows.map(([reason, count, name, meaning]) => element("tr", {},
        element("td", {}, reason === null ? name : element("button", { type: "button", class: "link", onclick: () => this.#list?.choose(reason === "" ? "accepted" : `reason ${reason}`) },
          reason === "" ? "Accepted" : name), element("p", { class: "hint" }, meaning)),
        element("td", {}, number(count)))))));
  }

  // MARK: Changing

  /** @param {"pause" | "resume"} change */
  async #change(change) {
    const result = this.#parts?.result ?? element("p");
    result.textContent = "";
    try {
      await json("POST", `${this.#path}/${change}`, {});
    } catch (error) {
      if (error.status === 401) this.#shell.fail(error);
      else result.textContent = error.message;
    }
    this.#poll.start();
  }

  #askToCancel() {
    const left = this.#recipients === null || this.#message === null ? null : Math.max(0, this.#recipients - done(this.#message));
    confirm("Cancel the message?", [
      left === null ? "Nothing more is sent." : `About ${number(left)} recipients will not get it.`,
      "It cannot be resumed. To stop for a while, pause it instead.",
    ], "Cancel the message", async () => {
      await json("POST", `${this.#path}/cancel`, {});
      this.#poll.start();
    });
  }

  #askForRate() {
    const rate = element("input", { name: "rate", type: "number", min: 1, max: RATE, value: this.#message?.rate ?? null, placeholder: "No limit" });
    ask({
      title: "Change the rate", label: "Change it", content: [field("Notifications a second; empty for no limit", rate)],
      perform: async () => {
        await json("PATCH", this.#path, { rate: rate.value === "" ? null : Number(rate.value) });
        this.#poll.start();
      },
    });
  }
}

/**
 * What the server's own reasons mean.
 * @type {Record<string, string>}
 */
const meanings = {
  NoDeviceToken: "The installation has no device token for the service that the message goes to.",
  MissingValue: "The recipient has no value for this name of the template.",
  badNotification: "With this recipient's values the notification breaks a rule, for example because it is too large.",
};

function back() { return element("a", { class: "back", href: "#/messages" }, "← Messages"); }

/**
 * What the sender asked for.
 * @param {Record<string, any>} request
 */
function request({ audience = {}, payload, texts, fallbackLanguage, values, bundleID, rate, ...headers }) {
  const facts = [["Audience", stringify(audience, 2)], ...Object.entries(headers).map(([name, value]) => [name, typeof value === "string" ? value : stringify(value)])];
  /**
   * @param {string} name
   * @param {unknown} value
   */
  const block = (name, value) => value === undefined ? [] : [element("h3", {}, name), element("pre", { tabindex: 0, "aria-label": name }, stringify(value, 2))];
  return section("Message", element("dl", {}, ...facts.flatMap(([name, text]) =>
    [element("dt", {}, name), element("dd", { class: "mono" }, text.length > 2000 ? `${text.slice(0, 2000)}…` : text)])),
  ...block("Payload", payload), ...block(fallbackLanguage === undefined ? "Texts" : `Texts, ${fallbackLanguage} for all other languages`, texts), ...block("Values", values));
}

/** The list of recipients with their outcomes, and a filter. */
class Recipients {
  element;
  #shell;
  #path;
  #filter = element("select", { name: "outcome", onchange: () => this.#load() });
  #rows = element("tbody");
  #table = element("table", { class: "recipients", "aria-label": "Recipients" }, element("thead", {}, element("tr", {},
    ...["Installation", "Outcome", "Time", "Opened"].map((name) => element("th", { scope: "col" }, name)))), this.#rows);
  #empty = element("p", { class: "hint" });
  #more = element("button", { type: "button", hidden: true, onclick: () => this.#load(this.#next) }, "Show more");
  #links = element("div", { class: "actions push" });
  /** @type {string | null} */
  #next = null;
  #count = 0;
  #turn = 0;
  /** @type {string | null} */
  #seen = null;
  #message;

  /**
   * @param {Shell} shell
   * @param {string} path
   * @param {API.Message} message
   */
  constructor(shell, path, message) {
    this.#shell = shell;
    this.#path = path;
    this.#message = message;
    this.element = section("Recipients", element("div", { class: "heading bottom-line" }, field("Outcome", this.#filter), this.#links),
      this.#table, this.#empty, element("div", { class: "actions" }, this.#more));
  }

  /**
   * The message has changed: shows its reasons, and its recipients as long as all of them fit on the first page.
   * @param {API.Message} message
   */
  change(message) {
    const wanted = ["", "accepted", "failed", ...Object.keys(message.failedByReason).sort().map((reason) => `reason ${reason}`)];
    const known = [...this.#filter.options].map((option) => option.value);
    if (wanted.join("\n") !== known.join("\n")) {
      const before = this.#filter.value;
      /** @type {Record<string, string>} */
      const labels = { "": "All", accepted: "Accepted", failed: "Failed" };
      this.#filter.replaceChildren(...wanted.map((value) => element("option", { value }, labels[value] ?? value.slice(7))));
      this.#filter.value = wanted.includes(before) ? before : "";
    }
    const seen = `${done(message)} ${message.opened}`;
    if (this.#seen === seen || (this.#seen !== null && this.#count >= PAGE)) return;
    this.#seen = seen;
    this.#load();
  }

  /** @param {string} value */
  choose(value) {
    this.#filter.value = value;
    this.#load();
    this.element.scrollIntoView({ block: "start" });
    this.#filter.focus({ preventScroll: true });
  }

  /** @returns {Record<string, string>} */
  get #query() {
    const { value } = this.#filter;
    return value === "" ? {} : value.startsWith("reason ") ? { reason: value.slice(7) } : { outcome: value };
  }

  /** @param {string | null} after */
  async #load(after = null) {
    this.#turn += 1;
    const turn = this.#turn;
    const path = `${this.#path}/outcomes`;
    this.#links.replaceChildren(download("CSV", path, { ...this.#query, format: "csv" }), download("NDJSON", path, { ...this.#query, format: "ndjson" }));
    /** @type {Answer<"GET", "/v1/messages/x/outcomes">} */
    let page;
    try {
      page = /** @type {typeof page} */ (await json("GET", `${path}?${query({ ...this.#query, limit: PAGE, ...after === null ? {} : { after } })}`));
    } catch (error) {
      if (turn === this.#turn) this.#empty.replaceChildren(failure(this.#shell, error, () => this.#load(after)));
      return;
    }
    if (turn !== this.#turn) return;
    const rows = page.items.map((item) => row(item, this.#message.bundleID));
    if (after === null) this.#rows.replaceChildren(...rows);
    else this.#rows.append(...rows);
    this.#count = this.#rows.children.length;
    this.#next = page.next ?? null;
    this.#more.hidden = this.#next === null;
    this.#table.hidden = this.#count === 0;
    this.#empty.textContent = this.#count > 0 ? "" : Object.keys(this.#query).length > 0 ? "No recipient has this outcome." : "No recipient has an outcome yet.";
    if (after !== null) announce(`${number(this.#count)} recipients`);
  }
}

/**
 * @param {API.Outcome} item
 * @param {string} bundleID
 */
function row(item, bundleID) {
  return element("tr", {},
    element("td", {}, item.installation === undefined ? element("span", { class: "hint" }, "Deleted since")
      : element("a", { href: `#/installations?${new URLSearchParams({ app: bundleID, find: item.installation })}` }, item.installation)),
    element("td", {}, element("span", { class: "badge", "data-kind": item.reason === undefined ? "good" : "bad" }, item.reason ?? "Accepted")),
    element("td", {}, when(item.at)), element("td", {}, item.openedAt === undefined ? "" : when(item.openedAt)));
}
