// The console's beginning: who is signed in, and which page the address bar names.

import { Accounts } from "./accounts.js";
import { json } from "./api.js";
import { Detail } from "./detail.js";
import { Devices } from "./devices.js";
import { element } from "./dom.js";
import { CHANNEL, Feed } from "./feed.js";
import { DeviceNames } from "./names.js";
import { Notifications } from "./notifications.js";
import { Phone } from "./phone.js";
import { Rehearsals } from "./rehearsals.js";
import { Send } from "./send.js";
import { Service } from "./service.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const nav = document.getElementById("nav");
const signOut = document.getElementById("sign-out");

let feed;
/** The pages by the first part of the fragment, each made when it is first shown. */
let makers;
const pages = new Map();
let shown = null;

async function start() {
  const isSignIn = location.pathname === "/console/sign-in";
  // The link is used up: it has no business in the history.
  if (isSignIn) history.replaceState(null, "", "/console");
  let reasons;
  try {
    reasons = new Map((await json("GET", "/v1/reasons")).map((row) => [row.reason, row]));
  } catch (error) {
    fail(error, isSignIn);
    return;
  }
  feed = new Feed(change, fail);
  const names = new DeviceNames(change);
  makers = {
    notifications: () => new Notifications(feed, reasons, names, go),
    notification: () => new Detail(feed, reasons, names),
    devices: () => new Devices(feed),
    device: () => new Phone(feed),
    send: () => new Send(feed),
    accounts: () => new Accounts(feed),
    rehearsals: () => new Rehearsals(),
    service: () => new Service(),
  };
  signOut.hidden = false;
  nav.hidden = false;
  addEventListener("hashchange", route);
  document.addEventListener("visibilitychange", () => shown !== null && showTitle());
  feed.start();
  route();
}

function page(name) {
  if (!pages.has(name)) pages.set(name, makers[name]());
  return pages.get(name);
}

/** Shows the page that the fragment names. */
function route() {
  const [path, query = ""] = location.hash.split("?", 2);
  const [, wanted = "", ...rest] = path.split("/");
  const name = wanted in makers ? wanted : "notifications";
  const next = page(name);
  // What the address names may have a slash in it.
  let item = rest.join("/");
  try { item = decodeURIComponent(item); } catch { /* as it is: then there is no such thing */ }
  const isOther = shown !== next;
  const before = shown;
  if (isOther) before?.close?.();
  shown = next;
  if (isOther) main.replaceChildren(next.element);
  next.open?.(query, item, page("notifications"));
  showTitle();
  mark(next.section ?? name);
  // The first page leaves the focus where the browser has it.
  if (isOther && before !== null) next.focus?.(before);
}

/** How many notifications there were when the page was last in sight. */
let seen = 0;

/** The title says how many came while nobody looked. */
function showTitle() {
  if (!document.hidden) seen = feed.model.added;
  const unseen = feed.model.added - seen;
  const title = `${unseen > 0 ? `(${unseen.toLocaleString()}) ` : ""}${shown.title} · Carillon`;
  if (document.title !== title) document.title = title;
}

function mark(name) {
  for (const link of nav.querySelectorAll("a")) {
    if (link.hash === `#/${name}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({ block: "nearest", inline: "nearest" });
    } else link.removeAttribute("aria-current");
  }
}

/** Another filter, without a step in the history for each letter. */
function go(address) {
  history.replaceState(null, "", address);
  route();
}

let isDue = false;
/** Draws at most once for each picture of the screen. */
function change() {
  // A page out of sight draws nothing.
  if (document.hidden && shown !== null) showTitle();
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    showLive();
    shown?.change?.();
  });
}

function showLive() {
  const isLive = feed.state?.live === true;
  const text = isLive ? "Live" : "Connecting…";
  live.hidden = false;
  live.classList.toggle("on", isLive);
  if (live.textContent !== text) live.textContent = text;
}

signOut.addEventListener("click", async () => {
  await json("DELETE", "/v1/console/session").catch(() => {});
  // All tabs are signed out, and so is what they hold.
  location.replace("/console");
});

/** Says what is wrong, in the place of everything else. */
function fail(error, isUsedLink = false) {
  signOut.hidden = true;
  live.hidden = true;
  nav.hidden = true;
  shown?.close?.();
  shown = null;
  // Whoever signs in again in another tab is signed in here as well.
  new BroadcastChannel(CHANNEL).onmessage = ({ data }) => { if (data.kind === "hello") location.reload(); };
  const isSignedOut = error.status === 401 || error.status === 403;
  const text = !isSignedOut ? error.message
    : isUsedLink ? "This link was used already, or is older than five minutes. Make another one where the service runs:"
    : "On the machine where the service runs, make a link and open it in this browser:";
  main.replaceChildren(element("section", { class: "card sign-in" },
    element("h1", {}, isSignedOut ? "Sign in" : "The service does not answer"),
    element("p", {}, text),
    isSignedOut ? element("pre", {}, "carillon console")
      : element("button", { type: "button", onclick: () => location.reload() }, "Try again"),
    isSignedOut ? element("p", { class: "hint" }, "The link works once, and for five minutes.") : null));
}

start();
