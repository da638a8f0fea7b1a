// A small graph of the last hour, drawn as SVG.

import { element } from "./dom.js";
import { shortTime } from "./time.js";

const WIDTH = 360;
const HEIGHT = 96;
const HOUR = 3_600_000;
/** Points that lie further apart are not joined: the service was not there. In milliseconds. */
const GAP = 45_000;

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

export class Graph {
  element;
  #title;
  #format;
  #lines;
  #now = element("p", { class: "graph-now" });
  #caption = element("figcaption", { class: "hint" });
  #picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  #points = [];
  #range = [0, 1];

  /**
   * @param lines each with a `name`, and `value`, which takes it from a sample; undefined where there is none
   * @param format makes text of a value
   */
  constructor(title, lines, format) {
    this.#title = title;
    this.#lines = lines;
    this.#format = format;
    const legend = lines.length < 2 ? null : element("ul", { class: "legend" },
      ...lines.map(({ name }, index) => element("li", { class: `line-${index}` }, name)));
    this.element = element("figure", { class: "card graph" }, element("h2", {}, title), this.#now, legend, this.#picture, this.#caption);
    this.#picture.addEventListener("pointermove", (event) => this.#point(event));
    this.#picture.addEventListener("pointerleave", () => this.#summarise());
  }

  show(samples, now) {
    const begin = now - HOUR;
    this.#points = samples;
    const values = samples.flatMap((sample) => this.#lines.map(({ value }) => value(sample)).filter((value) => value !== undefined));
    const most = Math.max(0, ...values);
    this.#range = [begin, most === 0 ? 1 : most];
    this.#picture.replaceChildren(
      ...[0.25, 0.5, 0.75].map((share) => svg("line", { x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share, class: "grid" })),
      ...this.#lines.map(({ value }, index) => svg("path", { d: this.#path(value), class: `curve line-${index}` })));
    this.#summarise();
  }

  #path(value) {
    const [begin, most] = this.#range;
    let path = "";
    let last = null;
    for (const sample of this.#points) {
      const each = value(sample);
      if (each === undefined) {
        last = null;
        continue;
      }
      const x = ((sample.time - begin) / HOUR) * WIDTH;
      const y = HEIGHT - 2 - (each / most) * (HEIGHT - 8);
      path += `${last === null || sample.time - last > GAP ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`;
      // A single point is a dot.
      if (last === null) path += "h0.1";
      last = sample.time;
    }
    return path;
  }

  #texts(sample) {
    return this.#lines.map(({ name, value }) => {
      const each = value(sample);
      const text = each === undefined ? "—" : this.#format(each);
      return this.#lines.length === 1 ? text : `${name} ${text}`;
    }).join(" · ");
  }

  #summarise() {
    const last = this.#points.at(-1);
    this.#now.textContent = last === undefined ? "—" : this.#texts(last);
    const most = last === undefined ? "No numbers yet. The first ones come after ten seconds." : `Highest of the hour: ${this.#format(this.#range[1] === 1 && this.#isZero() ? 0 : this.#range[1])}`;
    this.#caption.textContent = most;
    this.#picture.setAttribute("aria-label", `${this.#title}, last hour. Now: ${this.#now.textContent}. ${most}`);
  }

  #isZero() { return this.#points.every((sample) => this.#lines.every(({ value }) => (value(sample) ?? 0) === 0)); }

  /** What the pointer is above. */
  #point(event) {
    if (this.#points.length === 0) return;
    const box = this.#picture.getBoundingClientRect();
    const time = this.#range[0] + ((event.clientX - box.left) / box.width) * HOUR;
    const nearest = this.#points.reduce((best, each) => (Math.abs(each.time - time) < Math.abs(best.time - time) ? each : best));
    this.#caption.textContent = `${shortTime(nearest.time)}: ${this.#texts(nearest)}`;
  }
}
