// A list of many rows. Only the visible rows are elements of the document, so that a long list stays fast.

import { element, target } from "./dom.js";

/**
 * @template {{ key: string }} R
 * @typedef {object} Kind
 * @property {string} label names the table
 * @property {string[]} heads name its columns
 * @property {string} className its style
 * @property {(row: R) => string} href returns the address of a row's page
 * @property {(row: R) => HTMLElement[]} make makes the cells of a row; one of them must contain a link
 * @property {(shown: HTMLElement, row: R) => void} update fills the cells
 */

/** How many rows above and below the visible ones are drawn too, so that scrolling shows no gaps. */
const MARGIN = 10;

/** @template {{ key: string }} R */
export class List {
  element;
  /** @type {R[]} */
  #rows = [];
  /** @type {Map<string, HTMLElement>} */
  #shown = new Map();
  /** @type {string | null} */
  #currentKey = null;
  #viewport;
  #space;
  #isDue = false;
  #kind;

  /** @param {Kind<R>} kind */
  constructor(kind) {
    this.#kind = kind;
    this.#space = element("div", { class: "space", role: "presentation" });
    this.#viewport = element("div", { class: "viewport", role: "rowgroup" }, this.#space);
    const heads = kind.heads.map((name) => element("div", { role: "columnheader" }, name));
    this.element = element("div", { class: `list ${kind.className}`, role: "table", "aria-label": kind.label },
      element("div", { role: "rowgroup" }, element("div", { class: "row head", role: "row", "aria-rowindex": 1 }, ...heads)),
      this.#viewport);
    this.#viewport.addEventListener("scroll", () => this.#plan());
    this.#viewport.addEventListener("keydown", (event) => this.#move(event));
    this.#viewport.addEventListener("focusin", (event) => { this.#currentKey = rowAt(event)?.dataset.key ?? this.#currentKey; });
    this.#viewport.addEventListener("click", (event) => this.#click(event));
    // Also when the page comes back into sight, and when rows get another height on a narrow screen.
    new ResizeObserver(() => this.#plan()).observe(this.#viewport);
  }

  /** @param {R[]} rows in their order */
  show(rows) {
    const top = this.#viewport.scrollTop;
    const before = this.#rows[0];
    const added = top > 0 && before !== undefined ? Math.max(0, rows.indexOf(before)) : 0;
    this.#rows = rows;
    this.element.setAttribute("aria-rowcount", String(rows.length + 1));
    const height = this.#height();
    this.#space.style.height = `${rows.length * height}px`;
    // If new rows came above, scroll by their height, so that the rows that a person is reading do not move.
    if (added > 0) this.#viewport.scrollTop = top + added * height;
    this.#plan();
  }

  /** Gives the focus back to the row that had it. */
  focus() {
    this.#plan();
    requestAnimationFrame(() => this.#focusCurrent());
  }

  #focusCurrent() {
    if (this.#currentKey !== null) this.#shown.get(this.#currentKey)?.querySelector("a")?.focus({ preventScroll: true });
  }

  #height() {
    return parseFloat(getComputedStyle(this.element).getPropertyValue("--row-height")) || 48;
  }

  #plan() {
    if (this.#isDue) return;
    this.#isDue = true;
    requestAnimationFrame(() => {
      this.#isDue = false;
      this.#draw();
    });
  }

  #draw() {
    const height = this.#height();
    this.#space.style.height = `${this.#rows.length * height}px`;
    const first = Math.max(0, Math.floor(this.#viewport.scrollTop / height) - MARGIN);
    const count = Math.ceil(this.#viewport.clientHeight / height) + 2 * MARGIN;
    const indices = this.#rows.slice(first, first + count).map((_, offset) => first + offset);
    // Until somebody has chosen one, the tab key leads to the first row, whichever that is.
    const current = Math.max(0, this.#rows.findIndex((row) => row.key === this.#currentKey));
    // A row that left the document would lose the focus.
    if (this.#rows.length > 0 && !indices.includes(current)) indices.push(current);
    const wanted = new Set(indices.map((index) => this.#rows[index].key));
    for (const [key, shown] of this.#shown) {
      if (wanted.has(key)) continue;
      shown.remove();
      this.#shown.delete(key);
    }
    for (const index of indices) this.#place(this.#rows[index], index, height, index === current);
  }

  /**
   * @param {R} row
   * @param {number} index
   * @param {number} height
   * @param {boolean} isCurrent
   */
  #place(row, index, height, isCurrent) {
    let shown = this.#shown.get(row.key);
    if (shown === undefined) {
      shown = element("div", { class: "row", role: "row", "data-key": row.key }, ...this.#kind.make(row));
      this.#shown.set(row.key, shown);
      this.#space.append(shown);
    }
    this.#kind.update(shown, row);
    shown.setAttribute("aria-rowindex", String(index + 2));
    shown.style.transform = `translateY(${index * height}px)`;
    const link = shown.querySelector("a");
    if (link === null) return;
    link.tabIndex = isCurrent ? 0 : -1;
    link.href = this.#kind.href(row);
  }

  /**
   * Moves between the rows with the arrow keys. Only the current row can be reached with the tab key.
   * @param {KeyboardEvent} event
   */
  #move(event) {
    const page = Math.max(1, Math.floor(this.#viewport.clientHeight / this.#height()) - 1);
    const last = this.#rows.length - 1;
    const index = this.#rows.findIndex((row) => row.key === this.#currentKey);
    /** @type {Record<string, number>} */
    const targets = { ArrowDown: index + 1, ArrowUp: index - 1, PageDown: index + page, PageUp: index - page, Home: 0, End: last };
    if (!Object.hasOwn(targets, event.key) || last < 0) return;
    event.preventDefault();
    const target = Math.min(last, Math.max(0, targets[event.key]));
    this.#currentKey = this.#rows[target].key;
    const height = this.#height();
    const top = target * height;
    const { scrollTop, clientHeight } = this.#viewport;
    if (top < scrollTop) this.#viewport.scrollTop = top;
    else if (top + height > scrollTop + clientHeight) this.#viewport.scrollTop = top + height - clientHeight;
    this.#draw();
    this.#focusCurrent();
  }

  /** @param {MouseEvent} event */
  #click(event) {
    const shown = rowAt(event);
    if (shown === null) return;
    this.#currentKey = shown.dataset.key ?? null;
    // A click on a row opens its page, unless the person has selected text.
    if (target(event)?.closest("a") === null && String(getSelection()) === "") shown.querySelector("a")?.click();
  }
}

/**
 * The row in which something happened.
 * @param {Event} event
 * @returns {HTMLElement | null}
 */
function rowAt(event) { return target(event)?.closest(".row") ?? null; }

/**
 * A cell of a row.
 * @param {string} name
 * @param {import("./dom.js").Content[]} children
 */
export function cell(name, ...children) {
  return element("div", { role: "cell", class: name }, ...children);
}

/**
 * Sets the text of an element in a row, if it has changed.
 * @param {HTMLElement} shown
 * @param {string} selector
 * @param {string} text
 */
export function setText(shown, selector, text, hover = text) {
  const place = shown.querySelector(selector);
  if (!(place instanceof HTMLElement) || place.textContent === text) return;
  place.textContent = text;
  place.title = hover;
}
