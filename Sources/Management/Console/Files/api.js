// Sends requests to the management API. The browser adds the session's cookie, so no key is needed.

export class APIError extends Error {
  constructor(status, detail, pointer) {
    super(detail);
    this.status = status;
    /** The JSON pointer to the fault in the request's body; undefined if the fault is not there. */
    this.pointer = pointer;
  }
}

async function ask(method, path, body) {
  const options = { method, headers: {} };
  if (body !== undefined) {
    options.headers["Content-Type"] = "application/json";
    options.body = JSON.stringify(body);
  }
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

/** Sends a request, and returns the JSON of the answer. */
export async function json(method, path, body) {
  return (await ask(method, path, body)).json();
}

/** How many items to ask for at once. */
const PAGE = 1000;

/**
 * Loads all items of a list, page by page.
 * @param {number} maximum stop after this many items
 * @param onPage called after each page, with all items loaded so far
 */
export async function list(path, maximum = Infinity, onPage = () => {}) {
  const items = [];
  let next = `${path}?limit=${Math.min(PAGE, maximum)}`;
  while (next !== null && items.length < maximum) {
    const response = await ask("GET", next);
    items.push(...await response.json());
    next = /<([^>]*)>; rel="next"/.exec(response.headers.get("Link") ?? "")?.[1] ?? null;
    onPage(items);
  }
  return items;
}

/** The objects of an answer that contains one JSON object on each line. */
export async function lines(path) {
  const text = await (await ask("GET", path)).text();
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
