// The console's beginning: who is signed in, and which page the address bar names.

import { json } from "./api.js";
import { Detail } from "./detail.js";
import { element } from "./dom.js";
import { Feed } from "./feed.js";
import * as filters from "./filter.js";
import { Notifications } from "./notifications.js";

const main = document.getElementById("main");
const live = document.getElementById("live");
const signOut = document.getElementById("sign-out");

let feed;
let list;
let detail;

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
  list = new Notifications(feed, reasons, go);
  detail = new Detail(feed, reasons);
  signOut.hidden = false;
  addEventListener("hashchange", route);
  feed.start();
  route();
}

/** Shows the page that the fragment names. */
function route() {
  const [path, query = ""] = location.hash.split("?", 2);
  const isDetail = path.startsWith("#/notification/");
  if (isDetail) {
    detail.open(decodeURIComponent(path.slice("#/notification/".length)), list.address);
  } else {
    list.setFilter(filters.read(query));
  }
  const page = isDetail ? detail : list;
  if (main.firstElementChild === page.element) return;
  const isBack = main.firstElementChild === detail.element;
  main.replaceChildren(page.element);
  document.title = `${isDetail ? "Notification" : "Notifications"} · Carillon`;
  if (isDetail) detail.focus();
  else if (isBack) list.focus();
}

/** Another filter, without a step in the history for each letter. */
function go(filter) {
  history.replaceState(null, "", filters.address(filter));
  route();
}

let isDue = false;
/** Draws at most once for each picture of the screen. */
function change() {
  if (isDue) return;
  isDue = true;
  requestAnimationFrame(() => {
    isDue = false;
    showLive();
    list.change();
    detail.change();
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
