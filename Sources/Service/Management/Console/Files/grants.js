// The page "Grants": what self-hosted instances may send to the apps, what they sent, and how it was answered.

import { json, list } from "./api.js";
import { ask, confirm, counted } from "./dialog.js";
import { element, empty, field, moment } from "./dom.js";

export class Grants {
  title = "Grants";
  element;
  #cards = element("div", { class: "stack" });
  #count = element("p", { class: "count" });
  #apps = [];

  constructor() {
    this.element = element("section", { class: "page scroll", "aria-labelledby": "grants-title" },
      element("div", { class: "heading" },
        element("h1", { id: "grants-title", tabindex: -1 }, "Grants"), this.#count,
        element("div", { class: "push actions" }, element("button", { type: "button", class: "primary", onclick: () => this.#invite() }, "Invite an instance"))),
      this.#cards);
  }

  open() { this.#load(); }

  focus() { this.element.querySelector("h1").focus(); }

  async #load() {
    let grants;
    try {
      [grants, this.#apps] = await Promise.all([list("/v1/grants"), list("/v1/apps")]);
    } catch (error) {
      this.#cards.replaceChildren(element("p", { class: "notice", role: "alert" }, error.message));
      return;
    }
    this.#count.textContent = counted(grants.length, "grant");
    // Those that can send come first.
    const ordered = grants.toSorted((a, b) => (a.revoked ?? 0) - (b.revoked ?? 0) || a.name.localeCompare(b.name));
    this.#cards.replaceChildren(...(ordered.length === 0
      ? [empty("No grant yet", "A grant lets a self-hosted instance send to your app, without your key and without device tokens. Invite the first instance.")]
      : ordered.map((grant) => this.#card(grant))));
  }

  #card(grant) {
    const id = `grant-${grant.grant}`;
    const button = (label, perform, className = "quiet") => element("button", { type: "button", class: className, onclick: perform, "aria-describedby": id }, label);
    const actions = grant.revoked !== undefined ? [] : [
      button(grant.suspended ? "Resume" : "Suspend", () => this.#suspend(grant)),
      button("Revoke", () => this.#revoke(grant), "quiet danger"),
    ];
    return element("section", { class: "card team", "aria-labelledby": id },
      element("div", { class: "heading" }, element("h2", { id }, grant.name), element("code", {}, grant.grant), state(grant),
        element("div", { class: "push actions" }, ...actions)),
      row("App", grant.bundleID), row("Key", `team ID ${grant.teamID}, key ID ${grant.keyID}`),
      row("Limits", limits(grant)), grant.readable === undefined ? null : row("Readable to you", grant.readable.join(", ")),
      row("Handles", `${grant.handles.toLocaleString()} of ${grant.maximumHandles.toLocaleString()}`),
      row("Today", counted(grant.today, "notification")), row("Answers", answers(grant)));
  }

  async #perform(method, grant, body) {
    await json(method, `/v1/grants/${grant.grant}`, body);
    await this.#load();
  }

  #suspend(grant) {
    if (grant.suspended) {
      confirm(`Resume ${grant.name}?`, ["Its requests are accepted from now on."], "Resume the grant", () => this.#perform("PATCH", grant, { suspended: false }));
      return;
    }
    confirm(`Suspend ${grant.name}?`, [
      "Its requests are rejected from now on, also on open connections: 403 InvalidProviderToken.",
      "Its handles stay. You can resume it at any time.",
    ], "Suspend the grant", () => this.#perform("PATCH", grant, { suspended: true }));
  }

  #revoke(grant) {
    confirm(`Revoke the grant of ${grant.name}?`, [
      "Its requests are rejected from now on, also on open connections: 403 InvalidProviderToken.",
      `${counted(grant.handles, "handle")} of its users ${grant.handles === 1 ? "is" : "are"} deleted.`,
      "It cannot be undone. The instance needs a new grant, and the apps new handles.",
    ], "Revoke the grant", () => this.#perform("DELETE", grant));
  }

  #invite() {
    const app = element("select", { name: "bundleID" }, ...this.#apps.map((each) => element("option", { value: each.bundleID }, each.bundleID)));
    const name = element("input", { name: "name", required: true, autocomplete: "off", placeholder: "chat.example.org" });
    const number = (key, placeholder) => element("input", { name: key, type: "number", min: 1, step: 1, placeholder });
    const [rate, daily] = [number("rate", "Any number"), number("daily", "Any number")];
    const encrypted = element("input", { name: "encryptedOnly", type: "checkbox" });
    ask({
      title: "Invite an instance", label: "Make the code",
      content: [field("App", app), field("Name of the instance", name), field("Notifications a second", rate), field("Notifications a day", daily), field("Encrypted payloads only", encrypted)],
      perform: async () => {
        const body = { bundleID: app.value, name: name.value.trim() };
        if (rate.value !== "") body.rate = Number(rate.value);
        if (daily.value !== "") body.daily = Number(daily.value);
        if (encrypted.checked) body.encryptedOnly = true;
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

function row(name, value) {
  return element("div", { class: "item" }, element("strong", {}, name), element("span", { class: "hint" }, value));
}

function state(grant) {
  if (grant.revoked !== undefined) return element("span", { class: "badge", "data-outcome": "rejected" }, "Revoked ", moment(grant.revoked));
  return grant.suspended ? element("span", { class: "badge", "data-outcome": "rejected" }, "Suspended") : null;
}

function limits(grant) {
  const texts = [
    grant.rate === undefined ? null : `${grant.rate.toLocaleString()} a second`,
    grant.daily === undefined ? null : `${grant.daily.toLocaleString()} a day`,
    grant.payloadBytes === undefined ? null : `${grant.payloadBytes.toLocaleString()} bytes`,
    encrypted(grant.encryptedOnly),
    ...(grant.topics ?? []), ...(grant.pushTypes ?? []),
    grant.priorities === undefined ? null : `priority ${grant.priorities.join(", ")}`,
    grant.expires === undefined ? null : `until ${new Date(grant.expires).toLocaleDateString()}`,
  ].filter((text) => text !== null);
  return texts.length === 0 ? "none" : texts.join(", ");
}

/** What of the payloads has to be encrypted; null if nothing has to be. */
function encrypted(form) {
  if (!form) return null;
  if (form === true) return "encrypted payloads only";
  const keys = typeof form === "string" ? form : Object.entries(form.keys).map(([name, kind]) => `${name} ${kind}`).join(", ");
  return `encrypted payloads only (${keys})`;
}

function answers(grant) {
  const sent = Object.entries(grant.sent).toSorted(([, a], [, b]) => b - a);
  return sent.length === 0 ? "nothing sent yet" : sent.map(([outcome, count]) => `${outcome}: ${count.toLocaleString()}`).join(", ");
}
