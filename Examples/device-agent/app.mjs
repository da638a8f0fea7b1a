#!/usr/bin/env node
// An app of the device agent. Usage: app.mjs BUNDLE-ID
import { request } from "node:http";
import { createInterface } from "node:readline";

const socketPath = process.env.CARILLON_AGENT_SOCKET ?? "/run/carillon-device/agent.sock";
const bundleID = process.argv[2];
if (!bundleID) {
    console.error("usage: app.mjs BUNDLE-ID");
    process.exit(2);
}
const app = `/v1/apps/${bundleID}`;

/** Sends a request, and returns the response. */
function open(method, path, document) {
    return new Promise((resolve, reject) => {
        const headers = { "content-type": "application/json" };
        const sent = request({ socketPath, method, path, headers }, resolve);
        sent.on("error", reject);
        sent.end(document === undefined ? undefined : JSON.stringify(document));
    });
}

/** Reads the document of an answer. A refusal says why in its detail. */
async function read(response) {
    let text = "";
    for await (const part of response.setEncoding("utf8")) text += part;
    const answer = text ? JSON.parse(text) : undefined;
    if (response.statusCode >= 400) throw new Error(answer?.detail ?? `status ${response.statusCode}`);
    return answer;
}

/** Sends a request, and returns the document of the answer. */
async function ask(method, path, document) {
    return read(await open(method, path, document));
}

function handle(event) {
    console.log(event.event, event.content?.title ?? "", event.content?.body ?? "");
}

// Register at each start, and hand the device token to your backend.
try {
    console.log("device token", (await ask("PUT", app, {})).token);
} catch (error) {
    console.error(error.message);
    process.exit(1);
}
while (true) {
    try {
        const response = await open("GET", `${app}/events`);
        if (response.statusCode !== 200) await read(response);
        for await (const line of createInterface({ input: response })) {
            const event = JSON.parse(line);
            handle(event);
            // Until this is said, the event comes again.
            await ask("POST", `${app}/handled`, { deliveries: [event.delivery] });
        }
    } catch (error) {
        console.error(error.message);
    }
    // The agent was restarted. What was not handled is still there.
    await new Promise((resolve) => setTimeout(resolve, 1000));
}
