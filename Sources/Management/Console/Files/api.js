// The management API, as curl asks it: the session's cookie takes the place of the key.

export class APIError extends Error {
  constructor(status, detail) {
    super(detail);
    this.status = status;
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
  throw new APIError(response.status, problem.detail ?? `The service refused: status ${response.status}.`);
}

/** The JSON of an answer. */
export async function json(method, path, body) {
  return (await ask(method, path, body)).json();
}

/** The objects of an answer that has one on each line. */
export async function lines(path) {
  const text = await (await ask("GET", path)).text();
  return text.split("\n").filter((line) => line !== "").map((line) => JSON.parse(line));
}
