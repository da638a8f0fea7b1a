// The page "Notifications": everything that was sent, the newest first, and the filter above it.

import { json } from "./api.js";
import { confirm, counted } from "./dialog.js";
import { announce, element, moment } from "./dom.js";
import * as filters from "./filter.js";
import { cell, List, setText } from "./list.js";
import { outcomeOf, outcomes, short } from "./words.js";

/** @typedef {import("./names.js").DeviceNames} DeviceNames */
/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./shell.js").Page} Page */
/** @typedef {import("./model.js").Row} Row */

/** How many requests the journal keeps after it is switched on in the console. A service with --ephemeral keeps as many. */
export const KEEP = 10_000;

export class Notifications {
  title = "Notifications";
  element;
  #feed;
  #names;
  #filter = filters.read("");
  /** @type {Map<string, HTMLInputElement | HTMLSelectElement>} */
  #fields = new Map();
  #go;
  #list;
  #count = element("p", { class: "count" });
  #sampled = element("p", { class: "hint" });
  #notice = element("div", { class: "notice", hidden: true });
  #empty = element("div", { class: "empty", hidden: true });
  #more = element("details");
  #clear = element("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.#askToClear() }, "Clear");
  #showLog = element("button", { type: "button", class: "quiet", hidden: true, onclick: () => this.#feed.restart("log") }, "Delivery log");

  /**
   * @param {Feed} feed
   * @param {Map<string, API.Reason>} reasons
   * @param {DeviceNames} names
   * @param {(address: string) => void} go called with the address of another filter
   */
  constructor(feed, reasons, names, go) {
    this.#feed = feed;
    this.#names = names;
    this.#go = go;
    this.#list = new List({
      label: "Notifications, newest first", heads: ["Time", "App", "Device", "Title", "Outcome"], className: "notifications",
      href: (row) => `#/notification/${encodeURIComponent(row.key)}`, make, update: (shown, row) => update(shown, row, reasons, names),
    });
    this.element = element("section", { class: "page", "aria-labelledby": "list-title" },
      element("div", { class: "heading" }, element("h1", { id: "list-title" }, "Notifications"), this.#count, this.#sampled,
        element("div", { class: "push actions" }, this.#showLog, this.#clear)),
      this.#form([...reasons.keys()].sort()), this.#notice, this.#list.element, this.#empty);
  }

  /** The fragment of the address that shows the list with the present filter. */
  get address() { return filters.address(this.#filter); }

  /** @param {string} query */
  open(query) {
    const filter = filters.read(query);
    this.#filter = filter;
    for (const [name, field] of this.#fields) if (field.value !== filter[name]) field.value = filter[name];
    if (["status", "app", "device", "id", "connection"].some((name) => filter[name] !== "")) this.#more.open = true;
    this.change();
  }

  /**
   * When a person comes back from a notification's page, gives its row the focus again.
   * @param {Page} before
   */
  focus(before) {
    if (before.section === "notifications") this.#list.focus();
  }

  /**
   * The keys of the notifications above and below one in the list.
   * @param {string} key
   */
  neighbours(key) {
    const { rows } = this.#feed.model;
    const isWanted = filters.matcher(this.#filter, this.#names);
    const index = rows.findLastIndex((row) => row.key === key);
    if (index < 0) return { newer: undefined, older: undefined };
    return {
      newer: rows.find((row, each) => each > index && isWanted(row))?.key,
      older: rows.findLast((row, each) => each < index && isWanted(row))?.key,
    };
  }

  change() {
    const rows = this.#feed.model.rows;
    const shown = filters.isEmpty(this.#filter) ? rows.slice() : rows.filter(filters.matcher(this.#filter, this.#names));
    this.#list.show(shown.reverse());
    const all = rows.length.toLocaleString();
    this.#count.textContent = shown.length === rows.length ? all : `${shown.length.toLocaleString()} of ${all}`;
    const { leftOut } = this.#feed;
    this.#sampled.textContent = leftOut === 0 ? "" : `Too many to show all of them: ${leftOut.toLocaleString()} left out for now`;
    this.#showNotice();
    this.#showEmpty(shown.length === 0, rows.length === 0);
  }

  /** @param {string[]} reasons */
  #form(reasons) {
    /**
     * @param {string} name
     * @param {string} label
     * @param {HTMLInputElement | HTMLSelectElement} control
     * @param {string} [className]
     */
    const field = (name, label, control, className) => {
      control.setAttribute("name", name);
      this.#fields.set(name, control);
      return element("label", { class: className ?? null }, element("span", {}, label), control);
    };
    /** @param {string} hint */
    const input = (hint, type = "text") =>
      element("input", { type, placeholder: hint, autocomplete: "off", spellcheck: "false" });
    /** @param {string[][]} options */
    const select = (options) => element("select", {},
      element("option", { value: "" }, "All"), ...options.map(([value, label]) => element("option", { value }, label)));
    this.#more.append(element("summary", {}, "More filters"),
      element("div", { class: "fields" },
        field("app", "App", input("com.example.shop")), field("device", "Device or token", input("name or digits")),
        field("id", "Identifier", input("apns-id")),
        field("connection", "Connection", input("c12")),
        field("status", "Status", select(["200", "400", "403", "404", "405", "410", "413", "429", "500", "503"].map((status) => [status, status])))),
      element("p", { class: "hint", id: "search-hint" }, "A search finds what has all of the words. Quotation marks keep words together: \"two words\". A minus leaves out: -word."));
    return element("form", {
      class: "filter", role: "search", "aria-label": "Filter",
      onsubmit: (event) => event.preventDefault(),
      oninput: () => this.#read(),
      onchange: () => {
        this.#read();
        announce(`Shown: ${this.#count.textContent}`);
      },
    },
      element("div", { class: "fields" },
        field("text", "Search", this.#search(), "wide"),
        field("outcome", "Outcome", select(Object.entries(outcomes))),
        field("reason", "Reason", select(reasons.map((reason) => [reason, reason])))),
      this.#more);
  }

  #search() {
    const control = element("input", {
      type: "search", placeholder: "Text, app, token, identifier", autocomplete: "off", spellcheck: "false",
      "aria-describedby": "search-hint", "aria-keyshortcuts": "Control+K Meta+K" });
    addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || !control.isConnected) return;
      event.preventDefault();
      control.select();
    });
    return control;
  }

  #read() {
    this.#go(filters.address(Object.fromEntries([...this.#fields].map(([name, field]) => [name, field.value]))));
  }

  #showNotice() {
    const { source, isJournalOn } = this.#feed.state ?? { source: "journal", isJournalOn: false };
    const isEmpty = this.#feed.model.rows.length === 0;
    this.#clear.hidden = source !== "journal" || isEmpty;
    this.#showLog.hidden = source !== "journal" || this.#feed.state === null;
    this.#notice.hidden = source === "journal";
    const kind = `${source} ${isJournalOn}`;
    if (this.#notice.dataset.kind === kind) return;
    this.#notice.dataset.kind = kind;
    if (source === "log" && isJournalOn) {
      this.#notice.replaceChildren(
        element("p", {}, "This is what the delivery log says of the last 15 minutes, of all environments: no titles, no payloads."),
        element("button", { type: "button", onclick: () => this.#feed.restart("journal") }, "Show the journal"));
    } else if (source === "log") {
      this.#notice.replaceChildren(
        element("p", {}, "The journal is off. The list shows the delivery log of the last 15 minutes, which has no titles and no payloads."),
        element("button", { type: "button", onclick: () => this.#switchOn() }, "Switch the journal on"));
    } else {
      this.#notice.replaceChildren(
        element("p", {}, "This service serves production. The list shows the delivery log of the last 15 minutes, and never a payload."));
    }
  }

  async #switchOn() {
    try {
      await json("PUT", "/v1/journal", { keep: KEEP });
      announce("The journal is on.");
      this.#feed.restart();
    } catch (error) {
      this.#notice.append(element("p", { role: "alert" }, error.message));
    }
  }

  #askToClear() {
    confirm("Clear the list?", [
      `The journal forgets ${counted(this.#feed.model.rows.length, "notification")}, also for the tests and commands that use it.`,
      "The delivery log keeps what it has. What waits for a device is still delivered.",
    ], "Clear", async () => {
      await json("DELETE", "/v1/requests");
      this.#feed.restart();
    });
  }

  /**
   * @param {boolean} isEmpty
   * @param {boolean} isNothingThere
   */
  #showEmpty(isEmpty, isNothingThere) {
    const isProduction = this.#feed.state?.source === "production";
    const isGone = this.#feed.state?.live === false;
    const kind = !isEmpty || this.#feed.state === null ? "" : isNothingThere && isGone ? "gone" : !isNothingThere ? "no match" : isProduction ? "production" : "nothing";
    this.#empty.hidden = kind === "";
    this.#list.element.hidden = kind !== "";
    if (this.#empty.dataset.kind === kind) return;
    this.#empty.dataset.kind = kind;
    if (kind === "nothing") {
      this.#empty.replaceChildren(
        element("h2", {}, "Nothing was sent yet"),
        element("p", {}, "Point your provider at this service, or send something yourself. It appears here at once."),
        element("div", { class: "actions" }, element("a", { class: "button primary", href: "#/send" }, "Send a notification")),
        element("pre", {}, "carillon send --token TOKEN --topic com.example.shop --alert 'Hello'"));
    } else if (kind === "gone") {
      this.#empty.replaceChildren(
        element("h2", {}, "The service does not answer"),
        element("p", {}, "The console tries again by itself. What was sent meanwhile appears then."));
    } else if (kind === "production") {
      this.#empty.replaceChildren(
        element("h2", {}, "Nothing was sent lately"),
        element("p", {}, "Point your provider at this service. What it sends appears here at once."));
    } else if (kind === "no match") {
      this.#empty.replaceChildren(
        element("h2", {}, "No notification matches"),
        element("button", { type: "button", onclick: () => this.#go(filters.address(filters.read(""))) }, "Clear the filter"));
    }
  }
}

/** @param {Row} row */
function make(row) {
  return [
    cell("time", moment(row.time)), cell("app"), cell("device"), cell("title", element("a", {})),
    cell("outcome", element("span", { class: "badge" })),
  ];
}

/**
 * @param {HTMLElement} shown
 * @param {Row} row
 * @param {Map<string, API.Reason>} reasons
 * @param {DeviceNames} names
 */
function update(shown, row, reasons, names) {
  const device = row.device || row.token || row.channel || "";
  setText(shown, ".app", row.topic || "—");
  setText(shown, ".device", device === "" ? "—" : names.of(row.device) ?? short(device), device);
  setText(shown, ".title a", row.title ?? row.id);
  const known = reasons.get(row.reason ?? "");
  setText(shown, ".badge", row.reason ?? outcomeOf(row), known === undefined ? "" : `${known.meaning} What to do: ${known.advice}.`);
  shown.dataset.outcome = row.outcome;
}
