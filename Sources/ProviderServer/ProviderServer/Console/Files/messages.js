// The page "Messages": all messages, the newest first, with their progress.

import { json } from "./api.js";
import { element, empty, field, inside, moment } from "./dom.js";
import { cell, List, setText } from "./list.js";
import { AppChoice, done, failure, isOver, noApp, number, Poll, query, showProgress, showState, when } from "./parts.js";

/** @typedef {import("./shell.js").Page} Page */
/** @typedef {import("./shell.js").Shell} Shell */

/** How often the list is read, in milliseconds: while something is being sent, and otherwise. */
const [FAST, SLOW] = [1500, 5000];
/** How many messages the list begins with, and how many it can have. */
const [FIRST, MOST] = [100, 1000];

/** @typedef {{ key: string, message: API.Message, recipients: number | null }} MessageRow */

export class Messages {
  title = "Messages";
  element;
  #shell;
  /** @type {AppChoice} */
  #apps = new AppChoice(() => this.#poll.start(), "All apps");
  #list;
  #count = element("p", { class: "count" });
  #problem = element("div");
  #empty = element("div", { hidden: true });
  #older = element("button", { type: "button", hidden: true, onclick: () => this.#more() }, "Show older messages");
  #limit = FIRST;
  /** @type {Poll} */
  #poll = new Poll((isCurrent) => this.#load(isCurrent));

  /** @param {Shell} shell */
  constructor(shell) {
    this.#shell = shell;
    this.#list = new List({
      label: "Messages, the newest first", heads: ["Created", "App", "Message", "Progress", "State"], className: "messages",
      href: (row) => `#/message/${encodeURIComponent(row.key)}`, make, update,
    });
    this.element = element("section", { class: "page", "aria-labelledby": "messages-title" },
      element("div", { class: "heading" }, element("h1", { id: "messages-title", tabindex: -1 }, "Messages"), this.#count,
        element("div", { class: "push actions" }, element("a", { class: "button primary", href: "#/compose" }, "New message"))),
      element("div", { class: "fields" }, field("App", this.#apps.select)),
      this.#problem, this.#list.element, this.#empty, element("div", { class: "actions" }, this.#older));
  }

  open() { this.#poll.start(); }

  close() { this.#poll.stop(); }

  /**
   * When a person comes back from a message's page, gives its row the focus again.
   * @param {Page} before
   */
  focus(before) {
    if (before.section === "messages") this.#list.focus();
    else this.element.querySelector("h1")?.focus();
  }

  #more() {
    this.#limit = Math.min(MOST, this.#limit * 4);
    this.#poll.start();
  }

  /** @param {() => boolean} isCurrent */
  async #load(isCurrent) {
    const app = this.#apps.value;
    let page;
    try {
      if (this.#apps.apps.length === 0) await this.#apps.load();
      page = await json("GET", `/v1/messages?${query({ limit: this.#limit, ...app === "" ? {} : { bundleID: app } })}`);
    } catch (error) {
      if (isCurrent()) this.#problem.replaceChildren(failure(this.#shell, error, () => this.#poll.start()));
      return SLOW;
    }
    if (!isCurrent()) return null;
    this.#problem.replaceChildren();
    this.#show(page);
    return page.items.some((message) => message.state === "running") ? FAST : SLOW;
  }

  /** @param {Answer<"GET", "/v1/messages">} page */
  #show(page) {
    const isEmpty = page.items.length === 0;
    this.#list.element.hidden = isEmpty;
    this.#empty.hidden = !isEmpty;
    this.#older.hidden = page.next === undefined || this.#limit >= MOST;
    this.#count.textContent = isEmpty ? "" : `${number(page.items.length)}${page.next === undefined ? "" : " newest"}`;
    if (isEmpty) {
      // Draw it once: a button that is replaced loses the focus.
      if (this.#empty.firstChild === null) this.#empty.replaceChildren(this.#apps.apps.length === 0 ? noApp(empty)
        : empty("No message yet", "Send the first one: to everybody, or to the users and tags that you choose. A dry run shows who would get it.",
          element("a", { class: "button primary", href: "#/compose" }, "New message")));
      return;
    }
    this.#empty.replaceChildren();
    this.#list.show(page.items.map((message) => ({ key: message.id, message, recipients: message.total ?? null })));
  }
}

/** @param {MessageRow} messageRow */
function make({ message }) {
  return [
    cell("time", when(message.createdAt)), cell("app", element("span", {}, message.bundleID)),
    cell("title", element("a", {})),
    cell("share", element("progress", { "aria-label": "Progress" }), element("span", { class: "numbers" })),
    cell("outcome", element("span", { class: "badge" })),
  ];
}

/**
 * @param {HTMLElement} shown
 * @param {MessageRow} messageRow
 */
function update(shown, { message, recipients }) {
  setText(shown, ".title a", message.title ?? `Message ${message.id.slice(0, 8)}`);
  showState(inside(shown, ".badge", HTMLElement), message);
  const bar = inside(shown, "progress", HTMLProgressElement);
  bar.hidden = message.state === "scheduled" || message.state === "cancelled";
  showProgress(bar, message, isOver(message) ? done(message) : recipients);
  const failed = message.failed === 0 ? "" : `, ${number(message.failed)} failed`;
  setText(shown, ".numbers", message.state === "scheduled" ? `Begins ${moment(Date.parse(message.startsAt)).textContent}`
    : `${number(message.accepted)} accepted${failed}`);
}
