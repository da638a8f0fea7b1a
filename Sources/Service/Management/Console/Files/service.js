// The page "Service": whether it is ready, and what it did in the last hour.

import { json } from "./api.js";
import { announce, element, fill, moment, section } from "./dom.js";
import { Graph } from "./graph.js";
import { duration } from "./time.js";

/** @typedef {import("./dom.js").Content} Content */

const PACE = 5000;
const HOUR = 3_600_000;

/** @param {"accepted" | "rejected" | "delivered" | "stored"} name */
const perSecond = (name) => (/** @type {API.ServiceSample} */ sample) => sample[name] / (sample.duration / 1000);
/** @param {number} value */
const whole = (value) => Math.round(value).toLocaleString();
/** @param {number} value */
const rate = (value) => `${value >= 100 ? whole(value) : Number(value.toFixed(1)).toLocaleString()}/s`;
/**
 * A duration as text. The value is in microseconds.
 * @param {number} value
 */
const latency = (value) => (value < 1000 ? `${value} µs` : duration(Number((value / 1000).toPrecision(3))));
/** @param {number} value */
const megabytes = (value) => `${whole(value / (1 << 20))} MiB`;

export class Service {
  title = "Service";
  element;
  /** @type {Timer} */
  #timer = null;
  /** @type {API.ServiceSample[]} */
  #samples = [];
  #state = element("div", { class: "state" });
  /** @type {boolean | null} */
  #wasReady = null;
  #limits = element("div");
  #graphs = [
    new Graph("Requests a second", [{ name: "accepted", value: perSecond("accepted") }, { name: "rejected", value: perSecond("rejected") }], rate),
    new Graph("Deliveries a second", [{ name: "acknowledged", value: perSecond("delivered") }, { name: "stored", value: perSecond("stored") }], rate),
    new Graph("Connected devices", [{ name: "devices", value: (sample) => sample.connectedDevices }], whole),
    new Graph("From stream to acknowledgement", latencies("acknowledging"), latency),
    new Graph("Until it is on disk", latencies("storing"), latency),
    new Graph("Waiting for the disk", [{ name: "notifications", value: (sample) => sample.pendingStores }], whole),
    new Graph("Memory", [{ name: "resident", value: (sample) => sample.memory }], megabytes),
  ];

  constructor() {
    this.element = element("section", { class: "page scroll", "aria-labelledby": "service-title" },
      element("div", { class: "heading" }, element("h1", { id: "service-title", tabindex: -1 }, "Service")), this.#state,
      element("div", { class: "graphs" }, ...this.#graphs.map((graph) => graph.element), this.#limits));
  }

  open() { this.#load(); }

  close() { clearTimeout(this.#timer); }

  focus() { this.element.querySelector("h1")?.focus(); }

  async #load() {
    clearTimeout(this.#timer);
    try {
      const service = await json("GET", `/v1/service?after=${this.#samples.at(-1)?.time ?? 0}`);
      this.#samples = [...this.#samples, ...service.samples].filter((sample) => sample.time > service.time - HOUR);
      this.#show(service);
    } catch (error) {
      this.#say(false, element("strong", {}, "The service does not answer"), element("p", {}, error.message));
    }
    if (this.element.isConnected) this.#timer = setTimeout(() => this.#load(), PACE);
  }

  /** @param {API.Service} service */
  #show({ ready, reason, time, started, accept }) {
    if (ready) this.#say(true, element("strong", {}, "Ready"), element("p", {}, "All listeners and the store take requests. Up since ", moment(started), `, ${duration(time - started)}.`),
      accept === "any" ? element("p", {}, element("strong", {}, "Accepts any: "), "unknown teams, keys, topics and device tokens are made at first sight, for tests. Provider tokens of unknown keys are not verified.") : "");
    else this.#say(false, element("strong", {}, "Not ready"), element("p", {}, reason ?? ""), element("p", {}, "Up since ", moment(started), "."));
    for (const graph of this.#graphs) graph.show(this.#samples, time);
    const counts = new Map();
    for (const sample of this.#samples) {
      for (const [name, count] of Object.entries(sample.limits)) counts.set(name, (counts.get(name) ?? 0) + count);
    }
    const rows = [...counts].sort(([, a], [, b]) => b - a);
    this.#limits.replaceChildren(section("Limits exceeded", rows.length === 0
      ? element("p", { class: "hint" }, "None in the last hour.")
      : element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Limit"), element("th", { scope: "col" }, "Times"))),
        element("tbody", {}, ...rows.map(([name, count]) => element("tr", {}, element("td", {}, name), element("td", {}, count.toLocaleString())))))));
  }

  /**
   * @param {boolean} isReady
   * @param {Content[]} content
   */
  #say(isReady, ...content) {
    this.#state.classList.toggle("ready", isReady);
    fill(this.#state, ...content);
    // Let screen readers read out only changes between ready and not ready, not each new number.
    if (this.#wasReady !== null && this.#wasReady !== isReady) announce(isReady ? "The service is ready." : "The service is not ready.");
    this.#wasReady = isReady;
  }
}

/** @param {"acknowledging" | "storing"} name */
function latencies(name) {
  return /** @type {const} */ (["p50", "p99"]).map((share) => ({ name: share, value: (/** @type {API.ServiceSample} */ sample) => sample[name]?.[share] }));
}
