// The page "Apps": the apps, where the server sends for each of them, and their keys.

import { json } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { accountID, element, empty, field, section } from "./dom.js";
import { failure, items, secret } from "./parts.js";

/** @typedef {import("./shell.js").Shell} Shell */

export class Apps {
  title = "Apps";
  element;
  #shell;
  #list = element("div", { class: "stack" });

  /** @param {Shell} shell */
  constructor(shell) {
    this.#shell = shell;
    this.element = element("section", { class: "page scroll", "aria-labelledby": "apps-title" },
      element("div", { class: "heading" }, element("h1", { id: "apps-title", tabindex: -1 }, "Apps"),
        element("div", { class: "push actions" }, element("button", { type: "button", class: "primary", onclick: () => this.#add() }, "New app"))),
      this.#list);
  }

  open() { this.#load(); }

  focus() { this.element.querySelector("h1")?.focus(); }

  async #load() {
    try {
      const apps = await items("/v1/apps");
      this.#list.replaceChildren(...apps.length === 0
        ? [empty("No app yet", "Add your app with its signing key. With a certificate instead, use the command carillon provider app put.")]
        : apps.map((app) => this.#card(app)));
    } catch (error) {
      this.#list.replaceChildren(failure(this.#shell, error, () => this.#load()));
    }
  }

  /** @param {API.App} app */
  #card(app) {
    /**
     * @param {string} label
     * @param {() => unknown} perform
     */
    const button = (label, perform, className = "") => element("button", { type: "button", class: className, "aria-label": `${label}: ${app.bundleID}`, onclick: perform }, label);
    return section(app.bundleID,
      element("dl", {},
        element("dt", {}, "Team"), element("dd", {}, element("code", {}, app.teamID)),
        ...Object.entries(app.environments).sort().flatMap(([name, place]) => [
          element("dt", {}, name === "production" ? "Production" : "Development"),
          element("dd", {}, place.url, element("span", { class: "hint" }, place.keyID === undefined ? " with a certificate" : ` with the key ${place.keyID}`)),
        ]),
        element("dt", {}, "Users"), element("dd", {}, app.acceptsClaimedUsers ? "The app itself says who its user is" : "Only the backend says who the user is")),
      element("div", { class: "actions" },
        element("a", { class: "button", href: `#/compose?${new URLSearchParams({ app: app.bundleID })}` }, "New message"),
        button("New client key", () => this.#renew(app, "client")), button("New server key", () => this.#renew(app, "server")),
        button("Delete", () => this.#remove(app), "danger")));
  }

  /**
   * @param {API.App} app
   * @param {string} kind
   */
  #renew(app, kind) {
    confirm(`Replace the ${kind} key of ${app.bundleID}?`, [
      kind === "client" ? "Copies of the app with the old key can no longer register. They keep getting messages." : "The backend's requests with the old key are refused at once.",
      "The new key is shown once.",
    ], "Replace it", async () => {
      const made = await json("POST", `/v1/apps/${encodeURIComponent(app.bundleID)}/keys`, { key: kind });
      this.#showKeys(`The ${kind} key of ${app.bundleID}`, [[kind === "client" ? "Client key" : "Server key", made.key]]);
    });
  }

  /** @param {API.App} app */
  #remove(app) {
    confirm(`Delete the app ${app.bundleID}?`, [
      "All of its installations, messages, outcomes and hooks are deleted.", "Its keys are refused at once.", "It cannot be undone. Export the installations first.",
    ], "Delete the app", async () => {
      await json("DELETE", `/v1/apps/${encodeURIComponent(app.bundleID)}`);
      await this.#load();
    });
  }

  #add() {
    /**
     * @param {string} name
     * @param {Attributes} attributes
     */
    const input = (name, attributes) => element("input", { name, autocomplete: "off", spellcheck: "false", ...attributes });
    const code = { required: true, placeholder: "ABCDE12345", ...accountID };
    const [bundleID, teamID, keyID] = [input("bundleID", { required: true, placeholder: "com.example.shop" }), input("teamID", code), input("keyID", code)];
    const key = element("textarea", { name: "privateKey", rows: 4, required: true, spellcheck: "false", autocomplete: "off", class: "mono", placeholder: "-----BEGIN PRIVATE KEY-----" });
    const environment = element("select", { name: "environment" }, element("option", { value: "production" }, "Production"), element("option", { value: "development" }, "Development"));
    const url = input("url", { type: "url", placeholder: "Apple's service" });
    const authority = element("textarea", { name: "authority", rows: 2, spellcheck: "false", autocomplete: "off", class: "mono", placeholder: "Only for a service with an authority of its own" });
    ask({
      title: "New app", label: "Add it",
      content: [field("Bundle ID", bundleID), field("Team ID", teamID), field("Environment", environment), field("Key ID", keyID), field("Signing key, the text of the .p8 file", key),
        field("URL of the service", url), field("Its authority, PEM", authority)],
      perform: async () => {
        /** @type {{ key: object, url?: string, authority?: string }} */
        const place = { key: { keyID: keyID.value.trim(), privateKey: key.value.trim() } };
        if (url.value.trim() !== "") place.url = url.value.trim();
        if (authority.value.trim() !== "") place.authority = authority.value.trim();
        const known = await items("/v1/apps");
        // PUT would change an app that exists.
        if (known.some((app) => app.bundleID === bundleID.value.trim())) throw new Error(`${bundleID.value.trim()} exists already. Change it with carillon provider app put.`);
        const made = await json("PUT", `/v1/apps/${encodeURIComponent(bundleID.value.trim())}`, { teamID: teamID.value.trim(), environments: { [environment.value]: place } });
        await this.#load();
        this.#showKeys(`The keys of ${made.bundleID}`, [["Client key, for the app on devices", made.clientKey], ["Server key, for the backend", made.serverKey]]);
      },
    });
  }

  /**
   * @param {string} title
   * @param {[name: string, key: string | undefined][]} keys
   */
  #showKeys(title, keys) {
    ask({
      title, label: "Done", isOnlyDone: true, perform: async () => {},
      content: [element("p", {}, "They are shown now, and never again."), ...keys.flatMap(([name, key]) => [element("h3", {}, name), secret(key ?? "")])],
    });
  }
}
