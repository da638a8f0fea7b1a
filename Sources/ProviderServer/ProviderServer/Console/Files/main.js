// The start of the provider server's console: checks whether the browser is signed in, and shows the page that the address
// names.

import { json } from "./api.js";
import { Apps } from "./apps.js";
import { Audiences } from "./audiences.js";
import { Channels } from "./channels.js";
import { Compose } from "./compose.js";
import { Hooks } from "./hooks.js";
import { Installations } from "./installations.js";
import { Message } from "./message.js";
import { Messages } from "./messages.js";
import { Shell } from "./shell.js";

const shell = new Shell({ home: "messages", command: "carillon provider console" });

try {
  const reasons = new Map((await json("GET", "/v1/reasons")).map((row) => [row.reason, row]));
  shell.begin({
    messages: () => new Messages(shell),
    message: () => new Message(shell, reasons),
    compose: () => new Compose(shell),
    audiences: () => new Audiences(shell),
    channels: () => new Channels(shell),
    installations: () => new Installations(shell),
    hooks: () => new Hooks(shell),
    apps: () => new Apps(shell),
  });
} catch (error) {
  shell.fail(error);
}
