// The page "New message": the audience, the notification and its time. A dry run says who would get it before it is sent.

import { json } from "./api.js";
import { announce, element, empty, field, inside, section } from "./dom.js";
import { parse, stringify } from "./exactjson.js";
import { AppChoice, failure, items, noApp, number } from "./parts.js";
import { PayloadForm } from "./payloadform.js";
import { pushTypes } from "./pushtypes.js";

/** @typedef {import("./api.js").APIError} APIError */
/** @typedef {import("./dom.js").Content} Content */
/** @typedef {import("./shell.js").Shell} Shell */

const EXAMPLE = { aps: { alert: { body: "Hello" } } };
const expirations = [["", "As long as the service keeps it"], ["0", "Try once, do not store"], ["3600", "One hour"], ["86400", "One day"], ["2592000", "30 days"]];
const RATE = 100_000;

/** @typedef {HTMLInputElement} Control an input, or a select or a text area, which have the members that are used of it */

export class Compose {
  title = "New message";
  element;
  #shell;
  #apps = new AppChoice(() => this.#loadAudiences().catch((error) => this.#refused(error)));
  /** @type {API.SavedAudience[]} */
  #audiences = [];
  /** @type {Record<string, Control>} */
  #controls = {};
  /** @type {HTMLElement} */
  #savedLabel = element("label");
  #payload = new PayloadForm();
  #check = element("div", { id: "check", class: "check", role: "status" });
  #result = element("div", { class: "stack" });
  #button = element("button", { type: "submit", class: "primary" }, "Dry run");
  #body;
  #empty = element("div", { hidden: true });
  #problem = element("div");
  /**
   * The document that the last dry run has checked, and the name under which it is sent at most once.
   * @type {{ document: object, name: string } | null}
   */
  #checked = null;

  /** @param {Shell} shell */
  constructor(shell) {
    this.#shell = shell;
    this.#body = element("div", { class: "columns" },
      element("div", { class: "stack" }, this.#audience(), this.#payload.element, this.#delivery()),
      element("div", { class: "stack" }, this.#editor(), this.#result));
    this.element = element("form", { class: "page scroll", "aria-labelledby": "compose-title", novalidate: true, onsubmit: (event) => this.#dryRun(event) },
      element("div", { class: "heading" }, element("h1", { id: "compose-title", tabindex: -1 }, "New message")),
      this.#problem, this.#empty, this.#body);
    this.element.addEventListener("input", () => this.#forget());
    this.element.addEventListener("change", () => this.#forget());
    this.#payload.set(EXAMPLE);
  }

  /** @param {string} query */
  async open(query) {
    const wanted = new URLSearchParams(query);
    try {
      const apps = await this.#apps.load();
      this.#problem.replaceChildren();
      this.#empty.hidden = apps.length > 0;
      this.#body.hidden = apps.length === 0;
      if (apps.length === 0) this.#empty.replaceChildren(noApp(empty));
      if (wanted.has("app")) this.#apps.value = wanted.get("app") ?? "";
      await this.#loadAudiences();
      if (wanted.has("saved")) this.#controls.saved.value = wanted.get("saved") ?? "";
      if (wanted.has("channel")) {
        this.#controls.channel.value = wanted.get("channel") ?? "";
        this.#controls.environment.value = wanted.get("environment") ?? "";
        this.#controls.pushType.value = "liveactivity";
        this.#showEverybody();
      }
      if (wanted.has("user")) this.#controls.users.value = wanted.get("user") ?? "";
      const from = wanted.get("from");
      if (from !== null) await this.#fill(await json("GET", `/v1/messages/${encodeURIComponent(from)}?include=request`));
      // The draft is filled in once: what a person changes stays when they come back.
      if (query !== "") history.replaceState(null, "", "#/compose");
    } catch (error) {
      this.#problem.replaceChildren(failure(this.#shell, error, () => this.open(query)));
    }
  }

  focus() { this.element.querySelector("h1")?.focus(); }

  // MARK: The form

  /**
   * @param {string} name
   * @param {"input" | "select" | "textarea"} tag
   * @param {Content[]} children
   */
  #control(name, tag, attributes = {}, ...children) {
    const control = /** @type {Control} */ (/** @type {unknown} */ (element(tag, { name, autocomplete: "off", spellcheck: "false", ...attributes }, ...children)));
    this.#controls[name] = control;
    return control;
  }

  /**
   * @param {string} name
   * @param {string[][]} options
   */
  #select(name, options) {
    return this.#control(name, "select", {}, ...options.map(([value, label]) => element("option", { value }, label)));
  }

  #audience() {
    const everybody = this.#control("everybody", "input", { type: "checkbox" });
    everybody.addEventListener("change", () => this.#showEverybody());
    const channel = this.#control("channel", "input", { placeholder: "the ID of a broadcast channel" });
    channel.addEventListener("input", () => this.#showEverybody());
    return section("To", element("div", { class: "grid2" },
      field("App", this.#apps.select), field("Environment", this.#select("environment", [["", "Both"], ["production", "Production"], ["development", "Development"]])),
      element("div", { class: "ticks" }, element("label", { class: "tick" }, everybody, "Everybody who has the app")),
      this.#savedField(),
      field("Tags", this.#control("tags", "input", { placeholder: "(news && sv) && !muted" }), "wide"),
      field("Expression", this.#control("where", "input", { placeholder: "appVersion >= 2.1 and not (language = sv or points > 5)" }), "wide"),
      field("Users, one on each line", this.#control("users", "textarea", { rows: 2, placeholder: "anna" })),
      field("Installations, one on each line", this.#control("installations", "textarea", { rows: 2, placeholder: "6A1C…" })),
      field("Language", this.#control("language", "input", { placeholder: "sv" })),
      field("Broadcast channel, alone", channel)),
    element("p", { class: "hint" }, "A recipient has to meet all conditions that you fill in."));
  }

  #savedField() {
    const saved = field("Saved audience", this.#select("saved", [["", "None"]]), "wide");
    saved.hidden = true;
    this.#savedLabel = saved;
    return saved;
  }

  /** Shows the saved audiences of the chosen app. */
  async #loadAudiences() {
    const { saved } = this.#controls;
    const before = saved.value;
    this.#audiences = this.#apps.value === "" ? [] : await items(`/v1/audiences?bundleID=${encodeURIComponent(this.#apps.value)}`);
    saved.replaceChildren(element("option", { value: "" }, "None"), ...this.#audiences.map(({ name }) => element("option", { value: name }, name)));
    saved.value = this.#audiences.some(({ name }) => name === before) ? before : "";
    this.#savedLabel.hidden = this.#audiences.length === 0;
  }

  #delivery() {
    const when = this.#select("when", [["now", "Now"], ["sendAt", "At a time"], ["localTime", "At a time of day, in each recipient's time zone"]]);
    const time = field("Time", this.#control("time", "input", { type: "datetime-local" }));
    time.hidden = true;
    when.addEventListener("change", () => {
      time.hidden = when.value === "now";
      inside(time, "span", HTMLElement).textContent = when.value === "localTime" ? "Time there" : "Time, in this browser's time zone";
    });
    return section("When and how", element("div", { class: "grid2" },
      field("When", when), time,
      field("At most a second", this.#control("rate", "input", { type: "number", min: 1, max: RATE, placeholder: "No limit" })),
      field("Expiration", this.#select("expiration", expirations)),
      field("Priority", this.#select("priority", [["", "Not given"], ["10", "10, at once"], ["5", "5, considerate of power"], ["1", "1, whenever"]])),
      field("Push type", this.#select("pushType", [["", "Not given"], ...pushTypes.map((type) => [type, type])])),
      field("Collapse identifier", this.#control("collapseID", "input", { placeholder: "at most 64 bytes" })),
      field("Quiet hours there, from", this.#control("quietFrom", "input", { type: "time" })),
      field("Quiet hours there, to", this.#control("quietTo", "input", { type: "time" })),
      field("Live Activity that it updates or ends", this.#control("activity", "input", { placeholder: "order-17" })),
      element("div", { class: "ticks" }, element("label", { class: "tick" }, this.#control("countsOpened", "input", { type: "checkbox" }), "Count who opens it"))));
  }

  #editor() {
    /**
     * @param {string} name
     * @param {string} placeholder
     */
    const json = (name, placeholder) => this.#control(name, "textarea", { rows: 4, class: "mono", placeholder });
    return section("Payload", ...this.#payload.editor,
      element("p", { class: "hint" }, "A name in double braces, such as {{name}}, is replaced by the recipient's value."),
      element("details", {}, element("summary", {}, "Texts by language, and values"), element("div", { class: "stack" },
        field("Texts by language and name, JSON", json("texts", '{"en":{"title":"Sale"},"sv":{"title":"Rea"}}')),
        field("Language for all others", this.#control("fallbackLanguage", "input", { placeholder: "en" })),
        field("Values for recipients without their own, JSON", json("values", '{"name":"dear customer"}')))),
      this.#check,
      element("div", { class: "actions" }, this.#button, element("button", { type: "button", onclick: () => this.#payload.tidy() }, "Format")));
  }

  /** Everybody excludes conditions, and so does a channel: the service alone knows who subscribes to it. */
  #showEverybody() {
    const { everybody, channel } = this.#controls;
    for (const name of ["saved", "tags", "where", "users", "installations", "language"]) this.#controls[name].disabled = everybody.checked || channel.value !== "";
    everybody.disabled = channel.value !== "";
    channel.disabled = everybody.checked;
  }

  // MARK: The document

  /** @param {string} name */
  #lines(name) { return this.#controls[name].value.split("\n").map((line) => line.trim()).filter((line) => line !== ""); }

  /** @throws Fault if a text is not JSON */
  #document() {
    const { everybody, environment, tags, where, language, when, time, rate, expiration, priority, pushType, collapseID, fallbackLanguage } = this.#controls;
    if (this.#payload.fault !== null) throw new Fault(this.#payload.fault, "/payload");
    /** @type {Record<string, unknown>} */
    const audience = {};
    const channel = this.#controls.channel.value.trim();
    if (everybody.checked) audience.everybody = true;
    else if (channel !== "") audience.channel = channel;
    else {
      if (this.#controls.saved.value !== "") audience.saved = this.#controls.saved.value;
      if (tags.value.trim() !== "") audience.tags = tags.value.trim();
      if (where.value.trim() !== "") audience.where = where.value.trim();
      if (language.value.trim() !== "") audience.language = language.value.trim();
      for (const name of ["users", "installations"]) if (this.#lines(name).length > 0) audience[name] = this.#lines(name);
      // A message to everybody has to say so.
      if (Object.keys(audience).length === 0) throw new Fault("Choose who gets it: everybody, or at least one condition.", "/audience");
    }
    if (environment.value !== "") audience.environment = environment.value;
    /** @type {Record<string, unknown>} */
    const document = { bundleID: this.#apps.value, audience, payload: this.#payload.payload };
    for (const name of ["texts", "values"]) {
      if (this.#controls[name].value.trim() !== "") document[name] = this.#parsed(name);
    }
    if (fallbackLanguage.value.trim() !== "") document.fallbackLanguage = fallbackLanguage.value.trim();
    if (when.value !== "now") {
      if (time.value === "") throw new Fault("Choose the time.", "/sendAt");
      document[when.value] = when.value === "sendAt" ? new Date(time.value).toISOString() : time.value;
    }
    if (rate.value !== "") document.rate = Number(rate.value);
    if (priority.value !== "") document.priority = Number(priority.value);
    if (pushType.value !== "") document.pushType = pushType.value;
    if (collapseID.value !== "") document.collapseID = collapseID.value;
    const { quietFrom, quietTo, activity, countsOpened } = this.#controls;
    if (quietFrom.value !== "" || quietTo.value !== "") {
      if (quietFrom.value === "" || quietTo.value === "") throw new Fault("Choose when the quiet hours begin and when they end.", "/quietHours/to");
      document.quietHours = { from: quietFrom.value, to: quietTo.value };
    }
    if (activity.value.trim() !== "") document.activity = activity.value.trim();
    if (countsOpened.checked) document.countsOpened = true;
    if (expiration.value !== "") document.expiration = expiration.value === "0" ? 0 : Math.floor(Date.now() / 1000) + Number(expiration.value);
    return document;
  }

  /** @param {string} name */
  #parsed(name) {
    try {
      return parse(this.#controls[name].value);
    } catch (error) {
      throw new Fault(`That is not JSON: ${error.message}`, `/${name}`);
    }
  }

  /**
   * Takes over a message that was sent before.
   * @param {API.Message} message
   */
  async #fill({ bundleID, request }) {
    const { audience = {}, payload, texts, values, fallbackLanguage, rate, priority, pushType, collapseID, activity, quietHours, countsOpened } = request;
    this.#apps.value = bundleID;
    await this.#loadAudiences();
    /**
     * @param {string} name
     * @param {unknown} value
     */
    const set = (name, value) => { this.#controls[name].value = value === undefined ? "" : String(value); };
    /** @param {unknown} value */
    const names = (value) => (Array.isArray(value) ? value : Object.keys(value ?? {})).join("\n");
    this.#controls.everybody.checked = audience.everybody === true;
    for (const name of ["tags", "where", "language", "environment", "channel"]) set(name, audience[name]);
    for (const name of ["users", "installations"]) set(name, names(audience[name]));
    set("saved", this.#nameOf(audience.saved));
    for (const [name, value] of Object.entries({ texts, values })) set(name, value === undefined ? undefined : stringify(value, 2));
    for (const [name, value] of Object.entries({ fallbackLanguage, rate, priority, pushType, collapseID, activity })) set(name, value);
    set("quietFrom", quietHours?.from);
    set("quietTo", quietHours?.to);
    this.#controls.countsOpened.checked = countsOpened === true;
    this.#showEverybody();
    if (texts !== undefined || values !== undefined) inside(this.element, "details", HTMLDetailsElement).open = true;
    this.#payload.set(payload);
    this.#forget();
    if (audience.saved !== undefined && this.#controls.saved.value === "") {
      // Without its conditions, the message would go to more people than before.
      this.#controls.everybody.checked = false;
      for (const name of ["tags", "where", "language", "users", "installations"]) set(name, undefined);
      this.#say("wait", "The saved audience of this message has been changed or deleted since. Choose again who gets it.");
    }
  }

  /**
   * The name of a saved audience. A message that was sent has its conditions instead of the name.
   * @param {object | undefined} conditions
   */
  #nameOf(conditions) {
    /** @param {object | undefined} value */
    const text = (value) => stringify(Object.entries(value ?? {}).sort());
    return this.#audiences.find(({ audience }) => text(audience) === text(conditions))?.name;
  }

  // MARK: The dry run

  /** @param {Event} event */
  async #dryRun(event) {
    event.preventDefault();
    this.#mark(null);
    this.#button.disabled = true;
    try {
      const document = this.#document();
      const answer = await json("POST", "/v1/messages", { ...document, dryRun: true });
      this.#checked = { document, name: crypto.randomUUID() };
      this.#say(null, "");
      this.#show(answer, document);
    } catch (error) {
      this.#refused(error);
    } finally {
      this.#button.disabled = false;
    }
  }

  /**
   * @param {Record<string, any>} answer
   * @param {Record<string, any>} document
   */
  #show({ recipients, samples }, document) {
    const count = document.audience.channel !== undefined ? "the channel"
      : `${number(recipients)} ${recipients === 1 ? "installation" : "installations"}`;
    const when = document.sendAt !== undefined || document.localTime !== undefined ? "Schedule it for" : "Send it to";
    /** @type {HTMLButtonElement} */
    const send = element("button", { type: "button", class: "primary", onclick: () => this.#send(send) }, `${when} ${count}`);
    const faults = samples.filter((/** @type {Record<string, any>} */ sample) => sample.fault !== undefined).length;
    this.#result.replaceChildren(section("Dry run",
      element("p", {}, element("strong", {}, count), " would get it now."),
      recipients === 0 ? element("p", { class: "check", "data-kind": "wait" }, "Nobody meets all conditions. Look one installation up to see its tags, its languages and its user.") : null,
      faults === 0 ? null : element("p", { class: "check", "data-kind": "bad" }, "It would fail for some of these. Give the missing values, or change the payload."),
      ...samples.flatMap((/** @type {Record<string, any>} */ sample) => [
        element("h3", {}, element("a", { href: `#/installations?${new URLSearchParams({ app: document.bundleID, find: sample.installation })}` }, sample.installation)),
        sample.fault === undefined ? element("pre", { tabindex: 0, "aria-label": `Payload for ${sample.installation}` }, stringify(sample.payload, 2))
          : element("p", { class: "problem" }, sample.fault),
      ]),
      element("div", { class: "actions" }, send)));
    this.#result.scrollIntoView({ block: "nearest" });
    announce(`${count} would get it.`);
  }

  /** @param {HTMLButtonElement} button */
  async #send(button) {
    if (this.#checked === null) return;
    button.disabled = true;
    try {
      // The same name for each attempt: if only the answer was lost, no second message is made.
      const made = await json("POST", "/v1/messages", this.#checked.document, { "Idempotency-Key": this.#checked.name });
      this.#forget();
      location.hash = `#/message/${encodeURIComponent(made.id)}`;
    } catch (error) {
      button.disabled = false;
      this.#refused(error);
    }
  }

  /** A dry run says nothing about a message that was changed afterwards. */
  #forget() {
    this.#mark(null);
    this.#say(null, "");
    if (this.#checked === null) return;
    this.#checked = null;
    this.#result.replaceChildren();
  }

  /** @param {APIError | Fault} error */
  #refused(error) {
    if ("status" in error && error.status === 401) {
      this.#shell.fail(error);
      return;
    }
    this.#say("bad", error.message);
    this.#mark(error.pointer);
  }

  /**
   * @param {string | null} kind
   * @param {string} text
   */
  #say(kind, text) {
    if (kind === null) delete this.#check.dataset.kind;
    else this.#check.dataset.kind = kind;
    this.#check.replaceChildren(...text === "" ? [] : [element("p", {}, text)]);
  }

  /**
   * Marks the control that a JSON pointer leads to, and gives it the focus.
   * @param {string | null | undefined} pointer
   */
  #mark(pointer) {
    for (const control of this.element.querySelectorAll("[aria-invalid]")) control.removeAttribute("aria-invalid");
    if (pointer === null || pointer === undefined) return;
    const [, first, second] = pointer.split("/");
    const name = first === "audience" ? second ?? "tags" : first === "sendAt" || first === "localTime" ? "time"
      : first === "quietHours" ? (second === "from" ? "quietFrom" : "quietTo") : first;
    const control = first === "payload" ? this.#payload.text : this.#controls[name] ?? null;
    if (control === null) return;
    control.closest("details")?.setAttribute("open", "");
    control.setAttribute("aria-invalid", "true");
    control.focus();
  }
}

class Fault extends Error {
  /**
   * @param {string} message
   * @param {string} pointer
   */
  constructor(message, pointer) {
    super(message);
    this.pointer = pointer;
  }
}
