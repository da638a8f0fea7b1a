// What several pages of the provider server's console use.

import { json } from "./api.js";
import { element, empty, field, moment } from "./dom.js";

/** @typedef {import("./api.js").APIError} APIError */
/** @typedef {import("./shell.js").Shell} Shell */

/**
 * The words for the states of a message, and the colours of their badges.
 * @type {Record<string, { label: string, kind: string | null }>}
 */
export const states = {
  scheduled: { label: "Scheduled", kind: "wait" },
  running: { label: "Sending", kind: "busy" },
  paused: { label: "Paused", kind: "wait" },
  cancelled: { label: "Cancelled", kind: null },
  finished: { label: "Finished", kind: "good" },
};

/**
 * A time of the API, which is a text in ISO 8601.
 * @param {string} text
 */
export function when(text) {
  return moment(Date.parse(text));
}

/** @param {number} value */
export const number = (value) => value.toLocaleString();

/**
 * How many recipients have an outcome.
 * @param {API.Message} message
 */
export const done = (message) => message.accepted + message.failed;

/**
 * Whether anything about a message can still change.
 * @param {API.Message} message
 */
export const isOver = (message) => message.state === "finished" || message.state === "cancelled";

/**
 * Shows a badge with the state of a message.
 * @param {HTMLElement} badge
 * @param {API.Message} message
 */
export function showState(badge, message) {
  const { label, kind } = states[message.state] ?? { label: message.state, kind: null };
  if (badge.textContent !== label) badge.textContent = label;
  if (kind === null) delete badge.dataset.kind;
  else badge.dataset.kind = kind;
}

/**
 * Fills a progress bar. The number of recipients is null while it is not known.
 * @param {HTMLProgressElement} bar
 * @param {API.Message} message
 * @param {number | null} recipients
 */
export function showProgress(bar, message, recipients) {
  const text = recipients === null ? `${number(done(message))} sent` : `${number(done(message))} of ${number(recipients)} sent`;
  bar.setAttribute("aria-valuetext", text);
  bar.max = Math.max(1, recipients ?? 1);
  if (message.state === "finished") bar.value = bar.max;
  else if (recipients === null) bar.removeAttribute("value");
  else bar.value = Math.min(bar.max, done(message));
}

/**
 * The query of an address. URLSearchParams writes a space as +, which only forms of web pages mean.
 * @param {Record<string, string | number>} members
 */
export function query(members) {
  return Object.entries(members).map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

/**
 * A list of the API whose pages have `items` and `next`.
 * @template {string} P
 * @param {P} path
 * @returns {Promise<PageItem<P>[]>}
 */
export async function items(path) {
  const page = /** @type {{ items: PageItem<P>[] }} */ (await json("GET", path));
  return page.items;
}

/**
 * An error with a button that tries again. If the session has ended, the page says how to sign in.
 * @param {Shell} shell
 * @param {APIError} error
 * @param {() => unknown} again
 */
export function failure(shell, error, again) {
  if (error.status === 401) {
    shell.fail(error);
    return element("p");
  }
  return element("div", { class: "notice", role: "alert" }, element("p", {}, error.message),
    element("button", { type: "button", onclick: again }, "Try again"));
}

/** Asks for something again and again while its page is shown and in sight. */
export class Poll {
  #load;
  /** @type {Timer} */
  #timer = null;
  #turn = 0;

  /** @param {(isCurrent: () => boolean) => Promise<number | null>} load returns after how many milliseconds to ask again; null for never */
  constructor(load) { this.#load = load; }

  start() {
    this.stop();
    this.#run(this.#turn);
  }

  stop() {
    clearTimeout(this.#timer);
    this.#turn += 1;
  }

  /** @param {number} turn */
  async #run(turn) {
    const pause = document.hidden ? 1000 : await this.#load(() => turn === this.#turn);
    if (turn !== this.#turn || pause === null) return;
    this.#timer = setTimeout(() => this.#run(turn), pause);
  }
}

/**
 * The app that a person chose last. Other pages begin with it.
 * @type {string | null}
 */
let chosen = null;

/** A select for the app. */
export class AppChoice {
  select = element("select", { name: "app" });
  /** @type {API.App[]} */
  apps = [];
  /** @type {string | null} */
  #all;

  /**
   * @param {() => unknown} onChange
   * @param {string | null} [all] the text of the choice of all apps; null if one has to be chosen
   */
  constructor(onChange, all = null) {
    this.#all = all;
    this.select.addEventListener("change", () => {
      chosen = this.select.value;
      onChange();
    });
  }

  get value() { return this.select.value; }

  set value(bundleID) {
    if ([...this.select.options].some((option) => option.value === bundleID)) this.select.value = bundleID;
  }

  async load() {
    this.apps = await items("/v1/apps");
    const before = this.#all === null ? chosen : this.select.value;
    this.select.replaceChildren(...this.#all === null ? [] : [element("option", { value: "" }, this.#all)],
      ...this.apps.map((app) => element("option", { value: app.bundleID }, app.bundleID)));
    if (before !== null) this.value = before;
    return this.apps;
  }
}

/**
 * What a page shows that needs an app while there is none.
 * @param {typeof import("./dom.js").empty} empty
 */
export function noApp(empty) {
  return empty("No app yet", "An app has a key or a certificate with which the server sends, and keys for its backend and its devices.",
    element("a", { class: "button primary", href: "#/apps" }, "Add an app"));
}

/** A page with cards of one app, and a button for a new one. A page of this kind has `load` and `ask`. */
export class AppPage {
  element;
  shell;
  apps = new AppChoice(() => this.load());
  list = element("div", { class: "stack" });
  #choice = element("div", { class: "fields" }, field("App", this.apps.select));
  #add;

  /**
   * @param {Shell} shell
   * @param {string} title
   * @param {string} add
   */
  constructor(shell, title, add) {
    this.shell = shell;
    const id = `${title.toLowerCase()}-title`;
    this.#add = element("button", { type: "button", class: "primary", onclick: () => this.ask() }, add);
    this.element = element("section", { class: "page scroll", "aria-labelledby": id },
      element("div", { class: "heading" }, element("h1", { id, tabindex: -1 }, title), element("div", { class: "push actions" }, this.#add)),
      this.#choice, this.list);
  }

  async open() {
    try {
      const apps = await this.apps.load();
      this.#choice.hidden = this.#add.hidden = apps.length === 0;
      if (apps.length === 0) this.list.replaceChildren(noApp(empty));
      else await this.load();
    } catch (error) {
      this.list.replaceChildren(failure(this.shell, error, () => this.open()));
    }
  }

  /**
   * Shows the cards.
   * @abstract
   * @returns {unknown}
   */
  load() { return undefined; }

  /**
   * Asks for something new.
   * @abstract
   * @returns {unknown}
   */
  ask() { return undefined; }

  focus() { this.element.querySelector("h1")?.focus(); }

  get query() { return query({ bundleID: this.apps.value }); }
}

/**
 * A link that downloads a list in a format.
 * @param {string} label
 * @param {string} path
 * @param {Record<string, string | number>} members
 */
export function download(label, path, members) {
  return element("a", { class: "button", href: `${path}?${query(members)}`, download: "" }, label);
}

/**
 * A secret that is shown once, with a button that copies it.
 * @param {string} text
 */
export function secret(text) {
  const button = element("button", { type: "button", onclick: async () => {
    await navigator.clipboard.writeText(text).then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Select it and copy it"; });
  } }, "Copy");
  return element("div", { class: "actions" }, element("code", { class: "secret" }, text), button);
}
