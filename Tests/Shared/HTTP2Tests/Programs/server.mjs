// A server of node's http2, which prints its port. usage: node server.mjs CERTIFICATE KEY
import { readFileSync } from "node:fs";
import { createSecureServer } from "node:http2";

const [certificate, key] = process.argv.slice(2);
const server = createSecureServer({ cert: readFileSync(certificate), key: readFileSync(key) });
server.on("stream", (stream, headers) => {
  const parts = [];
  stream.on("data", (part) => parts.push(part));
  stream.on("end", () => {
    stream.respond({ ":status": 200, "apns-id": headers["apns-id"] });
    stream.end(headers[":path"] === "/large" ? "x".repeat(1_000_000) : Buffer.concat(parts));
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
