// The page "Grants": a table of what self-hosted instances may send to the apps, what they sent, and how it was answered.

import { json, list } from "./api.js";
import { ask } from "./dialog.js";
import { element, empty, field, moment } from "./dom.js";
import { boundsFields, limits, refused, state } from "./grant.js";
import { cell, List, setText } from "./list.js";

export class Grants {
  title = "Grants";
  element;
  #count = element("p", { class: "count" });
  /** @type {API.Grant[]} */
  #grants = [];
  #isLoaded = false;
  #problem = element("p", { class: "notice", role: "alert", hidden: true });
  #empty = element("div", { hidden: true });
  #search = element("input", { type: "search", name: "search", placeholder: "Name, ID, app, key ID", autocomplete: "off", spellcheck: "false" });
  #which = element("select", { name: "which" }, ...Object.entries(filters).map(([value, { label }]) => element("option", { value }, label)));
  #sort = element("select", { name: "sort" }, ...Object.entries(orders).map(([value, { label }]) => element("option", { value }, label)));
  #list = new List({
    label: "Grants", heads: ["Instance", "App", "Limits", "Handles", "Today", "Refused", "State"], className: "grants",
    href: (row) => `#/grant/${row.key}`, make, update,
  });

  constructor() {
    this.element = element("section", { class: "page", "aria-labelledby": "grants-title" },
      element("div", { class: "heading" },
        element("h1", { id: "grants-title", tabindex: -1 }, "Grants"), this.#count,
        element("div", { class: "push actions" },
          element("button", { type: "button", onclick: () => this.#load() }, "Refresh"),
          element("button", { type: "button", class: "primary", onclick: () => this.#invite() }, "Invite an instance"))),
      element("form", { class: "filter", role: "search", "aria-label": "Filter", onsubmit: (event) => event.preventDefault(), oninput: () => this.#show() },
        element("div", { class: "fields" }, field("Search", this.#search, "wide"), field("Show", this.#which), field("Sort by", this.#sort))),
      this.#problem, this.#list.element, this.#empty);
  }

  open() { this.#load(); }

  /** @param {import("./shell.js").Page} before */
  focus(before) {
    if (before.section === "grants") this.#list.focus();
    else this.element.querySelector("h1")?.focus();
  }

  async #load() {
    try {
      this.#grants = await list("/v1/grants");
      this.#isLoaded = true;
      this.#problem.hidden = true;
    } catch (error) {
      this.#problem.textContent = error.message;
      this.#problem.hidden = false;
    }
    this.#show();
  }

  #show() {
    const text = this.#search.value.trim().toLowerCase();
    const { isWanted } = filters[this.#which.value];
    const { compare } = orders[this.#sort.value];
    const rows = this.#grants.filter((grant) => isWanted(grant) && (text === "" || searched(grant).includes(text)))
      // Those that can send come first.
      .sort((a, b) => (a.revoked ?? 0) - (b.revoked ?? 0) || compare(a, b) || (a.grant < b.grant ? -1 : 1))
      .map((grant) => ({ key: grant.grant, grant }));
    this.#list.show(rows);
    const all = this.#grants.length.toLocaleString();
    this.#count.textContent = rows.length === this.#grants.length ? all : `${rows.length.toLocaleString()} of ${all}`;
    const isEmpty = rows.length === 0 && this.#isLoaded;
    this.#list.element.hidden = isEmpty;
    this.#empty.hidden = !isEmpty;
    if (!isEmpty) return;
    this.#empty.replaceChildren(this.#grants.length === 0
      ? empty("No grant yet", "A grant lets a self-hosted instance send to your app, without your key and without device tokens. Invite the first instance.")
      : empty("No grant matches", "Search for something else, or show all grants."));
  }

  #invite() {
    const app = element("select", { name: "bundleID", required: true });
    // Not with the grants: a thousand of them take longer.
    list("/v1/apps").then((apps) => app.append(...apps.map((each) => element("option", { value: each.bundleID }, each.bundleID))), () => {});
    const name = element("input", { name: "name", required: true, autocomplete: "off", placeholder: "chat.example.org" });
    const bounds = boundsFields({});
    ask({
      title: "Invite an instance", label: "Make the code",
      content: [field("App", app), field("Name of the instance", name), ...bounds.content],
      perform: async () => {
        const body = { bundleID: app.value, name: name.value.trim(), ...bounds.read() };
        const made = await json("POST", "/v1/grant-invitations", body);
        ask({
          title: "The code of the invitation", label: "Close", isOnlyDone: true, perform: async () => {},
          content: [
            element("p", {}, element("code", {}, made.code)),
            element("p", {}, `Give it to ${body.name}. The instance makes its grant with it, once, until `, moment(made.expires), ". The service does not show the code again."),
          ],
        });
      },
    });
  }
}

/** @type {Record<string, { label: string, isWanted: (grant: API.Grant) => boolean }>} */
const filters = {
  all: { label: "All grants", isWanted: () => true },
  active: { label: "Active", isWanted: (grant) => grant.revoked === undefined && !grant.suspended },
  suspended: { label: "Suspended", isWanted: (grant) => grant.revoked === undefined && grant.suspended },
  revoked: { label: "Revoked", isWanted: (grant) => grant.revoked !== undefined },
};

/** @type {Record<string, { label: string, compare: (a: API.Grant, b: API.Grant) => number }>} */
const orders = {
  name: { label: "Name", compare: (a, b) => a.name.localeCompare(b.name) },
  made: { label: "Newest", compare: (a, b) => b.made - a.made },
  today: { label: "Sent today", compare: (a, b) => b.today - a.today },
  handles: { label: "Handles", compare: (a, b) => b.handles - a.handles },
  refused: { label: "Refused", compare: (a, b) => refused(b) - refused(a) },
};

/** @type {WeakMap<API.Grant, string>} */
const texts = new WeakMap();

/**
 * The text that the search looks in, in lower case.
 * @param {API.Grant} grant
 */
function searched(grant) {
  const known = texts.get(grant);
  if (known !== undefined) return known;
  const text = [grant.name, grant.grant, grant.bundleID, grant.teamID, ...grant.keys.map((key) => key.keyID)].join("\n").toLowerCase();
  texts.set(grant, text);
  return text;
}

function make() {
  return [
    cell("title", element("a", {})), cell("app"), cell("bounds"), cell("number handles"), cell("number today"), cell("number refused"),
    cell("outcome", element("span", { class: "badge" })),
  ];
}

/**
 * @param {HTMLElement} shown
 * @param {{ key: string, grant: API.Grant }} row
 */
function update(shown, { grant }) {
  setText(shown, ".title a", grant.name, `${grant.name} (${grant.grant})`);
  setText(shown, ".app", grant.bundleID);
  setText(shown, ".bounds", limits(grant));
  setText(shown, ".handles", `${grant.handles.toLocaleString()} of ${(grant.maximumHandles ?? 0).toLocaleString()}`);
  setText(shown, ".today", grant.today.toLocaleString());
  setText(shown, ".refused", refused(grant).toLocaleString());
  setText(shown, ".badge", state(grant));
  shown.dataset.outcome = state(grant) === "Active" ? "" : "rejected";
}
