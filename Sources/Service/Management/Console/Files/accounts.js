// The page "Accounts": teams with their apps, keys and certificates.

import { json, list } from "./api.js";
import { ask, confirm, counted } from "./dialog.js";
import { accountID, element, empty, field, moment } from "./dom.js";
import { exactTime } from "./time.js";
import { endForwarding, forward } from "./upstreams.js";
import { webPush } from "./webpush.js";
import { short } from "./words.js";

/** @typedef {import("./dom.js").Content} Content */
/** @typedef {import("./feed.js").Feed} Feed */

/** The maximum number of devices that the page loads, to say how many a deletion affects. */
const DEVICES = 5000;

export class Accounts {
  title = "Accounts";
  element;
  #feed;
  #teams = element("div", { class: "stack" });
  #count = element("p", { class: "count" });
  /** @type {{ teams: API.Team[], apps: API.App[], keys: API.Key[], certificates: API.Certificate[], devices: API.Device[] }} */
  #all = { teams: [], apps: [], keys: [], certificates: [], devices: [] };

  /** @param {Feed} feed */
  constructor(feed) {
    this.#feed = feed;
    this.element = element("section", { class: "page scroll", "aria-labelledby": "accounts-title" },
      element("div", { class: "heading" },
        element("h1", { id: "accounts-title", tabindex: -1 }, "Accounts"), this.#count,
        element("div", { class: "push actions" }, element("button", { type: "button", class: "primary", onclick: () => this.#newTeam() }, "New team"))),
      this.#teams);
  }

  open() { this.#load(); }

  focus() { this.element.querySelector("h1")?.focus(); }

  async #load() {
    try {
      const [teams, apps, keys, certificates, devices] = await Promise.all(
        [list("/v1/teams"), list("/v1/apps"), list("/v1/keys"), list("/v1/certificates"), list("/v1/devices", DEVICES)]);
      this.#all = { teams, apps, keys, certificates, devices };
    } catch (error) {
      this.#teams.replaceChildren(element("p", { class: "notice", role: "alert" }, error.message));
      return;
    }
    this.#count.textContent = counted(this.#all.teams.length, "team");
    const teams = this.#all.teams.toSorted((a, b) => a.name.localeCompare(b.name));
    this.#teams.replaceChildren(...(teams.length === 0
      ? [empty("No team yet", "A team has apps, and keys or certificates with which its providers send to them. Make the first one.")]
      : teams.map((team) => this.#team(team))));
  }

  /** @param {API.Team} team */
  #team(team) {
    /**
     * @template {{ teamID?: string }} T
     * @param {T[]} items
     */
    const of = (items) => items.filter((item) => item.teamID === team.teamID);
    const id = `team-${team.teamID}`;
    /**
     * @param {string} label
     * @param {() => unknown} perform
     */
    const button = (label, perform, className = "") => element("button", { type: "button", class: className, onclick: perform, "aria-describedby": id }, label);
    return element("section", { class: "card team", "aria-labelledby": id },
      element("div", { class: "heading" }, element("h2", { id }, team.name), element("code", {}, team.teamID),
        element("div", { class: "push actions" }, button("Delete the team", () => this.#deleteTeam(team), "quiet danger"))),
      group("Apps", button("New app", () => this.#newApp(team)), of(this.#all.apps).map((app) => this.#app(app)), "No app yet. Notifications need an app as their destination."),
      group("Keys", button("New key", () => this.#newKey(team)), of(this.#all.keys).map((key) => this.#key(key)), "No key yet. Providers sign their tokens with a key."),
      group("Certificates", of(this.#all.apps).length === 0 ? null : button("New certificate", () => this.#newCertificate(team)),
        of(this.#all.certificates).map((certificate) => this.#certificate(certificate)), "No certificate yet. A provider needs one only if it does not use a key."));
  }

  // MARK: Rows

  /** @param {API.App} app */
  #app(app) {
    const devices = this.#devicesWith([app.bundleID]);
    /**
     * @param {string} method
     * @param {string} path
     * @param {unknown} [body]
     */
    const perform = (method, path, body) => this.#perform(method, path, body);
    const upstreams = (app.upstreams ?? []).map(({ environment, url }) => `, ${environment} forwarded to ${url}`).join("");
    const refused = (app.upstreams ?? []).map(({ environment, refused }) => refused === undefined ? null
      : element("span", { class: "notice", role: "alert" }, `The upstream refuses your key or certificate for ${environment} since `, moment(refused.since), `: ${refused.reason}. Nothing is delivered until you replace it with "Forward".`));
    return item(element("strong", {}, app.bundleID), element("span", {}, `${counted(devices.length, "device")}${this.#more()}, keeps ${app.keep}${upstreams}`, ...refused),
      element("a", { class: "button quiet", href: `#/send?${new URLSearchParams({ app: app.bundleID })}` }, "Send"),
      element("button", { type: "button", class: "quiet", "aria-label": `Forward ${app.bundleID}`, onclick: () => forward(app, perform) }, "Forward"),
      element("button", { type: "button", class: "quiet", "aria-label": `Web Push of ${app.bundleID}`, onclick: () => webPush(app, perform) }, "Web Push"),
      ...((app.upstreams ?? []).length > 0 ? []
        : [element("button", { type: "button", class: "quiet", "aria-label": `Keep more of ${app.bundleID}`, onclick: () => this.#keep(app) }, "Keep")]),
      ...(app.upstreams ?? []).map(({ environment }) => remove("Forward no more", `${app.bundleID} in ${environment}`, () => endForwarding(app, environment, perform))),
      remove("Delete", app.bundleID, () => this.#deleteApp(app)));
  }

  /** @param {API.Key} key */
  #key(key) {
    const scope = [...key.environments, ...(key.bundleIDs ?? [])].join(", ");
    return item(element("code", {}, key.keyID), scope,
      key.revoked === undefined ? remove("Revoke", key.keyID, () => this.#revokeKey(key)) : revoked(key.revoked));
  }

  /** @param {API.Certificate} certificate */
  #certificate(certificate) {
    return item(element("span", {}, element("strong", {}, certificate.bundleID), " ", element("code", { title: certificate.serial }, short(certificate.serial, 8))),
      element("span", {}, `${certificate.environments.join(", ")}, valid until `,
      element("time", { datetime: exactTime(certificate.validUntil), title: exactTime(certificate.validUntil) }, new Date(certificate.validUntil).toLocaleDateString())),
      certificate.revoked === undefined ? remove("Revoke", certificate.bundleID, () => this.#revokeCertificate(certificate)) : revoked(certificate.revoked));
  }

  // MARK: The effects of deleting and revoking

  /** @param {string[]} bundleIDs */
  #devicesWith(bundleIDs) {
    return this.#all.devices.filter((device) => device.apps.some((app) => bundleIDs.includes(app.bundleID)));
  }

  /** Follows a number of devices if the page has not loaded all devices. */
  #more() { return this.#all.devices.length >= DEVICES ? " or more" : ""; }

  /** @param {string[]} bundleIDs */
  #waiting(bundleIDs) {
    return this.#all.devices.flatMap((device) => device.apps).filter((app) => bundleIDs.includes(app.bundleID))
      .reduce((sum, app) => sum + app.waiting, 0);
  }

  /**
   * A sentence that says how much a key or certificate was used lately, according to the journal.
   * @param {string} name
   * @param {(request: API.RecordedRequest) => boolean} isIt
   */
  #use(name, isIt) {
    const rows = this.#feed.model.rows.filter((row) => row.request !== null && isIt(row.request));
    return rows.length === 0 ? `Nobody has used this ${name} lately.`
      : element("span", {}, `It sent ${counted(rows.length, "notification")} of the last ${this.#feed.model.rows.length.toLocaleString()}, the last one at `, moment(rows[rows.length - 1].time), ".");
  }

  /** @param {API.Team} team */
  #deleteTeam(team) {
    const { bundleIDs } = team;
    const keys = this.#all.keys.filter((key) => key.teamID === team.teamID && key.revoked === undefined);
    confirm(`Delete the team ${team.name}?`, [
      `${counted(bundleIDs.length, "app")}, ${counted(keys.length, "key")} and ${counted(team.serials.length, "certificate")} are deleted, and the virtual devices of the team.`,
      `Requests of its providers are rejected from now on, also on open connections.`,
      `Device tokens on ${counted(this.#devicesWith(bundleIDs).length, "device")}${this.#more()} become worthless, also if you make the team again.`,
      `${counted(this.#waiting(bundleIDs), "notification")} that ${this.#waiting(bundleIDs) === 1 ? "waits" : "wait"} for devices will not be delivered.`,
    ], "Delete the team", () => this.#perform("DELETE", `/v1/teams/${team.teamID}`));
  }

  /** @param {API.App} app */
  #deleteApp(app) {
    const certificates = this.#all.certificates.filter((each) => each.bundleID === app.bundleID && each.revoked === undefined);
    const waiting = this.#waiting([app.bundleID]);
    confirm(`Delete the app ${app.bundleID}?`, [
      `Device tokens on ${counted(this.#devicesWith([app.bundleID]).length, "device")}${this.#more()} become worthless, also if you make the app again.`,
      `${counted(certificates.length, "certificate")} of the app ${certificates.length === 1 ? "is" : "are"} deleted.`,
      `${counted(waiting, "notification")} that ${waiting === 1 ? "waits" : "wait"} for devices will not be delivered.`,
    ], "Delete the app", () => this.#perform("DELETE", `/v1/apps/${encodeURIComponent(app.bundleID)}`));
  }

  /** @param {API.Key} key */
  #revokeKey(key) {
    confirm(`Revoke the key ${key.keyID}?`, [
      "Requests with this key are rejected from now on, also on open connections: 403 InvalidProviderToken.",
      this.#use("key", (request) => request.keyID === key.keyID),
      "It cannot be undone. Give the providers another key first.",
    ], "Revoke the key", () => this.#perform("DELETE", `/v1/keys/${key.keyID}`));
  }

  /** @param {API.Certificate} certificate */
  #revokeCertificate(certificate) {
    confirm("Revoke the certificate?", [
      `It is for ${certificate.bundleID}. Requests with it are rejected from now on, also on open connections.`,
      this.#use("certificate", (request) => request.certificate === certificate.serial),
      "It cannot be undone. Give the providers another certificate first.",
    ], "Revoke the certificate", () => this.#perform("DELETE", `/v1/certificates/${certificate.serial}`));
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} [body]
   */
  async #perform(method, path, body) {
    const answer = await json(method, path, body);
    await this.#load();
    return answer;
  }

  // MARK: Making teams, apps, keys and certificates

  #newTeam() {
    const name = element("input", { name: "name", required: true, autocomplete: "off", placeholder: "Shop" });
    const id = element("input", { name: "teamID", placeholder: "The service chooses one", ...accountID });
    ask({
      title: "New team", label: "Make it", content: [field("Name", name), field("Team ID, if you have one", id)],
      perform: () => this.#perform("POST", "/v1/teams", withText({ name: name.value.trim() }, { teamID: id.value.trim() })),
    });
  }

  /** @param {API.Team} team */
  #newApp(team) {
    const id = element("input", { name: "bundleID", required: true, autocomplete: "off", spellcheck: "false", placeholder: "com.example.shop" });
    ask({
      title: `New app of ${team.name}`, label: "Make it", content: [field("Bundle ID", id)],
      perform: () => this.#perform("POST", "/v1/apps", { team: team.teamID, bundleID: id.value.trim() }),
    });
  }

  /** @param {API.App} app */
  #keep(app) {
    const keep = element("input", { name: "keep", type: "number", min: 1, max: 1000, step: 1, required: true, value: app.keep });
    ask({
      title: `What ${app.bundleID} keeps`, label: "Keep them",
      content: [field("Notifications for a device that is offline", keep),
        element("p", { class: "hint" }, "1 is the newest alone, as with APNs. Up to 1,000 are kept in their order, 4 MiB for each device. Beyond that the oldest is dropped, at once if you lower the number.")],
      perform: () => this.#perform("PATCH", `/v1/apps/${encodeURIComponent(app.bundleID)}`, { keep: Number(keep.value) }),
    });
  }

  /** @param {API.Team} team */
  #newKey(team) {
    const environment = element("select", { name: "environment" }, ...[["", "Both"], ["development", "Development"], ["production", "Production"]]
      .map(([value, label]) => element("option", { value }, label)));
    const id = element("input", { name: "keyID", placeholder: "The service chooses one", ...accountID });
    ask({
      title: `New key of ${team.name}`, label: "Make it", content: [field("Environment", environment), field("Key ID, if you have one", id)],
      perform: async () => {
        const made = await this.#perform("POST", "/v1/keys", withText({ team: team.teamID }, { environment: environment.value, keyID: id.value.trim() }));
        download(`The key ${made.keyID}`, `AuthKey_${made.keyID}.p8`, made.privateKey, `Team ID ${team.teamID}, key ID ${made.keyID}.`);
      },
    });
  }

  /** @param {API.Team} team */
  #newCertificate(team) {
    const apps = this.#all.apps.filter((app) => app.teamID === team.teamID);
    const app = element("select", { name: "bundleID" }, ...apps.map((each) => element("option", { value: each.bundleID }, each.bundleID)));
    const environment = element("select", { name: "environment" }, ...[["universal", "Both"], ["development", "Development"], ["production", "Production"]]
      .map(([value, label]) => element("option", { value }, label)));
    ask({
      title: `New certificate of ${team.name}`, label: "Make it", content: [field("App", app), field("Environment", environment)],
      perform: async () => {
        const made = await this.#perform("POST", "/v1/certificates", { team: team.teamID, bundleID: app.value, environment: environment.value });
        download("The certificate and its key", `${app.value}.pem`, made.chain + made.privateKey, `Serial ${made.serial}, in PEM.`);
      },
    });
  }
}

/**
 * `members`, and those of `others` whose text is not empty.
 * @param {Record<string, unknown>} members
 * @param {Record<string, string>} others
 */
function withText(members, others) {
  return { ...members, ...Object.fromEntries(Object.entries(others).filter(([, value]) => value !== "")) };
}

/**
 * @param {string} name
 * @param {Content} button
 * @param {Content[]} rows
 * @param {string} nothing
 */
function group(name, button, rows, nothing) {
  return element("div", { class: "group" }, element("div", { class: "heading" }, element("h3", {}, name), button),
    rows.length === 0 ? element("p", { class: "hint" }, nothing) : element("ul", { class: "plain" }, ...rows));
}

/**
 * @param {Content} name
 * @param {Content} facts
 * @param {Content[]} actions
 */
function item(name, facts, ...actions) {
  return element("li", { class: "item" }, name, element("span", { class: "hint" }, facts), element("span", { class: "item-actions" }, ...actions));
}

/**
 * @param {string} label
 * @param {string} name
 * @param {() => unknown} perform
 */
function remove(label, name, perform) {
  return element("button", { type: "button", class: "quiet danger", "aria-label": `${label} ${name}`, onclick: perform }, label);
}

/** @param {number} time */
function revoked(time) {
  return element("span", { class: "badge", "data-outcome": "rejected" }, "Revoked ", moment(time));
}

/**
 * Offers a secret for download. The page forgets it when the dialog closes.
 * @param {string} title
 * @param {string} file
 * @param {string} text
 * @param {string} hint
 */
function download(title, file, text, hint) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/x-pem-file" }));
  const note = element("p", { class: "hint", role: "status" });
  let isDownloaded = false;
  const link = element("a", { class: "button primary", href: address, download: file, onclick: () => {
    isDownloaded = true;
    note.textContent = "Downloaded. Keep it where only your provider can read it.";
    close.textContent = "Close";
  } }, `Download ${file}`);
  /** @type {HTMLButtonElement} */
  const close = element("button", { type: "button", onclick: () => dialog.close() }, "Close without it");
  /** @type {HTMLDialogElement} */
  const dialog = element("dialog", { "aria-labelledby": "download-title" }, element("div", { class: "stack" },
    element("h2", { id: "download-title" }, title), element("p", {}, hint),
    element("p", {}, "The service does not keep the private key. It can be downloaded now, and never again."), note,
    element("div", { class: "actions end" }, close, link)));
  // The escape key closes nothing that cannot be had again.
  dialog.addEventListener("cancel", (event) => {
    if (isDownloaded) return;
    event.preventDefault();
    note.textContent = "It is not downloaded yet. Download it, or close without it.";
  });
  dialog.addEventListener("close", () => {
    URL.revokeObjectURL(address);
    dialog.remove();
  });
  document.body.append(dialog);
  dialog.showModal();
  link.focus();
}
