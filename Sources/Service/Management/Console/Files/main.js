// The console's start: checks whether the browser is signed in, and shows the page that the address names.

import { Accounts } from "./accounts.js";
import { json } from "./api.js";
import { Detail } from "./detail.js";
import { Devices } from "./devices.js";
import { place } from "./dom.js";
import { Feed } from "./feed.js";
import { GrantPage } from "./grant.js";
import { Grants } from "./grants.js";
import { DeviceNames } from "./names.js";
import { Notifications } from "./notifications.js";
import { Phone } from "./phone.js";
import { Rehearsals } from "./rehearsals.js";
import { Send } from "./send.js";
import { Service } from "./service.js";
import { Shell } from "./shell.js";

/** @typedef {import("./api.js").APIError} APIError */

const live = place("live");
const accepts = place("accepts");
const rehearsals = /** @type {HTMLElement} */ (document.querySelector('#nav a[href="#/rehearsals"]'));
const shell = new Shell({ home: "notifications", command: "carillon console", prefix: unseen });

/** @type {Feed} */
let feed;

async function start() {
  /** @type {Map<string, API.Reason>} */
  let reasons;
  try {
    reasons = new Map((await json("GET", "/v1/reasons")).map((row) => [row.reason, row]));
  } catch (error) {
    fail(error);
    return;
  }
  // Only the state is asked for, and no samples.
  json("GET", `/v1/service?after=${Number.MAX_SAFE_INTEGER}`).then(({ accept }) => { accepts.hidden = accept !== "any"; }, () => {});
  feed = new Feed(change, fail);
  const names = new DeviceNames(change);
  feed.start();
  shell.begin({
    notifications: () => new Notifications(feed, reasons, names, (address) => shell.go(address)),
    notification: () => new Detail(feed, reasons, names),
    devices: () => new Devices(feed),
    device: () => new Phone(feed),
    send: () => new Send(feed),
    accounts: () => new Accounts(feed),
    grants: () => new Grants(),
    grant: () => new GrantPage(),
    rehearsals: () => new Rehearsals(),
    service: () => new Service(),
  });
}

/** How many notifications there were when the page was last in sight. */
let seen = 0;

/** The title says how many came while nobody looked. */
function unseen() {
  if (!document.hidden) seen = feed.model.added;
  const count = feed.model.added - seen;
  return count > 0 ? `(${count.toLocaleString()}) ` : "";
}

function change() {
  // Rehearsals exist in the development environment only.
  rehearsals.hidden = feed.state?.source === "production";
  shell.change(showLive);
}

function showLive() {
  const isLive = feed.state?.live === true;
  const text = isLive ? "Live" : "Connecting…";
  live.hidden = false;
  live.classList.toggle("on", isLive);
  if (live.textContent !== text) live.textContent = text;
}

/** @param {APIError} error */
function fail(error) {
  live.hidden = true;
  shell.fail(error);
}

start();
