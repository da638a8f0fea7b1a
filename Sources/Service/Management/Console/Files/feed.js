// Reads notifications live. All tabs share one stream, because a browser opens only six HTTP/1.1 connections: the tab that
// holds the lock leads. It reads the stream, and passes everything on to the other tabs through a channel.

import { json } from "./api.js";
import { parse } from "./exactjson.js";
import { Model, rowOfEntry, rowOfRequest } from "./model.js";

/** @typedef {import("./api.js").APIError} APIError */
/** @typedef {import("./model.js").Fresh} Fresh */

/** The name of the channel and of the lock that the tabs share. */
export const CHANNEL = "carillon-console";
const PAGE = 1000;
/** How far back the delivery log is read, in milliseconds. */
const LOG_WINDOW = 15 * 60 * 1000;
/** How often at most rows are handed on, in milliseconds. */
const PACE = 100;
/** How long nothing has to be left out before the list is completed, in milliseconds. */
const QUIET = 1000;

/**
 * What the feed shows.
 * @typedef {object} State
 * @property {string} source "journal", "log" if it is off or somebody chose so, or "production" if there is none
 * @property {boolean} isJournalOn
 * @property {boolean} live whether the stream is open
 */

export class Feed {
  model = new Model();
  /** How many requests the service did not show because too many came; the list is completed once it is quiet. */
  leftOut = 0;
  /**
   * null until it is known.
   * @type {State | null}
   */
  state = null;
  #channel = new BroadcastChannel(CHANNEL);
  /**
   * Gives the lock back; null in a tab that does not lead.
   * @type {((value?: unknown) => void) | null}
   */
  #release = null;
  /** What somebody chose to see. */
  #choice = "journal";
  /** @type {EventSource | null} */
  #stream = null;
  /** @type {Fresh[]} */
  #waiting = [];
  /** @type {Timer} */
  #timer = null;
  /**
   * The number of the last request before the first one that was left out; null if none was.
   * @type {number | null}
   */
  #complete = null;
  /** @type {Timer} */
  #quiet = null;
  #lastNumber = 0;
  /** Counts how often the feed began anew. */
  #turn = 0;
  #onChange;
  #onFailure;

  /**
   * @param {() => void} onChange called when rows or the state have changed
   * @param {(error: APIError) => void} onFailure called with an error that ends the feed, such as the end of the session
   */
  constructor(onChange, onFailure) {
    this.#onChange = onChange;
    this.#onFailure = onFailure;
    this.#channel.onmessage = ({ data }) => this.#hear(data);
  }

  start() {
    this.#channel.postMessage({ kind: "hello" });
    // Held until the tab closes or fails; then another one leads.
    navigator.locks.request(CHANNEL, () => new Promise((release) => {
      this.#release = release;
      this.restart();
    }));
  }

  /**
   * Begins anew: after the journal was switched on or cleared, or to show something else.
   * @param choice "journal", or "log" to show the delivery log although the journal is on
   */
  restart(choice = this.#choice) {
    this.#choice = choice;
    if (this.#release === null) this.#channel.postMessage({ kind: "restart", choice });
    else this.#lead().catch((error) => this.#fail(error));
  }

  /**
   * Ends the feed of this tab. The next tab leads, and finds out by itself whether it fares better.
   * @param {APIError} error
   */
  #fail(error) {
    this.#stream?.close();
    this.#stream = null;
    clearTimeout(this.#timer);
    clearTimeout(this.#quiet);
    this.#channel.close();
    this.#release?.();
    this.#release = null;
    this.#onFailure(error);
  }

  /** @param {any} message */
  #hear(message) {
    switch (message.kind) {
      case "hello":
        if (this.#release !== null && this.state !== null) this.#tellAll();
        break;
      case "restart":
        if (this.#release !== null) this.restart(message.choice);
        break;
      case "all":
        this.model.clear();
        this.#learn(message.state);
        this.model.add(message.rows, true);
        this.#onChange();
        break;
      case "left out":
        this.leftOut = message.leftOut;
        this.#onChange();
        break;
      case "state":
        this.#learn(message.state);
        this.#onChange();
        break;
      case "rows":
        this.model.add(message.rows, message.isOld);
        this.#onChange();
    }
  }

  /** @param {State} state */
  #learn(state) {
    this.state = state;
    // The tab that leads next shows the same.
    this.#choice = state.source === "log" && state.isJournalOn ? "log" : "journal";
  }

  #tellAll() {
    this.#channel.postMessage({ kind: "all", state: this.state, rows: this.model.rows });
  }

  /** @param {State} state */
  #setState(state) {
    this.state = state;
    this.#channel.postMessage({ kind: "state", state });
    this.#onChange();
  }

  async #lead() {
    this.#turn += 1;
    const turn = this.#turn;
    this.#stream?.close();
    clearTimeout(this.#quiet);
    this.#waiting = [];
    this.#complete = null;
    this.#lastNumber = 0;
    this.leftOut = 0;
    this.model.clear();
    const { source, isJournalOn } = await this.#source();
    if (turn !== this.#turn) return;
    const address = source === "journal"
      ? "/v1/requests?follow=true&changes=true&sample=true" : `/v1/log?follow=true&sample=true&after=${Date.now() - LOG_WINDOW}`;
    const stream = new EventSource(address);
    this.#stream = stream;
    /** @param {APIError} error */
    const fail = (error) => { if (stream === this.#stream) this.#fail(error); };
    stream.onopen = () => this.#opened(stream, { source, isJournalOn, live: true }).catch(fail);
    stream.onmessage = ({ data }) => { if (stream === this.#stream) this.#take(source, parse(data)); };
    stream.onerror = () => this.#failed(stream, { source, isJournalOn, live: false });
  }

  async #source() {
    try {
      const isJournalOn = (await json("GET", "/v1/journal")).keep > 0;
      return { source: isJournalOn && this.#choice === "journal" ? "journal" : "log", isJournalOn };
    } catch (error) {
      if (error.status === 403) return { source: "production", isJournalOn: false };
      throw error;
    }
  }

  /**
   * The journal's stream begins with what comes: what is there already is asked for once nothing can be missed.
   * @param {EventSource} stream
   * @param {State} state
   */
  async #opened(stream, state) {
    if (state.source === "journal") await this.#read(0, false);
    if (stream !== this.#stream) return;
    this.#setState(state);
    this.#tellAll();
  }

  /**
   * Reads what the journal has from after a number.
   * @param {number} after
   * @param {boolean} isTold whether the other tabs are told of it; otherwise they are told of everything afterwards
   */
  async #read(after, isTold) {
    let page;
    do {
      page = await json("GET", `/v1/requests?limit=${PAGE}&after=${after}`);
      const rows = page.map(rowOfRequest);
      this.model.add(rows, true);
      if (isTold) this.#channel.postMessage({ kind: "rows", rows, isOld: true });
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
  }

  /** @param {number} count */
  #setLeftOut(count) {
    this.leftOut = count;
    this.#channel.postMessage({ kind: "left out", leftOut: count });
    this.#onChange();
  }

  /**
   * The browser connects again by itself, unless the service refuses: then asking says why.
   * @param {EventSource} stream
   * @param {State} state
   */
  #failed(stream, state) {
    if (stream !== this.#stream) return;
    this.#setState(state);
    if (stream.readyState === EventSource.CLOSED) {
      this.#source().then(() => setTimeout(() => this.#release !== null && this.restart(), 1000), (error) => this.#fail(error));
    }
  }

  /**
   * @param {string} source
   * @param {any} data
   */
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
      this.#quiet = setTimeout(() => this.#catchUp().catch((error) => this.#fail(error)), QUIET);
      this.#setLeftOut(this.leftOut + data.leftOut);
      return;
    }
    const row = source === "journal" ? rowOfRequest(data) : rowOfEntry(data);
    if (row === null) return;
    if (row.request !== null) this.#lastNumber = Math.max(this.#lastNumber, row.request.number);
    this.#waiting.push(row);
    // Together: at a thousand a second each of them would be a message to each tab. Browsers slow down the timers of a tab
    // out of sight, but another one may be in sight.
    if (document.hidden) this.#handOn();
    else this.#timer ??= setTimeout(() => this.#handOn(), PACE);
  }

  #handOn() {
    clearTimeout(this.#timer);
    this.#timer = null;
    const rows = this.#waiting;
    this.#waiting = [];
    this.model.add(rows);
    this.#channel.postMessage({ kind: "rows", rows });
    this.#onChange();
  }
}
