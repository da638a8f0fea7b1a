// A notification as the command that sends it.

import { stringify } from "./exactjson.js";

/**
 * For a POSIX shell.
 * @param {string} text
 */
function quoted(text) {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Headers that curl makes by itself, or that only the connection's client can. */
const own = new Set(["host", "content-length", "user-agent", "accept", "accept-encoding", "authorization", "content-type"]);

/**
 * The body of a request, which need not be JSON.
 * @param {Pick<API.RecordedRequest, "headers" | "token" | "topic" | "protocol" | "payload" | "body">} request
 */
export function body(request) {
  return request.payload === undefined ? request.body ?? "" : stringify(request.payload);
}

/**
 * @param {Pick<API.RecordedRequest, "headers" | "token" | "topic" | "protocol" | "payload" | "body">} request
 * @param text the body, if it is known as it was sent
 */
export function curl(request, text = body(request)) {
  const headers = request.headers ?? {};
  const host = headers[":authority"] ?? "localhost:2197";
  const path = headers[":path"] ?? `/3/device/${request.token ?? ""}`;
  const sent = Object.entries(headers).filter(([name]) => !name.startsWith(":") && !own.has(name));
  // The path of a request about channels names the app, and the management of channels is not only POST.
  const isAboutChannels = headers["apns-channel-id"] !== undefined || request.protocol === "channels";
  if (!isAboutChannels && !sent.some(([name]) => name === "apns-topic") && request.topic) sent.push(["apns-topic", request.topic]);
  const method = headers[":method"] ?? "POST";
  const options = [
    // Without these options curl would read a file whose name a body begins with, and expand brackets in the path. Whoever
    // sends a notification chooses both.
    "curl --http2 --globoff --cacert carillon-data/ca.pem",
    '-H "authorization: bearer $(carillon key token)"',
    ...sent.map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...method === "POST" ? [] : [`-X ${quoted(method)}`],
    ...method === "POST" || text !== "" ? [`--data-raw ${quoted(text)}`] : [],
    quoted(`https://${host}${path}`),
  ];
  return options.join(" \\\n  ");
}
