// The console's start: checks whether the browser is signed in, and shows the page that the address names.

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
/** Functions that make the pages, by the first part of the fragment. Each page is made when it is first shown. */
let makers;
const pages = new Map();
let shown = null;

async function start() {
  const isSignIn = location.pathname === "/console/sign-in";
  // The sign-in link works only once, so do not keep it in the browser's history.
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
  // The name of the item may contain a slash, so join all remaining parts.
  let item = rest.join("/");
  try { item = decodeURIComponent(item); } catch { /* Keep it undecoded; the page then says that there is no such item. */ }
  const isOther = shown !== next;
  const before = shown;
  if (isOther) before?.close?.();
  shown = next;
  if (isOther) main.replaceChildren(next.element);
  next.open?.(query, item, page("notifications"));
  showTitle();
  mark(next.section ?? name);
  // Do not move the focus when the first page is shown.
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

/** Changes the filter in the address. It replaces the history's entry, so that not each letter typed makes a new one. */
function go(address) {
  history.replaceState(null, "", address);
  route();
}

let isDue = false;
/** Draws the changes, at most once for each frame of the screen. */
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
  // Load the page again, so that nothing from the session stays in memory. The other tabs notice at their next request.
  location.replace("/console");
});

/** Shows an error instead of the page: how to sign in, or that the service does not answer. */
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
    : isUsedLink ? "This link was used already, or is older than five minutes. Make a new one on the machine where the service runs:"
    : "On the machine where the service runs, make a link and open it in this browser:";
  main.replaceChildren(element("section", { class: "card sign-in" },
    element("h1", {}, isSignedOut ? "Sign in" : "The service does not answer"),
    element("p", {}, text),
    isSignedOut ? element("pre", {}, "carillon console")
      : element("button", { type: "button", onclick: () => location.reload() }, "Try again"),
    isSignedOut ? element("p", { class: "hint" }, "The link works once, within five minutes.") : null));
}

start();
