// The names that people have given to devices. The journal has identifiers only.

import { list } from "./api.js";

/** How many devices are asked for: those of a developer's machine. Who has more finds them by their identifiers. */
const DEVICES = 1000;
/** How often at most they are asked for again because there is a new device, in milliseconds. */
const PACE = 10_000;

export class DeviceNames {
  /** @type {Map<string, string | null>} */
  #names = new Map();
  #asked = -Infinity;
  /** @type {Timer} */
  #timer = null;
  #isWhole = true;
  #onChange;

  /** @param {() => void} onChange called when there are other names */
  constructor(onChange) { this.#onChange = onChange; }

  /**
   * The name of a device; undefined if it has none, or if it is not known yet.
   * @param {string} device
   */
  of(device) {
    if (device === "") return undefined;
    if (!this.#names.has(device)) this.#plan();
    return this.#names.get(device) ?? undefined;
  }

  #plan() {
    if (this.#timer !== null || !this.#isWhole) return;
    this.#timer = setTimeout(() => this.#load(), Math.max(0, this.#asked + PACE - performance.now()));
  }

  async #load() {
    this.#asked = performance.now();
    try {
      const devices = await list("/v1/devices", DEVICES);
      for (const { deviceID, name } of devices) this.#names.set(deviceID, name ?? null);
      this.#isWhole = devices.length < DEVICES;
      this.#onChange();
    } catch { /* The feed says what is wrong; here are only the identifiers. */ }
    this.#timer = null;
  }
}
