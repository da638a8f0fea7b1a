// The notifications that the console knows of, oldest first, whether they come from the journal or the delivery log.

import { title } from "./words.js";

/** How many are kept: more than anybody scrolls through, and little enough for a phone. */
const MAXIMUM = 10_000;

/** A request of the journal as a row. */
export function rowOfRequest(request) {
  return {
    key: `r${request.number}`, time: request.time, id: request.apnsID, topic: request.topic ?? "",
    token: request.token ?? "", device: request.device ?? "", title: title(request.payload),
    outcome: request.outcome, status: request.status ?? null, reason: request.reason ?? null, request,
  };
}

const outcomeOfStep = {
  accepted: "pending", rejected: "rejected", stored: "stored", deferred: "stored", throttled: "stored",
  replaced: "replaced", coalesced: "replaced", acknowledged: "delivered", expired: "expired", discarded: "dropped",
};

/** An entry of the delivery log as a row; null for one that is of no notification. */
export function rowOfEntry(entry) {
  if (entry.id === undefined) return null;
  const outcome = outcomeOfStep[entry.event] ?? null;
  return {
    key: `l${entry.id}`, time: entry.time, id: entry.id, topic: entry.topic ?? "", token: entry.token ?? "", device: "",
    title: null, outcome, status: null, reason: outcome === "rejected" ? entry.reason ?? null : null, request: null,
  };
}

export class Model {
  #rows = [];
  #byKey = new Map();

  /** How many rows came that are not of the past. */
  added = 0;

  get rows() { return this.#rows; }

  row(key) { return this.#byKey.get(key); }

  /** The newest row that is wanted. */
  find(isWanted) { return this.#rows.findLast(isWanted); }

  clear() {
    this.#rows = [];
    this.#byKey.clear();
  }

  /**
   * Takes rows in, or what is new of them.
   * @param {boolean} isOld whether what is known already is newer
   */
  add(rows, isOld = false) {
    for (const row of rows) {
      const known = this.#byKey.get(row.key);
      if (known === undefined) {
        this.#byKey.set(row.key, row);
        this.#insert(row);
        if (!isOld) this.added += 1;
      } else if (!isOld) {
        // An entry of the log says one step only, and what it does not say stays.
        const time = known.time;
        Object.assign(known, row, { outcome: row.outcome ?? known.outcome, reason: row.reason ?? known.reason });
        if (row.request === null) known.time = time;
        known.text = undefined;
      }
    }
    const excess = this.#rows.length - MAXIMUM;
    if (excess > 0) for (const row of this.#rows.splice(0, excess)) this.#byKey.delete(row.key);
  }

  // Nearly always the newest; answers of several connections may change places.
  #insert(row) {
    let index = this.#rows.length;
    while (index > 0 && isBefore(row, this.#rows[index - 1])) index -= 1;
    if (row.outcome === null) row.outcome = "pending";
    if (index === this.#rows.length) this.#rows.push(row);
    else this.#rows.splice(index, 0, row);
  }
}

function isBefore(row, other) {
  return row.request !== null && other.request !== null ? row.request.number < other.request.number : row.time < other.time;
}
