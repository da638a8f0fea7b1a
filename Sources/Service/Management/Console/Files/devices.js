// The page "Devices": all devices, real and virtual.

import { json, list } from "./api.js";
import { ask } from "./dialog.js";
import { element, empty, field, inside, moment } from "./dom.js";
import { cell, List, setText } from "./list.js";
import { behaviours, silentNodes } from "./words.js";

/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./shell.js").Page} Page */

/** How often the page loads the devices again, in milliseconds. If there are more than MANY, it does so only on request. */
const REFRESH = 3000;
const MANY = 2000;

/** @typedef {{ key: string, device: API.Device }} DeviceRow */

export class Devices {
  title = "Devices";
  element;
  #feed;
  /** @type {API.Device[]} */
  #devices = [];
  #isLoaded = false;
  /** @type {Timer} */
  #timer = null;
  #isLoading = false;
  #count = element("p", { class: "count" });
  #problem = element("p", { class: "notice", role: "alert", hidden: true });
  #silent = element("p", { class: "notice", role: "status", hidden: true });
  #empty = element("div", { hidden: true });
  #search = element("input", { type: "search", name: "search", placeholder: "Name, ID, app, device token", autocomplete: "off", spellcheck: "false" });
  #which = element("select", { name: "which" }, ...Object.entries(filters).map(([value, { label }]) => element("option", { value }, label)));
  #list = new List({
    label: "Devices", heads: ["Device", "Kind", "Connection", "Apps", "Waiting"], className: "devices",
    href: (row) => `#/device/${row.key}`, make, update,
  });

  #new = element("button", { type: "button", class: "primary", onclick: () => this.#make() }, "New virtual device");

  /** @param {Feed} feed */
  constructor(feed) {
    this.#feed = feed;
    this.change();
    this.element = element("section", { class: "page", "aria-labelledby": "devices-title" },
      element("div", { class: "heading" },
        element("h1", { id: "devices-title", tabindex: -1 }, "Devices"), this.#count,
        element("div", { class: "push actions" },
          element("button", { type: "button", onclick: () => this.#load() }, "Refresh"),
          this.#new)),
      element("form", { class: "filter", role: "search", "aria-label": "Filter", onsubmit: (event) => event.preventDefault(), oninput: () => this.#show() },
        element("div", { class: "fields" }, field("Search", this.#search, "wide"), field("Show", this.#which))),
      this.#problem, this.#silent, this.#list.element, this.#empty);
  }

  open() { this.#load(); }

  /** Virtual devices exist in the development environment only. */
  change() {
    this.#new.hidden = this.#feed.state?.source === "production";
  }

  close() { clearTimeout(this.#timer); }

  /** @param {Page} before */
  focus(before) {
    if (before.section === "devices") this.#list.focus();
    else this.element.querySelector("h1")?.focus();
  }

  async #load() {
    if (this.#isLoading) return;
    this.#isLoading = true;
    clearTimeout(this.#timer);
    /** @type {string[]} */
    let silent = [];
    try {
      const devices = await list("/v1/devices", Infinity, (soFar, unanswered) => {
        silent = unanswered;
        if (this.#isLoaded) return;
        this.#devices = soFar;
        this.#show(true);
      });
      this.#isLoaded = true;
      this.#devices = devices;
      this.#problem.hidden = true;
      this.#showSilent(silent);
    } catch (error) {
      this.#problem.textContent = error.message;
      this.#problem.hidden = false;
    }
    this.#isLoading = false;
    this.#show();
    if (this.element.isConnected && this.#devices.length <= MANY) this.#timer = setTimeout(() => this.#load(), REFRESH);
  }

  /**
   * Names the nodes of a cluster that did not answer.
   * @param {string[]} nodes
   */
  #showSilent(nodes) {
    const text = nodes.length === 0 ? "" : `${silentNodes(nodes)}: devices that are connected there are shown as not connected.`;
    // A screen reader would read the same text again.
    if (this.#silent.textContent !== text) this.#silent.textContent = text;
    this.#silent.hidden = text === "";
  }

  #show(isLoading = false) {
    const text = this.#search.value.trim().toLowerCase();
    const { isWanted } = filters[this.#which.value];
    const rows = this.#devices.filter((device) => isWanted(device) && (text === "" || searched(device).includes(text)))
      .map((device) => ({ key: device.deviceID, device }));
    // Show devices with a name first: those are the ones that people made for their tests.
    if (this.#devices.length <= MANY) rows.sort((a, b) => (a.device.name ?? "\uffff").localeCompare(b.device.name ?? "\uffff") || (a.key < b.key ? -1 : 1));
    this.#list.show(rows);
    const all = this.#devices.length.toLocaleString();
    this.#count.textContent = isLoading ? `${all}…` : rows.length === this.#devices.length ? all : `${rows.length.toLocaleString()} of ${all}`;
    const isEmpty = rows.length === 0 && !isLoading && this.#problem.hidden;
    this.#list.element.hidden = isEmpty;
    this.#empty.hidden = !isEmpty;
    const kind = this.#devices.length === 0 ? "nothing" : "no match";
    if (!isEmpty || this.#empty.dataset.kind === kind) return;
    this.#empty.dataset.kind = kind;
    this.#empty.replaceChildren(kind === "nothing"
      ? empty("No device yet", this.#new.hidden ? "Connect one from a terminal:" : "Make a virtual device here, which runs in the service, or connect one from a terminal:",
        element("pre", {}, "carillon device activate --out phone.pem\ncarillon device listen --identity phone.pem --bundle-id com.example.app"))
      : empty("No device matches", "Search for something else, or show all devices."));
  }

  async #make() {
    const [teams, apps] = await Promise.all([list("/v1/teams"), list("/v1/apps")]).catch(() => [[], []]);
    const withApps = teams.filter((team) => apps.some((app) => app.teamID === team.teamID));
    const team = element("select", { name: "team", required: true }, ...withApps.map((each) => element("option", { value: each.teamID }, `${each.name} (${each.teamID})`)));
    const name = element("input", { name: "name", placeholder: "phone", autocomplete: "off", maxlength: 100 });
    const behaviour = element("select", { name: "behaviour" }, ...Object.entries(behaviours).map(([value, { label }]) => element("option", { value }, label)));
    ask({
      title: "New virtual device", label: "Make it",
      content: withApps.length === 0 ? [element("p", {}, "There is no team with an app yet. Make one under Accounts.")] : [
        element("p", { class: "hint" }, "It runs in the service, has all apps of its team, and exists until the service ends."),
        field("Team", team), field("Name", name), field("Behaviour", behaviour)],
      perform: async () => {
        /** @type {{ team: string, behaviour: { kind: string }, name?: string }} */
        const device = { team: team.value, behaviour: { kind: behaviour.value } };
        if (name.value.trim() !== "") device.name = name.value.trim();
        const made = await json("POST", "/v1/devices", device);
        location.hash = `#/device/${made.deviceID}`;
      },
    });
  }
}

/** @type {Record<string, { label: string, isWanted: (device: API.Device) => boolean }>} */
const filters = {
  all: { label: "All devices", isWanted: () => true },
  connected: { label: "Connected", isWanted: (device) => device.connected },
  disconnected: { label: "Not connected", isWanted: (device) => !device.connected },
  waiting: { label: "With something waiting", isWanted: (device) => device.apps.some((app) => app.waiting > 0) },
  virtual: { label: "Virtual", isWanted: (device) => device.virtual },
  real: { label: "Real", isWanted: (device) => !device.virtual },
};

const texts = new WeakMap();

/**
 * The text that the search looks in: a device's name, ID, environment, apps and device tokens, in lower case.
 * @param {API.Device} device
 */
function searched(device) {
  if (!texts.has(device)) {
    texts.set(device, [device.name ?? "", device.deviceID, device.environment, ...device.apps.flatMap((app) => [app.bundleID, app.token])].join("\n").toLowerCase());
  }
  return texts.get(device);
}

function make() {
  return [cell("title", element("a", {})), cell("app"), cell("time"), cell("device"), cell("outcome", element("span", { class: "badge" }))];
}

/**
 * @param {HTMLElement} shown
 * @param {DeviceRow} deviceRow
 */
function update(shown, { device }) {
  const waiting = device.apps.reduce((sum, app) => sum + app.waiting, 0);
  setText(shown, ".title a", device.name ?? device.deviceID, device.deviceID);
  setText(shown, ".app", device.virtual ? `Virtual, ${behaviours[device.behaviour?.kind ?? ""]?.label.toLowerCase() ?? ""}` : `Real, ${device.environment}`);
  setText(shown, ".device", device.apps.map((app) => app.bundleID).join(", ") || "No app");
  setText(shown, ".badge", waiting === 0 ? "Nothing" : waiting.toLocaleString());
  shown.dataset.outcome = waiting === 0 ? "" : "stored";
  const time = inside(shown, ".time", HTMLElement);
  const state = `${device.connected} ${device.since} ${device.lastSeen}`;
  if (time.dataset.state === state) return;
  time.dataset.state = state;
  if (device.connected && device.since !== undefined) time.replaceChildren("Connected", element("span", {}, " since ", moment(device.since)));
  else if (device.lastSeen !== undefined) time.replaceChildren("Not connected", element("span", {}, ", last seen ", moment(device.lastSeen)));
  else time.replaceChildren(device.connected ? "Connected" : "Not connected");
}
