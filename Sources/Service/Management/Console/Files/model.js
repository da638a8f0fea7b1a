// The notifications that the console has loaded, oldest first. They come from the journal, or from the delivery log.

import { channelTitle, title } from "./words.js";

/**
 * A row of the list.
 * @typedef {object} Row
 * @property {string} key
 * @property {number} time in milliseconds since 1970
 * @property {string} id
 * @property {string} topic
 * @property {string} token
 * @property {string} device
 * @property {string} channel
 * @property {string | null} title
 * @property {string} outcome
 * @property {number | null} status
 * @property {string | null} reason
 * @property {API.RecordedRequest | null} request null if the row is of the delivery log
 * @property {string} [text] what the search looks in
 * @property {string} [sent] the payload as it was sent
 */

/** @typedef {Omit<Row, "outcome"> & { outcome: string | null }} Fresh a row whose outcome may be that of an earlier entry */

/**
 * An entry of the delivery log.
 * @typedef {object} Entry
 * @property {string} event
 * @property {number} time
 * @property {string} [id]
 * @property {string} [topic]
 * @property {string} [token]
 * @property {string} [reason]
 * @property {string} [own]
 * @property {number} [status]
 */

/** How many notifications are kept: more than anybody scrolls through, and few enough for a phone's memory. */
const MAXIMUM = 10_000;

/**
 * A request of the journal as a row.
 * @param {API.RecordedRequest} request
 * @returns {Row}
 */
export function rowOfRequest(request) {
  if (request.outcome === "failed") return rowOfHandshake(request);
  return {
    key: `r${request.number}`, time: request.time, id: request.apnsID ?? "", topic: request.topic ?? "",
    token: request.token ?? "", device: request.device ?? "", channel: request.channel ?? "",
    title: request.protocol === "channels" ? channelTitle(request)
      : request.protocol === "webpush" ? request.text ?? "Encrypted message"
      // What the journal has of it need not be JSON, though the whole body is.
      : request.payload === undefined && request.bodyBytes !== undefined ? (request.body === undefined ? "Body not kept" : "Body too large") : title(request.payload),
    // The management of channels has no outcome beside its answer.
    outcome: request.outcome ?? (request.status === undefined ? "pending" : "done"), status: request.status ?? null, reason: request.reason ?? null, request,
  };
}

/**
 * A connection whose TLS handshake failed, as a row.
 * @param {API.RecordedRequest} request
 * @returns {Row}
 */
function rowOfHandshake(request) {
  return {
    key: `r${request.number}`, time: request.time, id: "", topic: "", token: "", device: "", channel: "",
    title: `Connection failed: ${request.cause}`, outcome: "failed", status: null, reason: request.alert ?? null, request,
  };
}

/** @type {Record<string, string>} */
const outcomeOfStep = {
  accepted: "pending", rejected: "rejected", stored: "stored", deferred: "stored", throttled: "stored",
  held: "stored", replaced: "replaced", coalesced: "replaced", acknowledged: "delivered", expired: "expired", discarded: "dropped", dropped: "dropped",
};

/**
 * An entry of the delivery log as a row; null if the entry is not about a notification.
 * @param {Entry} entry
 * @returns {Fresh | null}
 */
export function rowOfEntry(entry) {
  if (entry.id === undefined) return null;
  const outcome = outcomeOfStep[entry.event] ?? null;
  return {
    key: `l${entry.id}`, time: entry.time, id: entry.id, topic: entry.topic ?? "", token: entry.token ?? "", device: "", channel: "",
    title: null, outcome, status: null, reason: outcome === "rejected" ? entry.reason ?? null : null, request: null,
  };
}

export class Model {
  /** @type {Row[]} */
  #rows = [];
  /** @type {Map<string, Row>} */
  #byKey = new Map();

  /** How many rows came that are not of the past. */
  added = 0;

  get rows() { return this.#rows; }

  /** @param {string} key */
  row(key) { return this.#byKey.get(key); }

  /**
   * The newest row for which `isWanted` returns true.
   * @param {(row: Row) => boolean} isWanted
   */
  find(isWanted) { return this.#rows.findLast(isWanted); }

  clear() {
    this.#rows = [];
    this.#byKey.clear();
  }

  /**
   * Adds rows, and updates the rows that are there already.
   * @param {Fresh[]} rows
   * @param {boolean} isOld whether the given rows may be older than those that are there; those are then kept
   */
  add(rows, isOld = false) {
    for (const row of rows) {
      const known = this.#byKey.get(row.key);
      if (known === undefined) {
        const made = Object.assign(row, { outcome: row.outcome ?? "pending" });
        this.#byKey.set(row.key, made);
        this.#insert(made);
        if (!isOld) this.added += 1;
      } else if (!isOld) {
        // An entry of the log tells one step only. Keep the values that it does not have.
        const time = known.time;
        Object.assign(known, row, { outcome: row.outcome ?? known.outcome, reason: row.reason ?? known.reason });
        if (row.request === null) known.time = time;
        known.text = undefined;
      }
    }
    const excess = this.#rows.length - MAXIMUM;
    if (excess > 0) for (const row of this.#rows.splice(0, excess)) this.#byKey.delete(row.key);
  }

  /**
   * Inserts a row in its order. It nearly always belongs at the end; those of several connections may arrive in another order.
   * @param {Row} row
   */
  #insert(row) {
    let index = this.#rows.length;
    while (index > 0 && isBefore(row, this.#rows[index - 1])) index -= 1;
    if (index === this.#rows.length) this.#rows.push(row);
    else this.#rows.splice(index, 0, row);
  }
}

/**
 * @param {Row} row
 * @param {Row} other
 */
function isBefore(row, other) {
  return row.request !== null && other.request !== null ? row.request.number < other.request.number : row.time < other.time;
}
