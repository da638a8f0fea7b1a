// The page "Installations": looks up one by its identifier, or those of a user.

import { json, none } from "./api.js";
import { confirm } from "./dialog.js";
import { announce, element, empty, field, section } from "./dom.js";
import { stringify } from "./exactjson.js";
import { AppChoice, download, failure, items, noApp, query, when } from "./parts.js";

/** @typedef {import("./shell.js").Shell} Shell */

/** The characters of an identifier. */
const IDENTIFIER = /^[A-Za-z0-9._-]{1,64}$/;

export class Installations {
  title = "Installations";
  element;
  #shell;
  #apps = new AppChoice(() => this.#search());
  #text = element("input", { name: "find", type: "search", autocomplete: "off", spellcheck: "false", placeholder: "6A1C… or anna" });
  #form;
  #export = element("div", { class: "push actions" });
  #result = element("div", { class: "stack" });
  #turn = 0;

  /** @param {Shell} shell */
  constructor(shell) {
    this.#shell = shell;
    this.#form = element("form", { role: "search", "aria-label": "Look up", onsubmit: (event) => { event.preventDefault(); this.#search(); } },
      element("div", { class: "fields" }, field("App", this.#apps.select), field("Identifier or user", this.#text, "wide"),
        element("div", { class: "bottom" }, element("button", { type: "submit", class: "primary" }, "Look up"))));
    this.element = element("section", { class: "page scroll", "aria-labelledby": "installations-title" },
      element("div", { class: "heading" }, element("h1", { id: "installations-title", tabindex: -1 }, "Installations"), this.#export),
      this.#form, this.#result);
  }

  /** @param {string} query */
  async open(query) {
    const wanted = new URLSearchParams(query);
    let apps;
    try {
      apps = await this.#apps.load();
    } catch (error) {
      this.#result.replaceChildren(failure(this.#shell, error, () => this.open(query)));
      return;
    }
    this.#form.hidden = apps.length === 0;
    if (apps.length === 0) {
      this.#result.replaceChildren(noApp(empty));
      return;
    }
    this.#apps.value = wanted.get("app") ?? this.#apps.value;
    this.#text.value = wanted.get("find") ?? this.#text.value;
    await this.#show();
  }

  focus() { this.element.querySelector("h1")?.focus(); }

  /** What is searched for is a part of the address, so that it can be kept and passed on. */
  #search() {
    this.#shell.go(`#/installations?${new URLSearchParams({ app: this.#apps.value, find: this.#text.value.trim() })}`);
  }

  async #show() {
    this.#turn += 1;
    const turn = this.#turn;
    const bundleID = this.#apps.value;
    const text = this.#text.value.trim();
    this.#export.replaceChildren(download("CSV of all", "/v1/installations", { bundleID, format: "csv" }), download("NDJSON", "/v1/installations", { bundleID, format: "ndjson" }));
    if (text === "") {
      this.#result.replaceChildren(empty("Look one up", "Enter the identifier of an installation, or the name of a user as your backend knows it. You see the device's languages, tags and state."));
      return;
    }
    try {
      const [byID, byUser] = await Promise.all([this.#byID(bundleID, text), items(`/v1/installations?${query({ bundleID, user: text })}`)]);
      if (turn !== this.#turn) return;
      const found = [...byID, ...byUser.filter((each) => each.id !== text)];
      this.#result.replaceChildren(...found.length > 0 ? found.map((each) => this.#card(each))
        : [empty("Nothing found", `${bundleID} has no installation and no user with this name. Both are compared exactly, also capital letters.`)]);
      announce(found.length === 1 ? "1 installation" : `${found.length} installations`);
    } catch (error) {
      if (turn === this.#turn) this.#result.replaceChildren(failure(this.#shell, error, () => this.#show()));
    }
  }

  /**
   * @param {string} bundleID
   * @param {string} id
   */
  async #byID(bundleID, id) {
    if (!IDENTIFIER.test(id)) return [];
    try {
      return [await json("GET", `/v1/installations/${encodeURIComponent(id)}?${query({ bundleID })}`)];
    } catch (error) {
      if (error.status === 404) return [];
      throw error;
    }
  }

  /** @param {API.Installation} installation */
  #card(installation) {
    const { id, user, environment, languages, timeZone, tags, appTags, appVersion, values, appValues, deviceToken, tokens, activities, registeredAt, changedAt, ended } = installation;
    /** @param {unknown} value */
    const code = (value) => (value === undefined ? null : element("code", {}, stringify(value)));
    /** @param {Record<string, string> | undefined} tokens */
    const pairs = (tokens) => Object.entries(tokens ?? {}).map(([name, token]) => `${name}: ${token}`);
    /**
     * @param {string} name
     * @param {string[]} [words]
     */
    const list = (name, words = []) => [name, words.length === 0 ? null : element("ul", { class: "tags" }, ...words.map((word) => element("li", {}, word)))];
    const facts = [
      ["User", user], ["Environment", environment], list("Languages", languages), ["Time zone", timeZone], list("Tags", tags), list("Tags of the app", appTags ?? []), ["App version", appVersion],
      ["Values", code(values)], ["Values of the app", code(appValues)], ["Device token", element("code", {}, deviceToken)],
      list("Tokens of services", pairs(tokens)), list("Live Activities", pairs(activities)),
      ["Registered", registeredAt === undefined ? "" : when(registeredAt)], ["Changed", changedAt === undefined ? "" : when(changedAt)],
    ];
    const state = ended === undefined ? element("span", { class: "badge", "data-kind": "good" }, "Active") : element("span", { class: "badge", "data-kind": "bad" }, "Ended");
    const card = section(id,
      element("dl", {}, ...facts.filter(([, value]) => value !== null && value !== undefined && value !== "")
        .flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])),
      ended === undefined ? null : element("div", { class: "callout" }, element("strong", {}, ended.reason), element("p", {},
        "It ended at ", when(ended.at), ended.reason === "replaced" ? ", because another installation has registered its device token."
          : ". It receives nothing until the app registers a device token again.")),
      element("div", { class: "actions" },
        user === undefined ? null : element("a", { class: "button", href: `#/compose?${new URLSearchParams({ app: installation.bundleID, user })}` }, "Send to the user"),
        element("button", { type: "button", class: "danger", "aria-label": `Remove ${id}`, onclick: () => this.#remove(installation) }, "Remove")));
    card.querySelector("h2")?.append(" ", state);
    return card;
  }

  /** @param {API.Installation} installation */
  #remove({ id, bundleID }) {
    confirm(`Remove the installation ${id}?`, ["It gets no more messages, until the app registers it again at its next launch.", "Its outcomes stay in the lists of the messages."],
      "Remove it", async () => {
        await none("DELETE", `/v1/installations/${encodeURIComponent(id)}?${query({ bundleID })}`);
        await this.#show();
      });
  }
}
