// A notification as the command that sends it.

/** For a POSIX shell. */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Headers that curl makes by itself, or that only the connection's client can. */
const own = new Set(["host", "content-length", "user-agent", "accept", "accept-encoding", "authorization", "content-type"]);

/** The body, as the journal keeps it: the same JSON, perhaps in another form. */
export function body(request) {
  return JSON.stringify(request.payload ?? {});
}

export function curl(request) {
  const headers = request.headers ?? {};
  const host = headers[":authority"] ?? "localhost:2197";
  const path = headers[":path"] ?? `/3/device/${request.token ?? ""}`;
  const sent = Object.entries(headers).filter(([name]) => !name.startsWith(":") && !own.has(name));
  if (!sent.some(([name]) => name === "apns-topic") && request.topic) sent.push(["apns-topic", request.topic]);
  const options = [
    "curl --http2 --cacert carillon-data/ca.pem",
    '-H "authorization: bearer $(carillon key token)"',
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    `-d ${quoted(body(request))}`,
    quoted(`https://${host}${path}`),
  ];
  return options.join(" \\\n  ");
}
