// The page "Rehearsals": the scripted faults that are active, and the report about how clients handled them.

import { json, list } from "./api.js";
import { counted } from "./dialog.js";
import { announce, element, field, moment, section } from "./dom.js";
import { parse } from "./exactjson.js";
import { KEEP } from "./notifications.js";

/** How often what fires is asked for, in milliseconds. */
const PACE = 1000;

/**
 * What people want to rehearse, most of it as in Examples/rehearsals: a name and a rehearsal.
 * @type {Record<string, [string, object]>}
 */
const templates = {
  busy: ["One busy server in ten", { seed: 2, ttl: "PT10M", rules: [{ name: "busy", when: { share: 0.1 }, fault: { answer: { reason: "ServiceUnavailable", retryAfter: 1 } } }] }],
  throttled: ["Too many requests", { seed: 7, ttl: "PT10M", rules: [{ name: "throttled", when: { first: 20 }, fault: { answer: { reason: "TooManyRequests", retryAfter: 2 } } }] }],
  gone: ["A wave of 410s", { seed: 6, ttl: "PT10M", rules: [{ name: "unregistered", when: { share: 0.5 }, fault: { answer: { reason: "Unregistered", timestamp: 1767225600000 } } }] }],
  restart: ["Rolling restart", { seed: 1, ttl: "PT10M", rules: [{ name: "restart", when: { every: 200 }, fault: { goAway: { reason: "Shutdown", after: 20 } } }, { name: "last ones", when: { every: 500 }, fault: { reset: "REFUSED_STREAM" } }] }],
  slow: ["Slow answers", { seed: 4, ttl: "PT10M", rules: [{ name: "slow", fault: { delay: { median: "PT0.1S", p99: "PT3S" } } }] }],
  cut: ["Connections that break", { seed: 5, ttl: "PT10M", rules: [{ name: "cut before acceptance", when: { every: 50 }, fault: { close: "rst" } }, { name: "cut after acceptance", when: { every: 75 }, fault: { close: "rst", accepted: true } }] }],
  token: ["Provider token too old", { seed: 8, ttl: "PT10M", rules: [{ name: "too old", when: { first: 10 }, fault: { answer: { reason: "ExpiredProviderToken" } } }] }],
  hang: ["No answer", { seed: 3, ttl: "PT10M", rules: [{ name: "no answer", when: { first: 5 }, fault: { hang: true } }] }],
  authority: ["Apple changes its authority", { seed: 10, ttl: "PT2M", rules: [{ name: "open connections end", when: { first: 10 }, fault: { goAway: { reason: "Shutdown" } } }, { name: "the new authority", fault: { certificate: "other-authority" } }] }],
  certificate: ["An expired certificate", { seed: 11, ttl: "PT2M", rules: [{ name: "expired", when: { first: 3 }, fault: { certificate: "expired" } }] }],
  tls: ["TLS 1.2 alone", { seed: 12, ttl: "PT10M", rules: [{ name: "tls 1.2", fault: { tls: { versions: ["1.2"] } } }] }],
  handshake: ["Handshakes that hang", { seed: 13, ttl: "PT2M", rules: [{ name: "no handshake", when: { first: 3 }, fault: { handshake: "hang" } }] }],
  lost: ["Lost notifications", { seed: 9, ttl: "PT10M", rules: [{ name: "lost", when: { every: 10 }, fault: { lose: true } }] }],
};

/** @type {Record<string, string[]>} */
const severities = { error: ["Error", "rejected"], warning: ["Warning", "stored"], note: ["Note", ""] };

export class Rehearsals {
  title = "Rehearsals";
  element;
  /** @type {Timer} */
  #timer = null;
  #drawn = "";
  #text = element("textarea", { name: "document", id: "rehearsal-text", spellcheck: "false", autocomplete: "off", "aria-describedby": "rehearsal-answer" });
  #answer = element("div", { id: "rehearsal-answer", class: "check", role: "status" });
  #list = element("div", { class: "stack" });
  #team = element("select", { name: "team", onchange: () => this.#report(true) });
  #findings = element("div", { class: "stack" });

  constructor() {
    /** @type {HTMLSelectElement} */
    const choice = element("select", { name: "template", onchange: () => this.#use(choice.value) },
      ...Object.entries(templates).map(([value, [label]]) => element("option", { value }, label)));
    this.element = element("section", { class: "page scroll", "aria-labelledby": "rehearsals-title" },
      element("div", { class: "heading" }, element("h1", { id: "rehearsals-title", tabindex: -1 }, "Rehearsals")),
      element("div", { class: "columns" },
        element("div", { class: "stack" },
          element("form", { onsubmit: (event) => this.#begin(event) }, section("New rehearsal",
            element("p", { class: "hint" }, "The service answers as the rules say, so that you see how your provider handles it. If several rules match, the first one that fires counts."),
            field("Begin with", choice), element("label", { class: "unseen", for: "rehearsal-text" }, "Rehearsal as JSON"), this.#text, this.#answer,
            element("div", { class: "actions" }, element("button", { type: "submit", class: "primary" }, "Begin"))))),
        element("div", { class: "stack" }, section("What is rehearsed", this.#list),
          section("Report", element("p", { class: "hint" }, "How the clients behaved in the requests of the journal, judged by Apple's guide."),
            element("div", { class: "grid2" }, field("Team", this.#team),
              element("div", { class: "actions bottom" }, element("button", { type: "button", onclick: () => this.#report(true) }, "Judge again"))),
            this.#findings))));
    this.#use("busy");
  }

  open() {
    this.#drawn = "";
    this.#load();
    this.#loadTeams().then(() => this.#report());
  }

  close() { clearTimeout(this.#timer); }

  focus() { this.element.querySelector("h1")?.focus(); }

  /** @param {string} key */
  #use(key) { this.#text.value = JSON.stringify(templates[key][1], null, 2); }

  /**
   * @param {string} kind
   * @param {string} text
   */
  #say(kind, text) {
    this.#answer.dataset.kind = kind;
    this.#answer.textContent = text;
  }

  /** @param {Event} event */
  async #begin(event) {
    event.preventDefault();
    let document;
    try {
      document = parse(this.#text.value);
    } catch (error) {
      this.#say("bad", `That is not JSON: ${error.message}`);
      return;
    }
    try {
      const begun = await json("POST", "/v1/rehearsals", document);
      this.#say("good", `The rehearsal ${begun.rehearsal} has begun.`);
      await this.#load();
    } catch (error) {
      this.#say("bad", error.pointer ? `${error.pointer}: ${error.message}` : error.message);
    }
  }

  async #load() {
    clearTimeout(this.#timer);
    let rehearsals;
    try {
      rehearsals = await list("/v1/rehearsals");
    } catch (error) {
      this.#list.replaceChildren(element("p", {}, error.message));
      return;
    }
    if (this.element.isConnected) this.#timer = setTimeout(() => this.#load(), PACE);
    const drawn = JSON.stringify(rehearsals);
    if (drawn === this.#drawn) return;
    this.#drawn = drawn;
    // Show active rehearsals before ended ones, and newer before older ones.
    const ordered = rehearsals.toReversed().toSorted((a, b) => Number(b.active) - Number(a.active));
    const focused = document.activeElement?.getAttribute("data-rehearsal") ?? null;
    this.#list.replaceChildren(...(ordered.length === 0
      ? [element("p", { class: "hint" }, "No rehearsal yet: the service makes no faults. Begin one, and this list shows how often each rule has fired.")]
      : ordered.slice(0, 20).map((rehearsal) => this.#shown(rehearsal))));
    if (focused === null) return;
    const button = this.#list.querySelector(`[data-rehearsal="${CSS.escape(focused)}"]`);
    if (button instanceof HTMLElement) button.focus();
  }

  /** @param {API.Rehearsal} rehearsal */
  #shown({ rehearsal, active, began, ends, rules }) {
    return element("article", { class: "rehearsal" },
      element("div", { class: "heading" }, element("code", {}, rehearsal),
        element("span", { class: "badge", "data-outcome": active ? "delivered" : "" }, active ? "Active" : "Ended"),
        element("span", { class: "hint" }, active ? "since " : "from ", moment(began), active ? ", ends " : " to ", moment(ends)),
        active ? element("button", { type: "button", class: "push", "data-rehearsal": rehearsal, "aria-label": `End the rehearsal ${rehearsal}`, onclick: () => this.#end(rehearsal) }, "End") : null),
      element("table", {}, element("thead", {}, element("tr", {}, ...["Rule", "Matched", "Fired"].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...rules.map((rule) => element("tr", {}, element("td", {}, rule.rule),
          element("td", {}, rule.matched.toLocaleString()), element("td", {}, rule.fired.toLocaleString()))))));
  }

  /** @param {string} rehearsal */
  async #end(rehearsal) {
    try {
      await json("DELETE", `/v1/rehearsals/${encodeURIComponent(rehearsal)}`);
      announce("The rehearsal has ended.");
    } catch (error) {
      this.#say("bad", error.message);
    }
    await this.#load();
    this.element.querySelector("h1")?.focus();
  }

  // MARK: The report

  async #loadTeams() {
    const teams = await list("/v1/teams").catch(() => []);
    const chosen = this.#team.value;
    this.#team.replaceChildren(element("option", { value: "" }, "All teams"),
      ...teams.map((team) => element("option", { value: team.teamID }, `${team.name} (${team.teamID})`)));
    if (teams.some((team) => team.teamID === chosen)) this.#team.value = chosen;
  }

  async #report(isWanted = false) {
    const team = this.#team.value === "" ? "" : `team=${encodeURIComponent(this.#team.value)}`;
    try {
      const { findings } = await json("GET", `/v1/reports?${team}`);
      this.#findings.replaceChildren(...(findings.length === 0
        ? [await this.#nothing()] : findings.map(finding)));
      if (isWanted) announce(counted(findings.length, "finding"));
    } catch (error) {
      this.#findings.replaceChildren(...(error.status === 409
        ? [element("p", {}, "The report needs the journal, which is off."),
          element("button", { type: "button", onclick: () => this.#switchOn() }, "Switch the journal on")]
        : [element("p", {}, error.message)]));
    }
  }

  async #switchOn() {
    try {
      await json("PUT", "/v1/journal", { keep: KEEP });
      announce("The journal is on.");
    } catch (error) {
      this.#findings.replaceChildren(element("p", { role: "alert" }, error.message));
      return;
    }
    await this.#report();
  }

  /** A report without findings is praise only if there was something to judge. */
  async #nothing() {
    const team = this.#team.value === "" ? "" : `&team=${encodeURIComponent(this.#team.value)}`;
    const requests = await Promise.all(["h2", "binary"].map((name) => json("GET", `/v1/requests?limit=1&protocol=${name}${team}`)));
    return requests.flat().length > 0 ? element("p", { class: "check", "data-kind": "good" }, "Nothing to complain about.")
      : element("p", { class: "hint" }, "The journal has nothing of a provider yet. Let your provider send something, and judge again.");
  }
}

/** @param {API.Report["findings"][number]} finding */
function finding({ severity, section: chapter, text, advice, requests }) {
  const [label, outcome] = severities[severity] ?? [severity, ""];
  return element("article", { class: "finding" },
    element("p", {}, element("span", { class: "badge", "data-outcome": outcome }, label), " ", element("strong", {}, text)),
    element("p", {}, element("b", {}, "What to change: "), advice),
    element("p", { class: "hint" }, chapter === "" ? "" : `Guide ${chapter}`, requests.length === 0 || chapter === "" ? "" : " · ", requests.length === 0 ? "" : "Requests ",
      ...requests.slice(0, 8).flatMap((number, index) => [index === 0 ? "" : ", ", element("a", { href: `#/notification/r${number}` }, String(number))]),
      requests.length > 8 ? " and others" : ""));
}
