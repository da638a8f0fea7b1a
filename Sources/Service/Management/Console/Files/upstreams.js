// Where an app's notifications are forwarded to: the dialogs that set and remove its upstreams.

import { json } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { element, field } from "./dom.js";

/** @typedef {(method: string, path: string, body?: unknown) => Promise<unknown>} Perform */

const KINDS = [["", "Those it has"], ["key", "A signing key"], ["certificate", "A provider certificate"], ["passthrough", "The client's provider token"]];

/**
 * Asks where the notifications of an app go in one environment. `perform` sends the request, and shows the page again.
 * @param {API.App} app
 * @param {Perform} perform
 */
export function forward(app, perform) {
  /**
   * @param {string} name
   * @param {string} placeholder
   */
  const text = (name, placeholder) => element("input", { name, autocomplete: "off", spellcheck: "false", placeholder });
  /** @param {string} name */
  const check = (name) => element("input", { name, type: "checkbox" });
  /**
   * @param {string} name
   * @param {string[][]} choices
   */
  const select = (name, choices) => element("select", { name }, ...choices.map(([value, label]) => element("option", { value }, label)));
  const environment = select("environment", [["production", "Production"], ["development", "Development"]]);
  const url = text("url", "Apple's service");
  const authority = element("textarea", { name: "authority", rows: 3, spellcheck: "false", placeholder: "Those that the system trusts" });
  const kind = select("kind", KINDS);
  const [teamID, keyID] = [text("teamID", "ABCDE12345"), text("keyID", "KEY1234567")];
  const file = element("input", { name: "file", type: "file", accept: ".p8,.pem" });
  const [proxy, hold] = [text("proxy", "None, or HTTPS_PROXY of the service"), text("hold", "Nothing is kept; for example PT1H")];
  const [capture, compare] = [check("capture"), check("compare")];
  const captured = field("Keep them for a release from the console, and forward none", capture);
  const credentials = { team: field("Team ID", teamID), key: field("Key ID", keyID), file: field("File with the private key, PEM", file) };

  const show = () => {
    captured.hidden = environment.value !== "development";
    credentials.team.hidden = credentials.key.hidden = kind.value !== "key";
    credentials.file.hidden = kind.value !== "key" && kind.value !== "certificate";
  };
  /** Shows the settings of the environment, which the form replaces. */
  const load = async () => {
    const wanted = environment.value;
    const isSet = (app.upstreams ?? []).some((each) => each.environment === wanted);
    const present = isSet ? await json("GET", path(app, wanted)) : {};
    // Another one may have been chosen meanwhile.
    if (environment.value !== wanted) return;
    url.value = present.url ?? "";
    authority.value = present.authority ?? "";
    proxy.value = present.proxy ?? "";
    hold.value = present.hold === "PT0S" ? "" : present.hold ?? "";
    capture.checked = present.capture ?? false;
    compare.checked = present.compare ?? false;
    kind.options[0].hidden = !isSet;
    kind.value = isSet ? "" : "key";
    show();
  };
  environment.addEventListener("change", () => load());
  kind.addEventListener("change", show);
  load();

  ask({
    title: `Forward ${app.bundleID}`, label: "Forward",
    content: [
      field("Environment", environment), field("Address of the upstream", url), field("Authorities to trust, PEM", authority),
      field("Credentials", kind), credentials.team, credentials.key, credentials.file, field("HTTP proxy", proxy),
      field("Keep what cannot be forwarded for", hold), captured,
      field("Forward what is refused here for its form, and compare the answers", compare),
    ],
    perform: async () => {
      /** @type {Record<string, unknown>} */
      const body = { capture: capture.checked && environment.value === "development", compare: compare.checked };
      for (const control of [url, authority, proxy, hold]) {
        if (control.value.trim() !== "") body[control.name] = control.value.trim();
      }
      const secret = await file.files?.[0]?.text();
      if (kind.value === "key") body.credentials = { kind: "key", teamID: teamID.value.trim(), keyID: keyID.value.trim(), privateKey: secret };
      // The file has both, and each reader takes its own.
      if (kind.value === "certificate") body.credentials = { kind: "certificate", chain: secret, privateKey: secret };
      if (kind.value === "passthrough") body.credentials = { kind: "passthrough" };
      await perform("PUT", path(app, environment.value), body);
    },
  });
}

/**
 * Asks whether the notifications of an app are delivered here again.
 * @param {API.App} app
 * @param {string} environment
 * @param {Perform} perform
 */
export function endForwarding(app, environment, perform) {
  confirm(`Forward ${app.bundleID} no more?`, [
    `Its notifications in the ${environment} environment are delivered to the devices of this service from now on, also on open connections.`,
    "The credentials of the upstream are deleted. What is held for it is not sent.",
  ], "Forward no more", () => perform("DELETE", path(app, environment)));
}

/**
 * @param {API.App} app
 * @param {string} environment
 */
function path(app, environment) { return `/v1/apps/${encodeURIComponent(app.bundleID)}/upstreams/${environment}`; }
