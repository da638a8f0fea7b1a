// The page "Send": a form beside the payload's JSON, for a device or a broadcast channel. The service checks the
// notification while a person types.

import { json, list } from "./api.js";
import { curl } from "./curl.js";
import { copy, find, settled, timeline } from "./detail.js";
import { announce, element, field, section } from "./dom.js";
import { stringify } from "./exactjson.js";
import { PayloadForm } from "./payloadform.js";
import { suffixes } from "./pushtypes.js";
import { pretty } from "./rawjson.js";
import { templates } from "./templates.js";
import { exactTime, shortTime } from "./time.js";
import { outcomeOf, outcomes, short } from "./words.js";

/** @typedef {import("./model.js").Entry} Entry */
/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./model.js").Row} Row */

/** How long nothing has to be typed before the service is asked, in milliseconds. */
const PAUSE = 250;
/** What the select has for a device token that is none of the list. */
const PASTED = "pasted";
/** What the select has for a channel that is none of the list. */
const PASTED_CHANNEL = "pasted channel";
/** What begins the value of a channel of the list. Device IDs have no colon. */
const CHANNEL = "channel:";
/** How many channels of an app the list has. */
const CHANNELS = 100;

const expirations = [["", "As long as the service keeps it"], ["0", "Try once, do not store"], ["3600", "One hour"], ["86400", "One day"], ["2592000", "30 days"]];

/**
 * What the service takes.
 * @typedef {object} Draft
 * @property {string} [bundleID]
 * @property {string} [channelID]
 * @property {string} [token]
 * @property {string} [topic]
 * @property {string} pushType
 * @property {unknown} payload
 * @property {number} [priority]
 * @property {number} [expiration]
 * @property {string} [collapseID]
 */

export class Send {
  title = "Send";
  element;
  #feed;
  /** @type {Record<string, HTMLInputElement>} */
  #inputs = {};
  /** @type {Record<string, HTMLSelectElement>} */
  #selects = {};
  /** @type {Record<string, HTMLElement>} */
  #labels = {};
  #form = new PayloadForm();
  #check = element("div", { id: "check", class: "check", role: "status" });
  #meter = element("meter", { min: 0, "aria-label": "Size of the payload" });
  #size = element("span", { class: "hint" });
  #notice = element("p", { class: "notice", hidden: true }, "This service serves production. Sending from here is for the development environment only.");
  #result = element("div", { class: "stack", role: "status" });
  #button = element("button", { type: "submit", class: "primary" }, "Send");
  /** @type {Map<string, HTMLButtonElement>} */
  #templates = new Map();
  /** @type {API.Device[]} */
  #devices = [];
  /**
   * The broadcast channels of the app that is chosen.
   * @type {API.Channel[]}
   */
  #channels = [];
  #channelsOf = "";
  /** The payload as a template has made it: if nobody has changed it, another one may take its place. */
  #untouched = "";
  /** @type {Timer} */
  #timer = null;
  #asked = 0;
  /** @type {string | null} */
  #sentID = null;
  /** @type {string | null} */
  #sentState = null;

  /** @param {Feed} feed */
  constructor(feed) {
    this.#feed = feed;
    const chips = Object.entries(templates).map(([key, template]) => {
      const chip = element("button", { type: "button", class: "chip", "aria-pressed": "false", onclick: () => this.#use(key) }, template.name);
      this.#templates.set(key, chip);
      return chip;
    });
    this.element = element("form", { class: "page scroll", "aria-labelledby": "send-title", onsubmit: (event) => this.#submit(event) },
      element("div", { class: "heading" }, element("h1", { id: "send-title", tabindex: -1 }, "Send")), this.#notice,
      element("div", { class: "chips", role: "group", "aria-label": "Templates" }, ...chips),
      element("div", { class: "columns" },
        element("div", { class: "stack" }, this.#target(), this.#form.element),
        element("div", { class: "stack" }, this.#editor(), this.#result)));
    this.element.addEventListener("input", () => this.#plan());
  }

  /** @param {string} query */
  async open(query) {
    const wanted = new URLSearchParams(query);
    const before = this.#form.text.value;
    await this.#load(wanted);
    const [from, template] = [wanted.get("from"), wanted.get("template")];
    const row = from === null ? null : await find(from).catch(() => null);
    // What was typed meanwhile stays.
    if (this.#form.text.value !== before) this.#plan();
    else if (row?.request) this.#fill(row.request, row.sent);
    else if (this.#form.text.value === "" || template !== null) this.#use(template !== null && Object.hasOwn(templates, template) ? template : "alert");
    else this.#plan();
    this.change();
  }

  focus() { this.element.querySelector("h1")?.focus(); }

  /** Shows below the answer what happens to the sent notification, as the feed reports it. */
  change() {
    this.#notice.hidden = this.#feed.state?.source !== "production";
    if (this.#sentID === null || !this.element.isConnected) return;
    const row = this.#feed.model.find((each) => each.id === this.#sentID);
    const state = row === undefined ? null : `${row.key} ${row.outcome}`;
    if (row === undefined || state === this.#sentState) return;
    this.#sentState = state;
    this.#followLife(row);
  }

  // MARK: The form

  /**
   * @param {string} name
   * @param {string[][]} options
   */
  #select(name, options) {
    const control = element("select", { name }, ...options.map(([value, label]) => element("option", { value }, label)));
    this.#selects[name] = control;
    return control;
  }

  /**
   * @param {string} name
   * @param {string} hint
   */
  #input(name, hint, type = "text") {
    const control = element("input", { name, type, placeholder: hint, autocomplete: "off", spellcheck: "false" });
    this.#inputs[name] = control;
    return control;
  }

  #target() {
    const app = this.#select("app", []);
    const device = this.#select("device", []);
    const type = this.#select("pushType", Object.keys(suffixes).map((name) => [name, name]));
    app.addEventListener("change", () => this.#showTargets());
    device.addEventListener("change", () => {
      if (this.#isBroadcast && type.value !== "liveactivity" && this.#form.text.value === this.#untouched) this.#use("liveactivity");
      else if (this.#isBroadcast) type.value = "liveactivity";
      this.#showPasted();
    });
    const pasted = field("Device token", this.#input("token", "hexadecimal digits"), "wide");
    pasted.hidden = true;
    this.#labels.pasted = pasted;
    const channel = field("Channel identifier", this.#input("channel", "base64"), "wide");
    channel.hidden = true;
    this.#labels.pastedChannel = channel;
    const collapse = field("Collapse identifier", this.#input("collapseID", "at most 64 bytes"));
    this.#labels.collapse = collapse;
    return section("To", element("div", { class: "grid2" },
      field("App", app), field("Device or channel", device), pasted, channel,
      field("Push type", type), field("Priority", this.#select("priority", [["10", "10, at once"], ["5", "5, considerate of power"], ["1", "1, whenever"], ["", "Not given"]])),
      field("Expiration", this.#select("expiration", expirations)), collapse));
  }

  #editor() {
    return section("Payload", ...this.#form.editor,
      element("div", { class: "size" }, this.#meter, this.#size), this.#check,
      element("div", { class: "actions" }, this.#button,
        element("button", { type: "button", onclick: () => this.#form.tidy() }, "Format"),
        element("button", { type: "button", onclick: (event) => copy(this.#curl(), /** @type {HTMLButtonElement} */ (event.currentTarget)) }, "Copy as curl")));
  }

  /** @param {URLSearchParams} wanted */
  async #load(wanted) {
    const before = { app: this.#selects.app.value, device: this.#selects.device.value };
    try {
      const [apps, devices] = await Promise.all([list("/v1/apps"), list("/v1/devices", 1000)]);
      this.#devices = devices;
      await this.#loadDevice(wanted.get("device"));
      this.#selects.app.replaceChildren(...apps.map((app) => element("option", { value: app.bundleID }, app.bundleID)));
      const app = wanted.get("app") ?? before.app;
      // What has a device is more likely meant.
      this.#selects.app.value = apps.some((each) => each.bundleID === app) ? app
        : devices.find((device) => device.virtual && device.apps.length > 0)?.apps[0].bundleID ?? apps[0]?.bundleID ?? "";
      await this.#showTargets();
      this.#choose(wanted.get("device") ?? before.device);
    } catch (error) {
      this.#say("bad", error.message);
    }
  }

  /**
   * A device that is not among the first ones.
   * @param {string | null} id
   */
  async #loadDevice(id) {
    if (id === null || this.#devices.some((device) => device.deviceID === id)) return;
    const device = await json("GET", `/v1/devices/${encodeURIComponent(id)}`).catch(() => null);
    if (device !== null) this.#devices = [device, ...this.#devices];
  }

  /** Offers the devices and the channels of the app. */
  async #showTargets() {
    const app = this.#selects.app.value;
    if (this.#channelsOf !== app) this.#channels = [];
    this.#channelsOf = app;
    this.#showDevices();
    if (app === "") return;
    // A service without channels has none to offer.
    const channels = await list(`/v1/channels?bundleID=${encodeURIComponent(app)}`, CHANNELS).catch(() => []);
    if (this.#selects.app.value !== app) return;
    this.#channels = channels;
    const { value } = this.#selects.device;
    this.#showDevices();
    this.#choose(value);
  }

  /** @param {string} target */
  #choose(target) {
    if ([...this.#selects.device.options].some((option) => option.value === target)) this.#selects.device.value = target;
    this.#showPasted();
  }

  #showDevices() {
    const app = this.#selects.app.value;
    const options = this.#devices.filter((device) => device.environment === "development" && device.apps.some((each) => each.bundleID === app))
      .map((device) => element("option", { value: device.deviceID },
        `${device.name ?? short(device.deviceID)}${device.behaviour === undefined ? (device.connected ? ", connected" : ", not connected") : `, ${device.behaviour.kind}`}`));
    const channels = this.#channels.map(({ channelID, messageStoragePolicy, connectedSubscribers }) => element("option", { value: CHANNEL + channelID },
      `Channel ${short(channelID)}, ${messageStoragePolicy === 1 ? "keeps the newest" : "keeps nothing"}, ${connectedSubscribers} connected`));
    this.#selects.device.replaceChildren(
      ...options, element("option", { value: PASTED }, "A device token that I paste"),
      ...channels, element("option", { value: PASTED_CHANNEL }, "A broadcast channel that I paste"));
    this.#showPasted();
  }

  #showPasted() {
    this.#labels.pasted.hidden = this.#selects.device.value !== PASTED;
    this.#labels.pastedChannel.hidden = this.#selects.device.value !== PASTED_CHANNEL;
    // A broadcast has no collapse identifier.
    this.#labels.collapse.hidden = this.#isBroadcast;
    this.#plan();
  }

  get #isBroadcast() {
    const { value } = this.#selects.device;
    return value === PASTED_CHANNEL || value.startsWith(CHANNEL);
  }

  /** @param {string} key */
  #use(key) {
    const template = templates[key];
    this.#selects.pushType.value = template.pushType;
    this.#selects.priority.value = template.priority;
    this.#form.set(template.payload());
    this.#untouched = this.#form.text.value;
    for (const [name, chip] of this.#templates) chip.setAttribute("aria-pressed", String(name === key));
    this.#plan();
  }

  /**
   * Takes over a request of the journal, to be changed and sent.
   * @param {API.RecordedRequest} request
   * @param {string | undefined} sent
   */
  #fill(request, sent) {
    const headers = request.headers ?? {};
    const isBroadcast = request.channel !== undefined;
    const type = isBroadcast ? "liveactivity" : headers["apns-push-type"] ?? "alert";
    const suffix = suffixes[type] ?? "";
    const app = (request.topic ?? "").endsWith(suffix) ? (request.topic ?? "").slice(0, (request.topic ?? "").length - suffix.length) : request.topic ?? "";
    /**
     * @param {string} name
     * @param {string} value
     */
    const set = (name, value) => { if ([...this.#selects[name].options].some((option) => option.value === value)) this.#selects[name].value = value; };
    set("pushType", type);
    set("app", app);
    set("priority", headers["apns-priority"] ?? "");
    this.#inputs.collapseID.value = headers["apns-collapse-id"] ?? "";
    this.#setExpiration(headers["apns-expiration"] ?? "");
    // The list of another app's channels may still be on its way, so it is pasted.
    this.#showTargets();
    this.#selects.device.value = isBroadcast ? PASTED_CHANNEL : PASTED;
    this.#inputs.channel.value = request.channel ?? "";
    this.#inputs.token.value = request.token ?? "";
    this.#showPasted();
    this.#form.setText(sent === undefined ? request.body ?? "" : pretty(sent));
    for (const chip of this.#templates.values()) chip.setAttribute("aria-pressed", "false");
    this.#plan();
  }

  /**
   * A moment that none of the choices means is a choice of its own.
   * @param {string} text
   */
  #setExpiration(text) {
    const { expiration } = this.#selects;
    expiration.querySelector("[data-sent]")?.remove();
    const seconds = /^[1-9][0-9]{0,10}$/.test(text) ? Number(text) : null;
    if (seconds !== null) expiration.append(element("option", { value: `at ${seconds}`, "data-sent": true }, `As it was: ${shortTime(seconds * 1000)}`));
    expiration.value = seconds === null ? (text === "0" ? "0" : "") : `at ${seconds}`;
  }

  #token() {
    const { app, device } = this.#selects;
    const { token } = this.#inputs;
    if (device.value === PASTED) return token.value.trim();
    return this.#devices.find((each) => each.deviceID === device.value)?.apps.find((each) => each.bundleID === app.value)?.token ?? "";
  }

  #channel() {
    const { device } = this.#selects;
    const { channel } = this.#inputs;
    return device.value === PASTED_CHANNEL ? channel.value.trim() : device.value.slice(CHANNEL.length);
  }

  /** Where the message goes in the service's API. */
  get #path() { return this.#isBroadcast ? "/v1/broadcasts" : "/v1/notifications"; }

  #message() {
    const { app, pushType, priority, expiration } = this.#selects;
    const { collapseID } = this.#inputs;
    const isBroadcast = this.#isBroadcast;
    /** @type {Draft} */
    const message = {
      ...isBroadcast ? { bundleID: app.value, channelID: this.#channel() } : { token: this.#token(), topic: app.value + suffixes[pushType.value] },
      pushType: pushType.value, payload: this.#form.payload,
    };
    if (priority.value !== "") message.priority = Number(priority.value);
    const seconds = Number(expiration.value);
    if (expiration.value.startsWith("at ")) message.expiration = Number(expiration.value.slice(3));
    else if (expiration.value !== "") message.expiration = seconds === 0 ? 0 : Math.floor(Date.now() / 1000) + seconds;
    if (collapseID.value !== "" && !isBroadcast) message.collapseID = collapseID.value;
    return message;
  }

  /**
   * The message as JSON, with the payload as it is written.
   * @param {Draft} draft
   */
  #document({ payload, ...others }) { return `${stringify(others).slice(0, -1)},"payload":${this.#form.text.value}}`; }

  #curl() {
    const message = this.#message();
    const target = this.#isBroadcast
      ? { ":path": `/4/broadcasts/apps/${message.bundleID}`, "apns-channel-id": message.channelID } : { "apns-topic": message.topic };
    /** @type {Record<string, string | undefined>} */
    const headers = { ...target, "apns-push-type": message.pushType };
    if (message.priority !== undefined) headers["apns-priority"] = String(message.priority);
    if (message.expiration !== undefined) headers["apns-expiration"] = String(message.expiration);
    if (message.collapseID !== undefined) headers["apns-collapse-id"] = message.collapseID;
    return curl({ headers, token: message.token, protocol: "h2" }, this.#form.text.value);
  }

  // MARK: What the service says of it

  #plan() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), PAUSE);
  }

  async #ask() {
    this.#asked += 1;
    const number = this.#asked;
    const message = this.#message();
    if (!this.#isWhole(message)) return;
    let answer;
    try {
      answer = await json("POST", `${this.#path}?dryRun=true`, this.#document(message));
    } catch (error) {
      if (number === this.#asked) this.#say("bad", error.message);
      return;
    }
    if (number !== this.#asked) return;
    this.#showSize(answer.bytes ?? 0, answer.maximumBytes);
    this.#button.disabled = false;
    if (answer.status !== 200) this.#say("bad", `It would be refused: ${answer.status} ${answer.reason}.`, answer.detail);
    else if (answer.strict !== undefined) {
      this.#say("wait", `It would be accepted. The conformance strict would refuse it: ${answer.strict.status} ${answer.strict.reason}.`, answer.strict.detail);
    } else this.#say("good", "It would be accepted, also by the conformance strict.");
  }

  /** @param {Draft} message */
  #isWhole(message) {
    const fault = this.#form.fault
      ?? (this.#selects.app.value === "" ? "There is no app yet. Make one under Accounts."
        : message.token === "" ? "Paste a device token, or choose a device."
          : message.channelID === "" ? "Paste a channel's identifier, or choose a channel." : null);
    this.#form.text.setAttribute("aria-invalid", String(fault !== null));
    this.#button.disabled = fault !== null;
    if (fault !== null) this.#say("wait", fault);
    return fault === null;
  }

  /**
   * @param {number} bytes
   * @param {number | undefined} maximum
   */
  #showSize(bytes, maximum) {
    this.#meter.max = maximum ?? 4096;
    this.#meter.value = bytes;
    this.#meter.high = (maximum ?? 4096) * 0.9;
    this.#size.textContent = maximum === undefined ? `${bytes.toLocaleString()} bytes` : `${bytes.toLocaleString()} of ${maximum.toLocaleString()} bytes`;
  }

  /**
   * @param {string} kind
   * @param {string} text
   * @param {string} [detail]
   */
  #say(kind, text, detail) {
    this.#check.dataset.kind = kind;
    this.#check.replaceChildren(element("p", {}, text), detail === undefined ? "" : element("p", { class: "under" }, detail));
  }

  // MARK: Sending

  /** @param {Event} event */
  async #submit(event) {
    event.preventDefault();
    const message = this.#message();
    if (!this.#isWhole(message)) return;
    this.#button.disabled = true;
    try {
      const sent = await json("POST", this.#path, this.#document(message));
      this.#sentID = sent.apnsID ?? null;
      this.#sentState = null;
      const text = sent.status === 200 ? "Accepted." : `Refused: ${sent.status} ${sent.reason}.`;
      this.#showLife(text, sent);
      announce(text);
      const entries = sent.apnsID === undefined ? [] : await settled(sent.apnsID);
      if (this.#sentID === (sent.apnsID ?? null)) this.#showEntries(entries);
      this.change();
    } catch (error) {
      this.#result.replaceChildren(section("Answer", element("p", { role: "alert" }, error.message)));
    } finally {
      this.#button.disabled = false;
    }
  }

  /** @type {{ badge: HTMLElement, link: HTMLElement, list: HTMLElement } | null} */
  #life = null;

  /**
   * Shows the answer.
   * @param {string} text
   * @param {API.NotificationSent} sent
   */
  #showLife(text, sent) {
    const badge = element("span", { class: "badge", "data-outcome": sent.status === 200 ? "pending" : "rejected" }, sent.status === 200 ? outcomes.pending : sent.reason);
    this.#life = { badge, link: element("span", {}), list: element("ol", { class: "timeline" }) };
    this.#result.replaceChildren(section("Answer",
      element("p", {}, element("strong", {}, text), " ", badge), sent.detail === undefined ? null : element("p", {}, sent.detail),
      element("p", { class: "hint" }, element("code", {}, sent.apnsID), " ", this.#life.link), this.#life.list));
    this.#result.scrollIntoView({ block: "nearest" });
  }

  /**
   * Shows below the answer what has become of it.
   * @param {Row} row
   */
  #followLife(row) {
    if (this.#life === null) return;
    this.#life.badge.dataset.outcome = row.outcome;
    this.#life.badge.textContent = row.reason ?? outcomeOf(row);
    this.#life.link.replaceChildren(element("a", { href: `#/notification/${encodeURIComponent(row.key)}`, title: exactTime(row.time) }, "Open it"));
    settled(row.id, row.outcome).then((entries) => this.#sentID === row.id && this.#showEntries(entries), () => {});
  }

  /** @param {Entry[]} entries */
  #showEntries(entries) { this.#life?.list.replaceChildren(...timeline(entries)); }
}
