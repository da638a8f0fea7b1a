// The page of one grant: its limits, keys and handles, and what can be done with it.

import { json, list } from "./api.js";
import { announce, element, field, moment, section } from "./dom.js";
import { ask, confirm, counted } from "./dialog.js";

/** @typedef {{ handle: string, environment: string, state: string, made: number, registered: number }} Handle */
/** @typedef {API.Grant["keys"][number]} GrantKey */

/** How many handles of each state are shown. */
const HANDLES = 100;

export class GrantPage {
  title = "Grant";
  section = "grants";
  element;
  #id = "";
  #heading = element("h1", { tabindex: -1 }, "Grant");
  #badge = element("span", { class: "badge", "data-outcome": "rejected", hidden: true });
  #actions = element("div", { class: "push actions" });
  #parts = element("div", { class: "stack" });

  constructor() {
    this.element = element("section", { class: "page scroll detail grant", "aria-label": "Grant" },
      element("a", { class: "back", href: "#/grants" }, "← All grants"),
      element("div", { class: "heading" }, this.#heading, this.#badge, this.#actions), this.#parts);
  }

  /**
   * @param {string} query
   * @param {string} id of the grant
   */
  open(query, id) {
    if (this.#id !== id) this.#parts.replaceChildren();
    this.#id = id;
    this.#load();
  }

  focus() { this.#heading.focus(); }

  get #path() { return `/v1/grants/${encodeURIComponent(this.#id)}`; }

  async #load() {
    const id = this.#id;
    /** @type {API.Grant} */
    let grant;
    /** @type {Handle[]} */
    let active;
    /** @type {Handle[]} */
    let ended;
    try {
      [grant, active, ended] = await Promise.all([
        json("GET", this.#path), handlesOf(this.#path, "active"), handlesOf(this.#path, "ended")]);
    } catch (error) {
      this.#actions.replaceChildren();
      this.#parts.replaceChildren(element("p", { class: "notice", role: "alert" }, error.message));
      return;
    }
    if (id !== this.#id) return;
    this.#heading.textContent = grant.name;
    this.#badge.hidden = state(grant) === "Active";
    this.#badge.replaceChildren(state(grant), ...(grant.revoked === undefined ? [] : [" ", moment(grant.revoked)]));
    /**
     * @param {string} label
     * @param {() => unknown} perform
     */
    const button = (label, perform, className = "") => element("button", { type: "button", class: className, onclick: perform }, label);
    this.#actions.replaceChildren(...(grant.revoked !== undefined ? [] : [
      button("Change", () => this.#change(grant)),
      button(grant.suspended ? "Resume" : "Suspend", () => this.#suspend(grant)),
      button("Revoke", () => this.#revoke(grant), "quiet danger"),
    ]));
    this.#parts.replaceChildren(
      section("What it may send",
        row("Grant", grant.grant), row("App", grant.bundleID),
        grant.webPush === true ? row("Web Push", "It has no key: whoever has an endpoint may send") : null, row("Limits", limits(grant)),
        grant.readable === undefined ? null : row("Readable to you", grant.readable.join(", ")),
        row("Handles", `${grant.handles.toLocaleString()} of ${(grant.maximumHandles ?? 0).toLocaleString()}`),
        row("Today", counted(grant.today, "notification")), row("Answers", answers(grant)), row("Made", moment(grant.made))),
      this.#keys(grant), this.#handles("Handles", active, grant), this.#handles("Handles that have ended", ended, grant));
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #perform(method, path, body) {
    await json(method, path, body);
    await this.#load();
  }

  // MARK: Keys

  /** @param {API.Grant} grant */
  #keys(grant) {
    /** @param {string} kind */
    const of = (kind) => grant.keys.filter((key) => key.kind === kind);
    /**
     * @param {string} kind
     * @param {string} label
     * @param {() => unknown} perform
     */
    const add = (kind, label, perform) => grant.revoked !== undefined || of(kind).length > 1 ? null
      : element("button", { type: "button", onclick: perform }, label);
    return section("Keys",
      row("Team ID", grant.teamID),
      ...grant.keys.map((key) => {
        const name = kinds[key.kind];
        return element("div", { class: "item" }, element("strong", {}, name), element("span", { class: "hint" }, key.keyID, ", made ", moment(key.made)),
          of(key.kind).length < 2 || grant.revoked !== undefined ? null
            : element("button", { type: "button", class: "quiet danger", "aria-label": `End ${key.keyID}`, onclick: () => this.#end(grant, key) }, "End"));
      }),
      element("div", { class: "actions" },
        grant.webPush === true ? null : add("provider", "Add a key", () => this.#addKey(grant)), add("client", "Add a client key", () => this.#addClientKey(grant))));
  }

  /** @param {API.Grant} grant */
  #addKey(grant) {
    const key = element("textarea", { name: "publicKey", rows: 5, spellcheck: "false", placeholder: "-----BEGIN PUBLIC KEY-----" });
    ask({
      title: `A second key for ${grant.name}`, label: "Add the key",
      content: [
        element("p", { class: "hint" }, "Both keys are accepted until you end one. Without a public key, the service makes a key and shows it once."),
        field("Public key of the instance (P-256, PEM)", key)],
      perform: async () => {
        /** @type {any} */
        const made = await json("POST", `${this.#path}/keys`, { kind: "provider", ...(key.value.trim() === "" ? {} : { publicKey: key.value }) });
        await this.#load();
        showOnce("The new key", [
          element("p", {}, `Key ID: `, element("code", {}, made.keyID)),
          ...(made.privateKey === undefined ? [] : [element("pre", {}, made.privateKey), element("p", {}, "Give it to the instance. The service does not show it again.")])]);
      },
    });
  }

  /** @param {API.Grant} grant */
  #addClientKey(grant) {
    confirm(`A second client key for ${grant.name}?`, ["Both client keys are accepted until you end one."], "Add the client key", async () => {
      /** @type {any} */
      const made = await json("POST", `${this.#path}/keys`, { kind: "client" });
      await this.#load();
      showOnce("The new client key", [element("p", {}, element("code", {}, made.clientKey)), element("p", {}, "Give it to the instance, which sends it to the app.")]);
    });
  }

  /**
   * @param {API.Grant} grant
   * @param {GrantKey} key
   */
  #end(grant, key) {
    confirm(`End the ${kinds[key.kind].toLowerCase()} ${key.keyID}?`, [
      key.kind === "provider" ? "Requests with it are rejected from now on, also on open connections: 403 InvalidProviderToken."
        : "Apps that still have it can make and delete no handles: 403 Forbidden.",
      "It cannot be undone.",
    ], "End the key", () => this.#perform("DELETE", `${this.#path}/keys/${encodeURIComponent(key.keyID)}`));
  }

  // MARK: Handles

  /**
   * @param {string} name
   * @param {Handle[]} handles
   * @param {API.Grant} grant
   */
  #handles(name, handles, grant) {
    if (handles.length === 0) return section(name, element("p", { class: "hint" }, "None."));
    const head = element("thead", {}, element("tr", {}, ...["Handle", "Environment", "Made", "Registered", "Action"].map((each) => element("th", { scope: "col" }, each))));
    const body = handles.map((handle) => element("tr", {},
      element("td", {}, element("code", {}, handle.handle)), element("td", {}, handle.environment), element("td", {}, moment(handle.made)),
      element("td", {}, moment(handle.registered)),
      element("td", {}, element("button", { type: "button", class: "quiet danger", "aria-label": `Remove ${handle.handle}`, onclick: () => this.#remove(handle, grant) }, "Remove"))));
    return section(name, element("table", { class: "log handles", "aria-label": name }, head, element("tbody", {}, ...body)),
      handles.length < HANDLES ? null : element("p", { class: "hint" }, `The first ${HANDLES}. carillon grant handles ${grant.grant} lists all.`));
  }

  /**
   * @param {Handle} handle
   * @param {API.Grant} grant
   */
  #remove(handle, grant) {
    confirm("Remove the handle?", [
      `${grant.name} cannot send to it any more: 400 BadDeviceToken.`, "The app makes it again when it registers its device token.",
    ], "Remove the handle", () => this.#perform("DELETE", `${this.#path}/handles/${handle.handle}`));
  }

  // MARK: Changes

  /** @param {API.Grant} grant */
  #change(grant) {
    const name = element("input", { name: "name", required: true, autocomplete: "off" });
    name.value = grant.name;
    const bounds = boundsFields(grant);
    ask({
      title: `Change ${grant.name}`, label: "Change the grant",
      content: [field("Name of the instance", name), ...bounds.content],
      perform: async () => {
        await this.#perform("PATCH", this.#path, { name: name.value.trim(), ...bounds.read() });
        announce("Done.");
      },
    });
  }

  /** @param {API.Grant} grant */
  #suspend(grant) {
    if (grant.suspended) {
      confirm(`Resume ${grant.name}?`, ["Its requests are accepted from now on."], "Resume the grant", () => this.#perform("PATCH", this.#path, { suspended: false }));
      return;
    }
    confirm(`Suspend ${grant.name}?`, [
      "Its requests are rejected from now on, also on open connections: 403 InvalidProviderToken.",
      "Its handles stay. You can resume it at any time.",
    ], "Suspend the grant", () => this.#perform("PATCH", this.#path, { suspended: true }));
  }

  /** @param {API.Grant} grant */
  #revoke(grant) {
    confirm(`Revoke the grant of ${grant.name}?`, [
      "Its requests are rejected from now on, also on open connections: 403 InvalidProviderToken.",
      `${counted(grant.handles, "handle")} of its users ${grant.handles === 1 ? "is" : "are"} deleted.`,
      "It cannot be undone. The instance needs a new grant, and the apps new handles.",
    ], "Revoke the grant", () => this.#perform("DELETE", this.#path));
  }
}

/**
 * @param {string} grant the path of the grant
 * @param {"active" | "ended"} state
 * @returns {Promise<Handle[]>}
 */
async function handlesOf(grant, state) {
  return /** @type {any[]} */ (await list(`${grant}/handles?state=${state}`, HANDLES));
}

/** @type {Record<string, string>} */
const kinds = { provider: "Key", client: "Client key" };

/**
 * @param {string} title
 * @param {import("./dom.js").Content[]} content
 */
function showOnce(title, content) {
  ask({ title, label: "Close", isOnlyDone: true, perform: async () => {}, content });
}

/**
 * @param {string} name
 * @param {import("./dom.js").Content[]} values
 */
function row(name, ...values) {
  return element("div", { class: "item" }, element("strong", {}, name), element("span", { class: "hint" }, ...values));
}

/**
 * The controls for the limits of a grant.
 * @param {Partial<API.Grant>} grant its present limits
 * @returns `content`, the controls, and `read`, which returns what a request says: 0 removes a limit that was there
 */
export function boundsFields(grant) {
  /**
   * @param {"rate" | "daily" | "payloadBytes" | "maximumHandles"} key
   * @param {string} placeholder
   */
  const number = (key, placeholder) => {
    const control = element("input", { name: key, type: "number", min: 0, step: 1, placeholder });
    if (grant[key] !== undefined) control.value = String(grant[key]);
    return control;
  };
  /** @type {Record<string, [string, HTMLInputElement]>} */
  const numbers = {
    rate: ["Notifications a second", number("rate", "Any number")], daily: ["Notifications a day", number("daily", "Any number")],
    payloadBytes: ["Bytes of a payload", number("payloadBytes", "What the topic allows")],
    maximumHandles: ["Active handles", number("maximumHandles", "100,000")],
  };
  const encrypted = encryptedFields(grant.encryptedOnly);
  const registration = element("select", { name: "registration" },
    element("option", { value: "open" }, "With the client key"), element("option", { value: "code" }, "With a code of the instance too"));
  registration.value = grant.registration ?? "open";
  return {
    content: [
      ...Object.values(numbers).map(([label, control]) => field(label, control)), field("Registration of handles", registration),
      ...encrypted.content],
    read: () => {
      /** @type {Record<string, unknown>} */
      const body = {};
      /** @type {Record<string, unknown>} */
      const present = grant;
      for (const [key, [, control]] of Object.entries(numbers)) {
        const value = control.value === "" ? 0 : Number(control.value);
        if (value !== (present[key] ?? 0)) body[key] = value;
      }
      const form = encrypted.read();
      if (JSON.stringify(form) !== JSON.stringify(grant.encryptedOnly ?? false)) body.encryptedOnly = form;
      if (registration.value !== (grant.registration ?? "open")) body.registration = registration.value;
      return body;
    },
  };
}

/**
 * The controls for what of the payloads has to be encrypted, and what may be beside `aps`.
 * @param {any} form the present form: true, false, the name of one, or the keys
 */
function encryptedFields(form) {
  const choice = element("select", { name: "encryptedOnly" },
    element("option", { value: "false" }, "Need not be encrypted"), element("option", { value: "true" }, "Encrypted, in one text of any name"),
    element("option", { value: "web-push" }, "Encrypted, as relays of Web Push send"),
    element("option", { value: "matrix" }, "Identifiers, as homeservers of Matrix send"),
    element("option", { value: "keys" }, "Keys of your own"));
  const keys = element("input", { name: "encryptedKeys", type: "text", placeholder: "room=identifier, unread=number, box=opaque" });
  const own = field("Keys beside aps", keys);
  const isOwn = typeof form === "object" && form !== null;
  choice.value = isOwn ? "keys" : String(form ?? false);
  if (isOwn) keys.value = Object.entries(form.keys).map(([name, kind]) => `${name}=${kind}`).join(", ");
  const show = () => { own.hidden = choice.value !== "keys"; };
  choice.addEventListener("change", show);
  show();
  return {
    content: [field("Payloads", choice), own],
    read: () => {
      if (choice.value !== "keys") return choice.value === "true" || choice.value !== "false" && choice.value;
      const pairs = keys.value.split(",").map((pair) => pair.split("=").map((word) => word.trim()));
      return { keys: Object.fromEntries(pairs.map(([name, ...kind]) => [name, kind.join("=")])) };
    },
  };
}

/** @param {API.Grant} grant */
export function state(grant) {
  if (grant.revoked !== undefined) return "Revoked";
  return grant.suspended ? "Suspended" : "Active";
}

/**
 * How many of its requests were refused.
 * @param {API.Grant} grant
 */
export function refused(grant) {
  return Object.entries(grant.sent).reduce((sum, [outcome, count]) => outcome === "200" ? sum : sum + count, 0);
}

/** @param {API.Grant} grant */
export function limits(grant) {
  const texts = [
    grant.rate === undefined ? null : `${grant.rate.toLocaleString()} a second`,
    grant.daily === undefined ? null : `${grant.daily.toLocaleString()} a day`,
    grant.payloadBytes === undefined ? null : `${grant.payloadBytes.toLocaleString()} bytes`,
    encrypted(grant.encryptedOnly),
    grant.registration === "code" ? "registration by code" : null,
    ...(grant.topics ?? []), ...(grant.pushTypes ?? []),
    grant.priorities === undefined ? null : `priority ${grant.priorities.join(", ")}`,
    grant.expires === undefined ? null : `until ${new Date(grant.expires).toLocaleDateString()}`,
  ].filter((text) => text !== null);
  return texts.length === 0 ? "none" : texts.join(", ");
}

/**
 * What of the payloads has to be encrypted; null if nothing has to be.
 * @param {any} form
 */
function encrypted(form) {
  if (!form) return null;
  if (form === true) return "encrypted payloads only";
  const keys = typeof form === "string" ? form : Object.entries(form.keys).map(([name, kind]) => `${name} ${kind}`).join(", ");
  return `encrypted payloads only (${keys})`;
}

/** @param {API.Grant} grant */
function answers(grant) {
  const sent = Object.entries(grant.sent).toSorted(([, a], [, b]) => b - a);
  return sent.length === 0 ? "nothing sent yet" : sent.map(([outcome, count]) => `${outcome}: ${count.toLocaleString()}`).join(", ");
}
