// A small graph of the last hour, drawn as SVG.

import { element } from "./dom.js";
import { shortTime } from "./time.js";

const WIDTH = 360;
const HEIGHT = 96;
const HOUR = 3_600_000;
/** The shortest time that a graph shows, in milliseconds, if the service has just started. */
const SHORTEST = 300_000;
/** Points further apart than this, in milliseconds, are not joined, because the service was not running in between. */
const GAP = 45_000;

/**
 * @param {string} tag
 * @param {Record<string, unknown>} attributes
 */
function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/**
 * @typedef {object} Line
 * @property {string} name
 * @property {(sample: API.ServiceSample) => number | undefined} value takes it from a sample; undefined where there is none
 */

export class Graph {
  element;
  #title;
  #format;
  #lines;
  #now = element("p", { class: "graph-now" });
  /** The values at the top and at the bottom of the picture. */
  #top = element("span", {});
  #bottom = element("span", {});
  #begin = element("span", {});
  #caption = element("figcaption", { class: "hint" });
  #picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  /** @type {API.ServiceSample[]} */
  #points = [];
  /** The time at the left edge, in milliseconds since 1970. */
  #begins = 0;
  #length = HOUR;
  #most = 0;
  #isEmpty = true;

  /**
   * @param {string} title
   * @param {Line[]} lines each with a `name`, and `value`, which takes it from a sample; undefined where there is none
   * @param {(value: number) => string} format makes text of a value
   */
  constructor(title, lines, format) {
    this.#title = title;
    this.#lines = lines;
    this.#format = format;
    this.element = element("figure", { class: "card graph" }, element("h2", {}, title), this.#now,
      element("div", { class: "plot" }, this.#picture, element("div", { class: "scale", "aria-hidden": "true" }, this.#top, this.#bottom)),
      element("div", { class: "axis", "aria-hidden": "true" }, this.#begin, element("span", {}, "Now")), this.#caption);
    this.#picture.addEventListener("pointermove", (event) => this.#point(event));
    this.#picture.addEventListener("pointerleave", () => this.#summarise());
  }

  /**
   * @param {number} now
   * @param {API.ServiceSample[]} samples the oldest first
   */
  show(samples, now) {
    this.#points = samples;
    this.#length = Math.min(HOUR, Math.max(SHORTEST, now - (samples[0]?.time ?? now)));
    this.#begins = now - this.#length;
    const values = samples.flatMap((sample) => this.#lines.map(({ value }) => value(sample)).flatMap((value) => value ?? []));
    this.#most = Math.max(0, ...values);
    this.#isEmpty = values.length === 0;
    this.#picture.replaceChildren(
      ...[0.25, 0.5, 0.75].map((share) => svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share, class: "grid" })),
      ...this.#lines.map(({ value }, index) => svg("path", { d: this.#path(value), class: `curve line-${index}` })));
    this.#top.textContent = this.#most === 0 ? "" : this.#format(this.#most);
    this.#bottom.textContent = this.#most === 0 ? "" : "0";
    this.#begin.textContent = `${Math.round(this.#length / 60_000)} min ago`;
    this.#summarise();
  }

  /** @param {Line["value"]} value */
  #path(value) {
    let path = "";
    let last = null;
    for (const sample of this.#points) {
      const each = value(sample);
      if (each === undefined) {
        last = null;
        continue;
      }
      const x = ((sample.time - this.#begins) / this.#length) * WIDTH;
      const y = HEIGHT - 2 - (this.#most === 0 ? 0 : each / this.#most) * (HEIGHT - 8);
      path += `${last === null || sample.time - last > GAP ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      // Draw a dot, in case the line has only this point.
      if (last === null) path += "h0.1";
      last = sample.time;
    }
    return path;
  }

  /**
   * @param {Line} line
   * @param {API.ServiceSample} sample
   */
  #value({ value }, sample) {
    const each = value(sample);
    return each === undefined ? "—" : this.#format(each);
  }

  /** @param {API.ServiceSample} sample */
  #texts(sample) {
    return this.#lines.map((line) => (this.#lines.length === 1 ? this.#value(line, sample) : `${line.name} ${this.#value(line, sample)}`)).join(", ");
  }

  #summarise() {
    const last = this.#points.at(-1);
    this.#now.replaceChildren(...(last === undefined ? ["—"] : this.#lines.map((line, index) => element("span", { class: `line-${index}${this.#lines.length === 1 ? " only" : ""}` },
      this.#value(line, last), " ", element("small", {}, line.name)))));
    const most = last === undefined ? "No numbers yet. The first ones come after ten seconds."
      : this.#isEmpty ? "Nothing was measured in this time." : `Highest: ${this.#format(this.#most)}`;
    this.#caption.textContent = most;
    this.#picture.setAttribute("aria-label", `${this.#title}, last hour. Now: ${last === undefined ? "—" : this.#texts(last)}. ${most}`);
  }

  /**
   * What the pointer is above.
   * @param {PointerEvent} event
   */
  #point(event) {
    if (this.#points.length === 0) return;
    const box = this.#picture.getBoundingClientRect();
    const time = this.#begins + ((event.clientX - box.left) / box.width) * this.#length;
    const nearest = this.#points.reduce((best, each) => (Math.abs(each.time - time) < Math.abs(best.time - time) ? each : best));
    this.#caption.textContent = `${shortTime(nearest.time)}: ${this.#texts(nearest)}`;
  }
}
