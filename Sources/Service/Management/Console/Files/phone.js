// The page of one device: a picture of its screen, its behaviour, and its apps.

import { activityCards, activityChannels } from "./activities.js";
import { fromNodes, json } from "./api.js";
import { confirm, counted } from "./dialog.js";
import { announce, element, field, inside, moment, section } from "./dom.js";
import { contents, missingTexts, saveAppTexts } from "./payload.js";
import { behaviours, outcomes, powers, short, silentNodes } from "./words.js";

/** @typedef {import("./payload.js").Banner} Banner */
/** @typedef {import("./feed.js").Feed} Feed */
/** @typedef {import("./payload.js").Part} Part */
/** @typedef {import("./model.js").Row} Row */

const REFRESH = 2000;
/** The maximum number of banners drawn: more than people have on a phone. */
const BANNERS = 40;

export class Phone {
  title = "Device";
  section = "devices";
  element = element("article", { class: "page scroll" });
  #feed;
  #id = "";
  /** @type {API.Device | null} */
  #device = null;
  /** What the page shows of the device, as text. */
  #shown = "";
  /** @type {Timer} */
  #timer = null;
  #state = "";
  #screen = element("div", { class: "screen", tabindex: 0, role: "region", "aria-label": "What the device shows" });
  #heading = element("h1", { tabindex: -1 });
  #under = element("p", { class: "under" });
  #side = element("div", { class: "stack" });
  #switches = element("div", { class: "stack" });
  #apps = element("div");
  #others = element("div");
  #texts = element("div");
  /**
   * The banners on the screen.
   * @type {Banner[]}
   */
  #banners = [];
  /** Everything below the heading. Hidden while no device is known. */
  #columns;
  /**
   * Opens the editor of what only an app knows; null while there is none.
   * @type {((bundleID: string) => void) | null}
   */
  #edit = null;

  /** @param {Feed} feed */
  constructor(feed) {
    this.#feed = feed;
    this.#side.append(this.#switches, this.#apps, this.#others, this.#texts);
    this.#columns = element("div", { class: "columns phone-columns" },
      element("div", { class: "phone" }, element("div", { class: "island", "aria-hidden": "true" }), this.#screen), this.#side);
    this.element.append(
      element("a", { class: "back", href: "#/devices" }, "← Devices"), element("header", {}, this.#heading, this.#under), this.#columns);
  }

  /**
   * @param {string} query
   * @param {string} id
   */
  open(query, id) {
    if (id !== this.#id) {
      this.#id = id;
      this.#device = null;
      this.#banners = [];
      this.#edit = null;
      this.#state = "";
      this.#columns.hidden = true;
      this.#heading.textContent = "One moment…";
      for (const place of [this.#under, this.#switches, this.#apps, this.#others, this.#texts, this.#screen]) place.replaceChildren();
    }
    this.#load();
  }

  close() { clearTimeout(this.#timer); }

  focus() { this.#heading.focus(); }

  change() {
    if (this.#device === null) return;
    const rows = this.#rows();
    const state = rows.map((row) => row.key + row.outcome).join(" ") + this.#feed.state?.source;
    if (state === this.#state) return;
    this.#state = state;
    this.#drawScreen(rows);
    this.#drawOthers(rows);
    this.#load();
  }

  /** What was for this device, and the broadcasts of the channels that update its Live Activities: they name no device. */
  #rows() {
    const rows = this.#feed.model.rows.filter((row) => row.request !== null);
    const channels = new Set(activityChannels(rows.filter((row) => row.device === this.#id)).filter((channel) => this.#hears(channel)));
    return rows.filter((row) => row.device === this.#id || row.device === "" && row.outcome === "delivered" && channels.has(row.channel));
  }

  /**
   * A real device subscribes when a Live Activity starts, a virtual one only if it is told to.
   * @param {string} channel
   */
  #hears(channel) { return this.#device?.virtual !== true || Object.values(this.#device.channels).flat().includes(channel); }

  async #load() {
    clearTimeout(this.#timer);
    const id = this.#id;
    try {
      const { value, unanswered } = await fromNodes(`/v1/devices/${encodeURIComponent(id)}`);
      if (id !== this.#id) return;
      this.#show(value, unanswered);
    } catch (error) {
      if (id !== this.#id) return;
      this.#device = null;
      this.#columns.hidden = true;
      this.#heading.textContent = error.status === 404 || error.status === 400 ? "There is no such device" : "The device cannot be shown";
      this.#under.textContent = error.message;
      return;
    }
    if (this.element.isConnected) this.#timer = setTimeout(() => this.#load(), REFRESH);
  }

  /**
   * @param {API.Device} device
   * @param {string[]} [unanswered] the nodes of a cluster that did not answer
   */
  #show(device, unanswered = []) {
    const isFirst = this.#device === null;
    this.#device = device;
    const shown = JSON.stringify([device, unanswered]);
    if (!isFirst && this.#shown === shown) return;
    this.#shown = shown;
    this.#columns.hidden = false;
    this.#heading.textContent = device.name ?? `Device ${device.deviceID}`;
    this.#under.replaceChildren(
      element("span", { class: "badge", "data-outcome": device.connected ? "delivered" : "" }, device.connected ? "Connected" : "Not connected"),
      device.connected && device.since !== undefined ? " since " : " ",
      device.connected && device.since !== undefined ? moment(device.since) : "",
      ` · ${device.virtual ? "virtual" : "real"} · ${device.environment}`, device.power === undefined ? "" : ` · power: ${powers[device.power] ?? device.power}`,
      ...(device.lastSeen === undefined ? [] : [" · last seen ", moment(device.lastSeen)]), device.software === undefined ? "" : ` · ${device.software}`,
      device.connected || unanswered.length === 0 ? "" : ` · ${silentNodes(unanswered)}: it may be connected there`,
      element("span", { class: "hint" }, ` · ${device.deviceID}`));
    if (isFirst) this.#drawSwitches();
    this.#showSwitches();
    this.#drawApps();
    if (isFirst) {
      this.#drawTexts();
      this.change();
    }
  }

  // MARK: Behaviour and power

  #drawSwitches() {
    const device = this.#device;
    if (device === null) return;
    if (!device.virtual) {
      this.#switches.replaceChildren(section("Connection",
        element("p", {}, "Only the device itself can change its connection and its power."),
        element("div", { class: "actions" }, element("button", { type: "button", class: "danger", onclick: () => this.#revoke() }, "Revoke the device"))));
      return;
    }
    /**
     * @param {string} name
     * @param {Record<string, string | { label: string, hint: string }>} values
     * @param {(value: string) => unknown} perform
     */
    const choices = (name, values, perform) => element("div", { class: "segments", role: "radiogroup", "aria-label": name },
      ...Object.entries(values).map(([value, each]) => element("label", { title: typeof each === "string" ? "" : each.hint },
        element("input", { type: "radio", name, value, onchange: () => perform(value) }), element("span", {}, typeof each === "string" ? each : each.label))));
    const delay = element("input", { type: "number", name: "delay", min: 0.05, max: 3600, step: 0.05, value: 1, onchange: () => this.#behave("slow") });
    const hint = element("p", { class: "hint", id: "behaviour-hint" });
    this.#switches.replaceChildren(section("Behaviour",
      choices("behaviour", behaviours, (kind) => this.#behave(kind)), hint,
      element("div", { class: "delay" }, field("Seconds until it acknowledges", delay)),
      element("h3", {}, "Power"),
      choices("power", powers, (power) => this.#change({ power })),
      element("p", { class: "hint" }, "If its power is low, notifications of priority 5 wait for up to 30 seconds, and those of priority 1 until something else is sent."),
      element("p", { class: "problem", role: "alert" }),
      element("div", { class: "actions" }, element("button", { type: "button", class: "danger", onclick: () => this.#remove() }, "Remove the device"))));
  }

  #showSwitches() {
    if (this.#device === null || !this.#device.virtual) return;
    const { behaviour, power } = this.#device;
    for (const control of this.#controls("behaviour")) control.checked = control.value === behaviour?.kind;
    // The power of a device that is not connected is not known.
    for (const control of this.#controls("power")) {
      control.disabled = power === undefined;
      if (power !== undefined) control.checked = control.value === power;
    }
    inside(this.#switches, ".delay", HTMLElement).hidden = behaviour?.kind !== "slow";
    // Not while somebody types in it.
    const [delay] = this.#controls("delay");
    const seconds = /^PT([0-9.]+)S$/u.exec(behaviour?.delay ?? "")?.[1];
    if (seconds !== undefined && delay !== document.activeElement) delay.value = seconds;
    inside(this.#switches, "#behaviour-hint", HTMLElement).textContent = behaviours[behaviour?.kind ?? ""]?.hint ?? "";
  }

  /**
   * The inputs with a name.
   * @param {string} name
   */
  #controls(name) {
    return /** @type {HTMLInputElement[]} */ ([...this.#switches.querySelectorAll(`input[name=${name}]`)]);
  }

  /** @param {string} kind */
  #behave(kind) {
    /** @type {{ kind: string, delay?: string }} */
    const behaviour = { kind };
    if (kind === "slow") behaviour.delay = `PT${Number(this.#controls("delay")[0].value) || 1}S`;
    return this.#change({ behaviour });
  }

  /** @param {{ power?: string, behaviour?: { kind: string, delay?: string } }} change */
  async #change(change) {
    const problem = inside(this.#switches, ".problem", HTMLElement);
    try {
      this.#show(await json("PATCH", `/v1/devices/${this.#id}`, change));
      problem.textContent = "";
      announce(change.behaviour !== undefined ? `The device is now: ${behaviours[change.behaviour.kind].label}.` : `Its power is now: ${powers[change.power ?? ""]}.`);
    } catch (error) {
      problem.textContent = error.message;
      this.#showSwitches();
    }
  }

  #remove() {
    const apps = this.#device?.apps ?? [];
    confirm(`Remove ${this.#heading.textContent}?`, [
      `${counted(apps.length, "device token")} become worthless: 410 Unregistered.`,
      `${counted(apps.reduce((sum, app) => sum + app.waiting, 0), "notification")} that ${apps.reduce((sum, app) => sum + app.waiting, 0) === 1 ? "waits" : "wait"} for it will not be delivered.`,
    ], "Remove", () => this.#end());
  }

  #revoke() {
    confirm("Revoke this device?", [
      "Its certificate is worthless, and its connection ends now.", `${counted(this.#device?.apps.length ?? 0, "device token")} become worthless: 410 Unregistered.`,
      "It cannot be undone: the device has to be activated anew.",
    ], "Revoke", () => this.#end());
  }

  async #end() {
    await json("DELETE", `/v1/devices/${this.#id}`);
    location.hash = "#/devices";
  }

  // MARK: Apps

  #drawApps() {
    if (this.#device === null) return;
    const { apps, environment } = this.#device;
    const subscriptions = this.#device.subscriptions ?? [];
    this.#apps.replaceChildren(section("Apps",
      ...(apps.length === 0 ? [element("p", { class: "hint" }, "No app is registered. The device registers its apps when it connects, for example with carillon device listen --bundle-id.")] : []),
      ...apps.map((app) => element("div", { class: "app-row" },
        element("div", {}, element("strong", {}, app.bundleID), " ",
          app.waiting === 0 ? "" : element("span", { class: "badge", "data-outcome": "stored" }, `${counted(app.waiting, "notification")} waiting`)),
        element("code", { title: app.token }, short(app.token, 24)),
        environment === "development" ? element("a", { href: `#/send?${new URLSearchParams({ app: app.bundleID, device: this.#id })}` }, "Send to it") : ""))),
    ...(subscriptions.length === 0 ? [] : [section("Subscriptions to Web Push",
      ...subscriptions.map((each) => element("div", { class: "app-row" },
        element("div", {}, element("strong", {}, each.name), ` of ${each.bundleID}`), element("code", { title: each.endpoint }, short(each.endpoint, 48)))))]));
  }

  /**
   * Lists the notifications that are not on the screen, with the reason.
   * @param {Row[]} rows
   */
  #drawOthers(rows) {
    const others = rows.filter((row) => row.outcome !== "delivered").toReversed().slice(0, 20);
    this.#others.replaceChildren(...(others.length === 0 ? [] : [section("Not on the screen",
      element("ul", { class: "plain" }, ...others.map((row) => element("li", {},
        element("a", { href: `#/notification/${encodeURIComponent(row.key)}` }, row.title ?? row.id), " ",
        element("span", { class: "badge", "data-outcome": row.outcome }, row.reason ?? outcomes[row.outcome])))))]));
  }

  // MARK: The screen

  /** @param {Row[]} rows */
  #drawScreen(rows) {
    const source = this.#feed.state?.source ?? null;
    if (source !== null && source !== "journal") {
      this.#screen.replaceChildren(element("p", { class: "blank" }, source === "log"
        ? "The journal is off, so the console cannot tell what the device shows. Switch it on under Notifications."
        : "This service serves production: the console never shows a payload."));
      return;
    }
    const shown = onScreen(rows.filter((row) => row.outcome === "delivered"));
    const apps = [...shown.apps].sort(([a], [b]) => a.localeCompare(b));
    this.#banners = shown.banners.slice(0, BANNERS);
    this.#screen.replaceChildren(
      element("div", { class: "icons" }, ...apps.map(([bundleID, app]) => icon(bundleID, app.badge))),
      ...(shown.banners.length + shown.silent.length === 0 ? this.#blank() : []),
      ...activityCards(rows.filter((row) => row.outcome === "delivered")),
      ...this.#unknown(), ...groups(this.#banners),
      ...(shown.silent.length === 0 ? [] : [element("div", { class: "silent-group" },
        element("h2", {}, "Without anything to see"), ...shown.silent.slice(0, 10).map(silent))]));
  }

  /** What to do while nothing has arrived. */
  #blank() {
    if (this.#device === null) return [];
    const { apps, environment } = this.#device;
    const address = `#/send?${new URLSearchParams({ app: apps[0]?.bundleID ?? "", device: this.#id })}`;
    return [element("p", { class: "blank" }, "Nothing has arrived yet. ",
      apps.length > 0 && environment === "development" ? element("a", { href: address }, "Send something to it") : "")];
  }

  /** Says how much of what is drawn only the app knows, and leads to where it can be told. */
  #unknown() {
    const missing = [...new Set(this.#banners.map((banner) => banner.app))].map((app) => ({ app, count: missingTexts(app, this.#banners).count }));
    const first = missing.find(({ count }) => count > 0);
    if (first === undefined) return [];
    const count = missing.reduce((sum, each) => sum + each.count, 0);
    return [element("p", { class: "silent" }, `Only the app has ${counted(count, "text or category", "texts and categories")} of these. `,
      element("button", { type: "button", class: "link", onclick: () => this.#edit?.(first.app) }, "Enter what they are"))];
  }

  /** What only the app knows: its texts and the actions of its categories. They stay in this browser. */
  #drawTexts() {
    const bundleIDs = (this.#device?.apps ?? []).map((app) => app.bundleID);
    if (bundleIDs.length === 0) return;
    const app = element("select", {}, ...bundleIDs.map((each) => element("option", { value: each }, each)));
    const text = element("textarea", { rows: 7, spellcheck: "false", class: "mono" });
    const answer = element("p", { class: "hint", role: "status" });
    const show = () => { text.value = JSON.stringify(missingTexts(app.value, this.#banners).texts, null, 2); };
    app.addEventListener("change", show);
    /** @type {HTMLDetailsElement} */
    const details = element("details", { class: "card", ontoggle: () => details.open && show() }, element("summary", {}, "Texts and actions of the app"),
      element("div", { class: "stack" },
        element("p", { class: "hint" }, "The payload names them, and the app has them. What you write here is kept in this browser, and resolves them on the screen. Categories are as in carillon device listen --categories."),
        field("App", app), field("JSON", text),
        element("div", { class: "actions" }, element("button", {
          type: "button", onclick: () => {
            answer.textContent = saveAppTexts(app.value, text.value) ?? "Kept.";
            this.#state = "";
            this.change();
          },
        }, "Keep"), answer)));
    this.#texts.replaceChildren(details);
    this.#edit = (bundleID) => {
      app.value = bundleID;
      details.open = true;
      show();
      text.focus();
    };
  }
}

/**
 * What the screen shows after these notifications have arrived, newest first.
 * @param {Row[]} rows
 */
function onScreen(rows) {
  const apps = new Map();
  /** @type {Banner[]} */
  let banners = [];
  /** @type {Banner[]} */
  const silents = [];
  for (const row of rows) {
    /** @type {Banner} */
    const made = { ...contents(row), replaced: [] };
    const app = apps.get(made.app) ?? { badge: 0 };
    apps.set(made.app, app);
    if (made.badge !== null) app.badge = made.badge;
    if (made.isShown) {
      const old = made.collapseID === "" ? undefined : banners.find((each) => each.app === made.app && each.collapseID === made.collapseID);
      if (old !== undefined) {
        made.replaced = [...old.replaced, old];
        banners = banners.filter((each) => each !== old);
      }
      banners.push(made);
    } else silents.push(made);
  }
  return { apps, banners: banners.reverse(), silent: silents.reverse() };
}

/**
 * Groups banners by app and thread, as a phone does.
 * @param {Banner[]} banners
 */
function groups(banners) {
  const found = new Map();
  for (const banner of banners) {
    const key = `${banner.app}\n${banner.thread}`;
    found.set(key, [...found.get(key) ?? [], banner]);
  }
  return [...found.values()].map((group) => element("div", { class: "thread" },
    group.length > 1 || group[0].thread !== ""
      ? element("h2", {}, group[0].thread === "" ? `${group[0].appName}, ${counted(group.length, "notification")}` : `${group[0].appName}, thread ${group[0].thread}`) : null,
    ...group.map(drawn)));
}

/** @param {Banner} banner */
function drawn(banner) {
  /**
   * @param {string} className
   * @param {Part | null} part
   */
  const text = (className, part) => (part === null ? null : element("p", { class: className },
    part.isKnown ? part.text : element("span", { class: "unknown-text", title: "The app has this text. Its key and its arguments are shown." }, element("span", { class: "unseen" }, "A text of the app: "), part.text)));
  const tags = [
    banner.sound, banner.level, banner.category === "" ? null : `Category ${banner.category}${banner.isCategoryKnown ? "" : ", its actions are not known"}`, banner.isMutable ? "The app may change it" : null,
    banner.replaced.length === 0 ? null : `Replaced ${counted(banner.replaced.length, "earlier one")} (${banner.collapseID})`,
  ].filter((tag) => tag !== null);
  return element("article", { class: "banner" },
    element("header", {}, element("span", { class: "app-icon", "aria-hidden": "true" }, initial(banner.app)),
      element("span", { class: "app-name" }, banner.appName), moment(banner.time)),
    element("a", { class: "banner-link", href: `#/notification/${encodeURIComponent(banner.key)}` },
      text("banner-title", banner.title ?? banner.body ?? { text: "No text", isKnown: true })),
    text("banner-subtitle", banner.subtitle), banner.title === null ? null : text("banner-body", banner.body),
    banner.actions.length === 0 ? null : element("ul", { class: "banner-actions", "aria-label": "Actions" }, ...banner.actions.map((action) => element("li", {}, action))),
    tags.length === 0 ? null : element("ul", { class: "tags", "aria-label": "Details" }, ...tags.map((tag) => element("li", {}, tag))));
}

/** @param {Banner} made */
function silent(made) {
  return element("p", { class: "silent" }, moment(made.time), " ",
    element("a", { href: `#/notification/${encodeURIComponent(made.key)}` }, made.what), ` · ${made.appName}`);
}

/**
 * @param {string} bundleID
 * @param {number} badge
 */
function icon(bundleID, badge) {
  return element("figure", { class: "icon" },
    element("div", { class: "app-icon large", "aria-hidden": "true" }, initial(bundleID)),
    badge > 0 ? element("span", { class: "app-badge", "aria-label": `Badge ${badge}` }, badge > 999 ? "999+" : String(badge)) : null,
    element("figcaption", {}, bundleID.split(".").at(-1)));
}

/** @param {string} bundleID */
const initial = (bundleID) => (bundleID.split(".").at(-1)?.[0] ?? "?").toUpperCase();
