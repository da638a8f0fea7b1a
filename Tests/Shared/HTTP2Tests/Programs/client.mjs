// A client of node's http2. usage: node client.mjs PORT CERTIFICATE
import { readFileSync } from "node:fs";
import { connect } from "node:http2";

const [port, certificate] = process.argv.slice(2);
const session = connect(`https://127.0.0.1:${port}`, { ca: readFileSync(certificate) });
session.on("error", (error) => { throw error; });
session.setTimeout(30_000, () => { throw new Error("no answer"); });

function post(path, id, body) {
  return new Promise((resolve, reject) => {
    const request = session.request({ ":method": "POST", ":path": path, "apns-id": id });
    let answer = { body: "" };
    request.setEncoding("utf8");
    request.on("response", (headers) => { answer = { status: headers[":status"], id: headers["apns-id"], body: "" }; });
    request.on("data", (text) => { answer.body += text; });
    request.on("end", () => resolve(answer));
    request.on("error", reject);
    request.end(body);
  });
}

const body = "x".repeat(100_000);
const answers = await Promise.all(Array.from({ length: 100 }, (_, number) => post("/echo", `${number}`, `{"${number}"}`)));
const good = answers.filter((answer, number) =>
  answer.status === 200 && answer.id === `${number}` && answer.body === `{"${number}"}`).length;
const long = await post("/echo", "long", body);
const large = await post("/large", "large", "");
console.log(`${good} ${long.body.length} ${large.body.length}`);
session.close();
