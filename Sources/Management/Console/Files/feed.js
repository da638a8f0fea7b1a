// Reads notifications live. All tabs share one stream, because a browser opens only six HTTP/1.1 connections: the tab that
// holds the lock leads. It reads the stream, and passes everything on to the other tabs through a channel.

import { json } from "./api.js";
import { Model, rowOfEntry, rowOfRequest } from "./model.js";

const PAGE = 1000;
/** How far back the delivery log is read, in milliseconds. */
const LOG_WINDOW = 15 * 60 * 1000;
/** How often at most rows are handed on, in milliseconds. */
const PACE = 100;
/** How long nothing has to be left out before the list is completed, in milliseconds. */
const QUIET = 1000;

export class Feed {
  model = new Model();
  /** How many requests the service did not show because too many came; the list is completed once it is quiet. */
  leftOut = 0;
  /**
   * source: "journal", "log" where it is off, or "production" where there is none; live: whether the stream is open.
   * null until it is known.
   */
  state = null;
  #channel = new BroadcastChannel("carillon-console");
  #isLeader = false;
  #stream = null;
  #waiting = [];
  #timer = null;
  /** The number of the last request before the first one that was left out; null if none was. */
  #complete = null;
  #quiet = null;
  #lastNumber = 0;
  #onChange;
  #onFailure;

  /**
   * @param onChange called when rows or the state have changed
   * @param onFailure called with an error that ends the feed, such as the end of the session
   */
  constructor(onChange, onFailure) {
    this.#onChange = onChange;
    this.#onFailure = onFailure;
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  start() {
    this.#channel.postMessage({ kind: "hello" });
    // Held until the tab closes; then another one leads.
    navigator.locks.request("carillon-console", () => {
      this.#isLeader = true;
      this.restart();
      return new Promise(() => {});
    });
  }

  /** Begins anew, after the journal was switched on. */
  restart() {
    if (this.#isLeader) this.#lead().catch((error) => this.#onFailure(error));
    else this.#channel.postMessage({ kind: "restart" });
  }

  #hear(message) {
    switch (message.kind) {
      case "hello":
        if (this.#isLeader && this.state !== null) this.#tellAll();
        break;
      case "restart":
        if (this.#isLeader) this.restart();
        break;
      case "all":
        this.model.clear();
        this.state = message.state;
        this.model.add(message.rows);
        this.#onChange();
        break;
      case "left out":
        this.leftOut = message.leftOut;
        this.#onChange();
        break;
      case "state":
        this.state = message.state;
        this.#onChange();
        break;
      case "rows":
        this.model.add(message.rows);
        this.#onChange();
    }
  }

  #tellAll() {
    this.#channel.postMessage({ kind: "all", state: this.state, rows: this.model.rows });
  }

  #setState(state) {
    this.state = state;
    this.#channel.postMessage({ kind: "state", state });
    this.#onChange();
  }

  async #lead() {
    this.#stream?.close();
    clearTimeout(this.#quiet);
    this.#complete = null;
    this.#lastNumber = 0;
    this.leftOut = 0;
    this.model.clear();
    const source = await this.#source();
    const address = source === "journal"
      ? "/v1/requests?follow=true&changes=true&sample=true" : `/v1/log?follow=true&sample=true&after=${Date.now() - LOG_WINDOW}`;
    const stream = new EventSource(address);
    this.#stream = stream;
    stream.onopen = () => this.#opened(stream, source).catch((error) => this.#onFailure(error));
    stream.onmessage = ({ data }) => this.#take(source, JSON.parse(data));
    stream.onerror = () => this.#failed(stream, source);
  }

  async #source() {
    try {
      return (await json("GET", "/v1/journal")).keep > 0 ? "journal" : "log";
    } catch (error) {
      if (error.status === 403) return "production";
      throw error;
    }
  }

  /** The journal's stream begins with what comes: what is there already is asked for once nothing can be missed. */
  async #opened(stream, source) {
    if (source === "journal") await this.#read(0, true);
    if (stream !== this.#stream) return;
    this.#setState({ source, live: true });
    this.#tellAll();
  }

  /** Reads what the journal has from after a number. */
  async #read(after, isOld) {
    let page;
    do {
      page = await json("GET", `/v1/requests?limit=${PAGE}&after=${after}`);
      this.model.add(page.map(rowOfRequest), isOld);
      after = page.at(-1)?.number ?? after;
      this.#lastNumber = Math.max(this.#lastNumber, after);
    } while (page.length === PAGE);
  }

  /** Loads the requests that the stream left out. */
  async #catchUp() {
    const from = this.#complete ?? 0;
    this.#complete = null;
    await this.#read(from, true);
    this.#setLeftOut(0);
    this.#tellAll();
  }

  #setLeftOut(count) {
    this.leftOut = count;
    this.#channel.postMessage({ kind: "left out", leftOut: count });
    this.#onChange();
  }

  /** The browser connects again by itself, unless the service refuses: then asking says why. */
  #failed(stream, source) {
    if (stream !== this.#stream) return;
    this.#setState({ source, live: false });
    if (stream.readyState === EventSource.CLOSED) {
      this.#source().then(() => setTimeout(() => this.restart(), 1000), (error) => this.#onFailure(error));
    }
  }

  #take(source, data) {
    if (data.leftOut !== undefined) {
      // Of each batch, the service leaves out the last requests. So all earlier requests have arrived.
      this.#complete ??= this.#lastNumber;
      clearTimeout(this.#quiet);
      // The delivery log is not read again, so what it left out stays missing.
      if (source !== "journal") {
        this.#setLeftOut(this.leftOut + data.leftOut);
        return;
      }
      this.#quiet = setTimeout(() => this.#catchUp().catch((error) => this.#onFailure(error)), QUIET);
      this.#setLeftOut(this.leftOut + data.leftOut);
      return;
    }
    const row = source === "journal" ? rowOfRequest(data) : rowOfEntry(data);
    if (row === null) return;
    if (row.request !== null) this.#lastNumber = Math.max(this.#lastNumber, row.request.number);
    this.#waiting.push(row);
    // Together: at a thousand a second each of them would be a message to each tab.
    this.#timer ??= setTimeout(() => {
      const rows = this.#waiting;
      this.#waiting = [];
      this.#timer = null;
      this.model.add(rows);
      this.#channel.postMessage({ kind: "rows", rows });
      this.#onChange();
    }, PACE);
  }
}
