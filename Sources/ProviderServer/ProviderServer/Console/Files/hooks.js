// The page "Hooks": the addresses that receive an app's events, and what was sent to them.

import { json, none } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { element, empty, field, section } from "./dom.js";
import { AppPage, failure, items, Poll, secret, when } from "./parts.js";

/** @typedef {import("./shell.js").Shell} Shell */

/** How often the logs are read, in milliseconds. */
const PACE = 3000;
/** How many events of a hook are shown. */
const SHOWN = 20;

/** @type {Record<string, string>} */
const kinds = { delivered: "good", waiting: "wait", "given up": "bad" };

export class Hooks extends AppPage {
  title = "Hooks";
  #shown = "";
  #poll = new Poll((isCurrent) => this.#load(isCurrent));

  /** @param {Shell} shell */
  constructor(shell) { super(shell, "Hooks", "New hook"); }

  load() { this.#poll.start(); }

  close() { this.#poll.stop(); }

  /** @param {() => boolean} isCurrent */
  async #load(isCurrent) {
    try {
      const hooks = await items(`/v1/hooks?${this.query}`);
      const logs = await Promise.all(hooks.map((hook) => items(`/v1/hooks/${hook.id}/deliveries?${this.query}&limit=${SHOWN}`)));
      // Draw only changes, and give the focus back to the button that a new one replaces.
      const focused = this.list.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : null;
      const text = JSON.stringify([hooks, logs]);
      if (!isCurrent() || text === this.#shown) return PACE;
      this.#shown = text;
      this.list.replaceChildren(...hooks.length === 0
        ? [empty("No hook yet", "A hook is an address of yours that receives events: installations that ended, messages that are finished, and failures.")]
        : hooks.map((hook, index) => this.#card(hook, logs[index])));
      if (focused !== null) [...this.list.querySelectorAll("button")].find((button) => button.getAttribute("aria-label") === focused)?.focus();
    } catch (error) {
      this.#shown = "";
      if (isCurrent()) this.list.replaceChildren(failure(this.shell, error, () => this.#poll.start()));
    }
    return PACE;
  }

  /**
   * @param {API.Hook} hook
   * @param {API.Delivery[]} log
   */
  #card(hook, log) {
    return section(hook.url,
      log.length === 0 ? element("p", { class: "hint" }, "No event was sent to it yet.")
        : element("table", { class: "log", "aria-label": `Events for ${hook.url}` }, element("thead", {}, element("tr", {}, ...["Event", "Result"].map((name) => element("th", { scope: "col" }, name)))),
          element("tbody", {}, ...log.map(row))),
      element("div", { class: "actions" }, element("button", { type: "button", class: "danger", "aria-label": `Delete ${hook.url}`, onclick: () => this.#remove(hook) }, "Delete")));
  }

  ask() {
    const url = element("input", { name: "url", type: "url", required: true, autocomplete: "off", placeholder: "https://example.com/events" });
    ask({
      title: `New hook of ${this.apps.value}`, label: "Add it", content: [field("Address that receives events", url)],
      perform: async () => {
        const made = await json("POST", "/v1/hooks", { bundleID: this.apps.value, url: url.value.trim() });
        this.#poll.start();
        ask({
          title: "The secret of the hook", label: "Done", isOnlyDone: true, perform: async () => {},
          content: [element("p", {}, "The receiver checks the events' signatures with it. It is shown now, and never again."), secret(made.secret ?? "")],
        });
      },
    });
  }

  /** @param {API.Hook} hook */
  #remove(hook) {
    confirm("Delete the hook?", [`${hook.url} receives no more events.`, "Events that wait for another attempt are dropped, and the log is deleted."], "Delete it", async () => {
      await none("DELETE", `/v1/hooks/${hook.id}?${this.query}`);
      this.#poll.start();
    });
  }
}

/** @param {API.Delivery} event */
function row(event) {
  const attempts = event.attempts === 1 ? "1 attempt" : `${event.attempts.toLocaleString()} attempts`;
  const why = event.cause ?? (event.status === undefined ? "" : `Status ${event.status}`);
  return element("tr", {},
    element("td", {}, element("code", {}, event.type), element("p", { class: "hint", title: event.id }, when(event.createdAt))),
    element("td", {}, element("span", { class: "badge", "data-kind": kinds[event.state] ?? null }, event.state),
      element("p", { class: "hint" }, [attempts, why].filter((text) => text !== "").join(", "), ...event.nextAttemptAt === undefined ? [] : [", again at ", when(event.nextAttemptAt)])));
}
