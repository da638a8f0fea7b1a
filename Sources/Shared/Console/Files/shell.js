// The frame of a console: shows the page that the address names, and says how to sign in.

import { json } from "./api.js";
import { element, place } from "./dom.js";

/**
 * A page of a console.
 * @typedef {object} Page
 * @property {string} title
 * @property {string} [section] the page of the navigation that it belongs to, if it has no link there itself
 * @property {HTMLElement} element
 * @property {(query: string, item: string, home: any) => unknown} [open] called with the query, the item that the address
 *   names, and the console's first page
 * @property {() => void} [close]
 * @property {() => void} [change] draws what has changed
 * @property {(before: Page) => void} [focus]
 */

/** Tells the other tabs of this browser that somebody has signed in. */
const CHANNEL = "carillon-signed-in";

export class Shell {
  #home;
  #command;
  #prefix;
  /** @type {Record<string, () => Page>} */
  #makers = {};
  /**
   * Each page is made when it is first shown.
   * @type {Map<string, Page>}
   */
  #pages = new Map();
  /** @type {Page | null} */
  #shown = null;
  /** Whether the address was that of a sign-in link. */
  #isSignIn = location.pathname === "/console/sign-in";
  #main = place("main");
  #nav = place("nav");
  #signOut = place("sign-out");
  #isDue = false;

  /**
   * @param {object} console
   * @param {string} console.home the name of the page that is shown if the address names none
   * @param {string} console.command the command that prints a link to sign in
   * @param {() => string} [console.prefix] returns what precedes the name of the page in the window's title
   */
  constructor({ home, command, prefix = () => "" }) {
    this.#home = home;
    this.#command = command;
    this.#prefix = prefix;
    // The sign-in link works only once, so do not keep it in the browser's history.
    if (this.#isSignIn) history.replaceState(null, "", "/console");
    this.#signOut.addEventListener("click", async () => {
      await json("DELETE", "/v1/console/session").catch(() => {});
      // Load the page again, so that nothing from the session stays in memory. The other tabs notice at their next request.
      location.replace("/console");
    });
  }

  /**
   * Shows the first page, after the browser was found to be signed in.
   * @param {Record<string, () => Page>} makers functions that make the pages, by the first part of the fragment
   */
  begin(makers) {
    this.#makers = makers;
    this.#signOut.hidden = false;
    this.#nav.hidden = false;
    addEventListener("hashchange", () => this.#route());
    document.addEventListener("visibilitychange", () => this.showTitle());
    const channel = new BroadcastChannel(CHANNEL);
    channel.postMessage("hello");
    channel.close();
    this.#route();
  }

  /**
   * Changes the address, and shows its page. It replaces the history's entry, so that not each letter typed makes a new one.
   * @param {string} address
   */
  go(address) {
    history.replaceState(null, "", address);
    this.#route();
  }

  /** Draws the changes of the shown page, at most once for each frame of the screen. */
  change(before = () => {}) {
    // Not with the frame: a page out of sight has none, and one in sight has to know what was seen.
    this.showTitle();
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      before();
      this.#shown?.change?.();
    });
  }

  showTitle() {
    if (this.#shown === null) return;
    const title = `${this.#prefix()}${this.#shown.title} · Carillon`;
    if (document.title !== title) document.title = title;
  }

  /**
   * Shows an error instead of the page: how to sign in, or that the service does not answer.
   * @param {import("./api.js").APIError} error
   */
  fail(error) {
    this.#signOut.hidden = true;
    this.#nav.hidden = true;
    this.#shown?.close?.();
    this.#shown = null;
    // Whoever signs in again in another tab is signed in here as well.
    new BroadcastChannel(CHANNEL).onmessage = () => location.reload();
    const isSignedOut = error.status === 401 || error.status === 403;
    const text = !isSignedOut ? error.message
      : this.#isSignIn ? "This link was used already, or is older than five minutes. Make a new one on the machine where the service runs:"
      : "On the machine where the service runs, make a link and open it in this browser:";
    this.#main.replaceChildren(element("section", { class: "card sign-in" },
      element("h1", {}, isSignedOut ? "Sign in" : "The service does not answer"),
      element("p", {}, text),
      isSignedOut ? element("pre", {}, this.#command)
        : element("button", { type: "button", onclick: () => location.reload() }, "Try again"),
      isSignedOut ? element("p", { class: "hint" }, "The link works once, within five minutes.") : null));
  }

  /** @param {string} name */
  #page(name) {
    const page = this.#pages.get(name) ?? this.#makers[name]();
    this.#pages.set(name, page);
    return page;
  }

  /** Shows the page that the fragment names. */
  #route() {
    const [path, query = ""] = location.hash.split("?", 2);
    const [, wanted = "", ...rest] = path.split("/");
    const name = Object.hasOwn(this.#makers, wanted) ? wanted : this.#home;
    const next = this.#page(name);
    // The name of the item may contain a slash, so join all remaining parts.
    let item = rest.join("/");
    try { item = decodeURIComponent(item); } catch { /* Keep it undecoded; the page then says that there is no such item. */ }
    const isOther = this.#shown !== next;
    const before = this.#shown;
    if (isOther) before?.close?.();
    this.#shown = next;
    if (isOther) this.#main.replaceChildren(next.element);
    next.open?.(query, item, this.#page(this.#home));
    this.showTitle();
    this.#mark(next.section ?? name);
    // Do not move the focus when the first page is shown.
    if (isOther && before !== null) next.focus?.(before);
  }

  /** @param {string} name */
  #mark(name) {
    for (const link of this.#nav.querySelectorAll("a")) {
      if (link.hash === `#/${name}`) {
        link.setAttribute("aria-current", "page");
        link.scrollIntoView({ block: "nearest", inline: "nearest" });
      } else link.removeAttribute("aria-current");
    }
  }
}
