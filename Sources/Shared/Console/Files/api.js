// Sends requests to the service's API. The browser adds the session's cookie, so no key is needed.

import { parse, stringify } from "./exactjson.js";

export class APIError extends Error {
  /**
   * @param {number} status 0 if there was no answer
   * @param {string} detail
   * @param {string} [pointer]
   */
  constructor(status, detail, pointer) {
    super(detail);
    this.status = status;
    /** The JSON pointer to the fault in the request's body; undefined if the fault is not there. */
    this.pointer = pointer;
  }
}

/**
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 * @param {Record<string, string>} [headers]
 */
async function ask(method, path, body, headers = {}) {
  /** @type {RequestInit & { headers: Record<string, string> }} */
  const options = { method, headers: { ...headers } };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = typeof body === "string" ? body : stringify(body);
  }
  /** @type {Response} */
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new APIError(0, "The service does not answer. It may have ended.");
  }
  if (response.ok) return response;
  const problem = await response.json().catch(() => ({}));
  throw new APIError(response.status, problem.detail ?? `The service refused: status ${response.status}.`, problem.pointer);
}

/**
 * The JSON of an answer.
 * @template {string} M
 * @template {string} P
 * @param {M} method
 * @param {P} path
 * @param {unknown} [body] what is sent: a value, or its JSON as text
 * @param {Record<string, string>} [headers] more header fields of the request
 * @returns {Promise<Answer<M, P>>}
 */
export async function json(method, path, body, headers) {
  return parse(await (await ask(method, path, body, headers)).text());
}

/**
 * The JSON of an answer, and the names of the nodes of a cluster whose part of it is missing.
 * @template {string} P
 * @param {P} path
 * @returns {Promise<{ value: Answer<"GET", P>, unanswered: string[] }>}
 */
export async function fromNodes(path) {
  const response = await ask("GET", path);
  return { value: parse(await response.text()), unanswered: unanswered(response) };
}

/** @param {Response} response */
function unanswered(response) {
  return (response.headers.get("Carillon-Unanswered") ?? "").split(",").map((name) => name.trim()).filter((name) => name !== "");
}

/**
 * A request whose answer has no body.
 * @param {string} method
 * @param {string} path
 */
export async function none(method, path) {
  await ask(method, path);
}

/**
 * The text of an answer.
 * @param {string} path
 */
export async function text(path) {
  return (await ask("GET", path)).text();
}

/** How many items a page of a list has. */
const PAGE = 1000;

/**
 * The items of a list, page after page.
 * @template {string} P
 * @param {P} path
 * @param {number} [maximum] how many at most
 * @param {(items: Item<P>[], silent: string[]) => void} [onPage] called after each page, with what is there so far and the names of the nodes of a cluster whose part is missing
 * @returns {Promise<Item<P>[]>}
 */
export async function list(path, maximum = Infinity, onPage = () => {}) {
  /** @type {Item<P>[]} */
  const items = [];
  const silent = new Set();
  /** @type {string | null} */
  let next = `${path}${path.includes("?") ? "&" : "?"}limit=${Math.min(PAGE, maximum)}`;
  while (next !== null && items.length < maximum) {
    /** @type {Response} */
    const response = await ask("GET", next);
    items.push(...parse(await response.text()));
    next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? null;
    for (const node of unanswered(response)) silent.add(node);
    onPage(items, [...silent]);
  }
  return items;
}

/**
 * The objects of an answer that has one on each line.
 * @param {string} path
 */
export async function lines(path) {
  return (await text(path)).split("\n").filter((line) => line !== "").map(parse);
}
