// The page "Audiences": the saved audiences of an app, how many recipients each has now, and what it selects.

import { json, none } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { element, empty, field, section } from "./dom.js";
import { AppPage, failure, items, number, when } from "./parts.js";

/** @typedef {import("./shell.js").Shell} Shell */

export class Audiences extends AppPage {
  title = "Audiences";
  #turn = 0;

  /** @param {Shell} shell */
  constructor(shell) { super(shell, "Audiences", "New audience"); }

  async load() {
    this.#turn += 1;
    const turn = this.#turn;
    try {
      const audiences = await items(`/v1/audiences?${this.query}`);
      if (turn !== this.#turn) return;
      const cards = audiences.map((audience) => this.#card(audience));
      this.list.replaceChildren(...cards.length === 0
        ? [empty("No saved audience yet", "Give conditions that you use again a name, such as “beta”. Messages and your backend then name the audience.")]
        : cards.map((card) => card.element));
      // One after the other: counting reads the whole app.
      for (const card of cards) {
        if (turn !== this.#turn) return;
        await card.count();
      }
    } catch (error) {
      if (turn === this.#turn) this.list.replaceChildren(failure(this.shell, error, () => this.load()));
    }
  }

  /** @param {API.SavedAudience} savedAudience */
  #card({ name, audience, bundleID, changedAt }) {
    const path = `/v1/audiences/${encodeURIComponent(name)}?${this.query}`;
    const count = element("p", { class: "count" }, "Counting…");
    return {
      element: section(name, count,
        element("dl", {}, ...Object.entries(audience).flatMap(([key, value]) => [element("dt", {}, labels[key] ?? key), element("dd", {}, text(value))]),
          element("dt", {}, "Changed"), element("dd", {}, when(changedAt))),
        element("div", { class: "actions" },
          element("a", { class: "button", href: `#/compose?${new URLSearchParams({ app: bundleID, saved: name })}`, "aria-label": `New message to ${name}` }, "New message"),
          element("button", { type: "button", "aria-label": `Change ${name}`, onclick: () => this.ask({ name, audience }) }, "Change"),
          element("button", { type: "button", class: "danger", "aria-label": `Delete ${name}`, onclick: () => this.#remove(name, path) }, "Delete"))),
      count: async () => {
        const { recipients } = await json("GET", path);
        count.textContent = `${number(recipients)} ${recipients === 1 ? "installation" : "installations"} now`;
      },
    };
  }

  /**
   * Asks for a new audience, or for the changes of one. Conditions that the form does not have are kept.
   * @param {Pick<API.SavedAudience, "name" | "audience"> | null} known
   */
  ask(known = null) {
    const { everybody, ...audience } = known?.audience ?? {};
    /**
     * @param {string} name
     * @param {string | undefined} value
     * @param {Attributes} attributes
     */
    const input = (name, value, attributes) => element("input", { name, autocomplete: "off", spellcheck: "false", value: value ?? null, ...attributes });
    const name = input("name", known?.name, { required: true, maxlength: 64, pattern: "[A-Za-z0-9._\\-]+", title: "Letters, digits and - _ .", disabled: known !== null, placeholder: "beta" });
    const tags = input("saved-tags", audience.tags, { placeholder: "(news && sv) && !muted" });
    const where = input("saved-where", audience.where, { placeholder: "appVersion >= 2.1 and not (language = sv or points > 5)" });
    const language = input("saved-language", audience.language, { placeholder: "sv" });
    const isList = audience.users === undefined || Array.isArray(audience.users);
    const users = element("textarea", { name: "saved-users", rows: 3, spellcheck: "false", disabled: !isList });
    users.value = isList ? (audience.users ?? []).join("\n") : "Each user has values of its own. Change them with carillon provider audience put.";
    const environment = element("select", { name: "saved-environment" }, ...[["", "Both"], ["production", "Production"], ["development", "Development"]]
      .map(([value, label]) => element("option", { value, selected: value === audience.environment }, label)));
    const conditions = () => {
      /** @type {Record<string, any>} */
      const wanted = { ...audience, tags: tags.value.trim(), where: where.value.trim(), language: language.value.trim(), environment: environment.value };
      if (isList) wanted.users = users.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
      const document = Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== "" && value?.length !== 0));
      return Object.keys(document).length === 0 ? { everybody: true } : document;
    };
    const count = element("p", { class: "count", role: "status" });
    const counting = element("button", { type: "button", onclick: async () => {
      count.textContent = "Counting…";
      try {
        const { recipients } = await json("POST", "/v1/messages", { bundleID: this.apps.value, dryRun: true, audience: conditions(), payload: { aps: { alert: "x" } } });
        count.textContent = `${number(recipients)} ${recipients === 1 ? "installation" : "installations"} now`;
      } catch (error) {
        count.textContent = error.message;
      }
    } }, "Count");
    ask({
      title: known === null ? `New audience of ${this.apps.value}` : `Change ${known.name}`, label: "Save",
      content: [field("Name", name), field("Tags", tags), field("Expression", where), field("Language", language), field("Users, one on each line", users), field("Environment", environment),
        element("p", { class: "hint" }, "A recipient has to meet all conditions that you fill in. Without any, the audience is everybody."),
        element("div", { class: "actions" }, counting), count],
      perform: async () => {
        await json("PUT", `/v1/audiences/${encodeURIComponent(name.value.trim())}`, { bundleID: this.apps.value, ...conditions() });
        this.load();
      },
    });
  }

  /**
   * @param {string} name
   * @param {string} path
   */
  #remove(name, path) {
    confirm(`Delete the audience ${name}?`, ["Requests that name it are refused from now on.", "Messages that were sent or scheduled with it are not changed."], "Delete it", async () => {
      await none("DELETE", path);
      await this.load();
    });
  }
}

/** @type {Record<string, string>} */
const labels = { everybody: "Everybody", tags: "Tags", where: "Expression", language: "Language", users: "Users", installations: "Installations", environment: "Environment" };

/** How many names a card shows. */
const NAMES = 20;

/** @param {unknown} value */
function text(value) {
  if (value === true) return "Yes";
  if (typeof value === "string") return element("code", {}, value);
  const names = Array.isArray(value) ? value : Object.keys(value ?? {});
  return names.length <= NAMES ? names.join(", ") : `${names.slice(0, NAMES).join(", ")} and ${number(names.length - NAMES)} more`;
}
