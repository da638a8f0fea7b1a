// What Web Push does with messages to an app's phones: the dialog of its template and its switches.

import { json } from "./api.js";
import { ask } from "./dialog.js";
import { element, field } from "./dom.js";
import { parse, stringify } from "./exactjson.js";

/**
 * Asks for the template of an app in one environment. `perform` sends the request, and shows the page again.
 * @param {API.App} app
 * @param {import("./upstreams.js").Perform} perform
 */
export function webPush(app, perform) {
  /** @param {string} name */
  const check = (name) => element("input", { name, type: "checkbox" });
  const environment = element("select", { name: "environment" },
    element("option", { value: "production" }, "Production"), element("option", { value: "development" }, "Development"));
  const template = element("textarea", { name: "template", rows: 12, spellcheck: "false", placeholder: "The usual one, or that of the public relays" });
  const [relayTo, plain] = [check("relayTo"), check("plain")];
  let isSet = false;

  /** Shows the settings of the environment, which the form replaces. */
  const load = async () => {
    const wanted = environment.value;
    for (const control of [template, relayTo, plain]) control.disabled = true;
    const present = await json("GET", path(app, wanted)).catch((error) => {
      if (error.status === 404) return null;
      throw error;
    });
    // Another one may have been chosen meanwhile.
    if (environment.value !== wanted) return;
    isSet = present !== null;
    template.value = present === null ? "" : stringify(present.template, 2);
    relayTo.checked = present?.relayTo ?? false;
    plain.checked = present?.plain ?? false;
    for (const control of [template, relayTo, plain]) control.disabled = false;
  };
  environment.addEventListener("change", () => load());
  load();

  ask({
    title: `Web Push to the phones of ${app.bundleID}`, label: "Save",
    content: [
      field("Environment", environment), field("Template of the notifications, JSON", template),
      element("p", { class: "hint" }, 'An object such as {"$webPush": "body", "as": "z85"} stands for a part of the message: body, dh, salt, encoding, subscription, extra or fetch.'),
      field("The app has the relay's URL, /relay-to/…", relayTo), field("Messages may be without encryption", plain),
    ],
    perform: async () => {
      if (template.disabled) throw new Error("The present settings are not here yet.");
      const place = path(app, environment.value);
      const text = template.value.trim();
      if (text === "" && !relayTo.checked && !plain.checked) {
        if (isSet) await perform("DELETE", place);
        return;
      }
      /** @type {Record<string, unknown>} */
      const body = { relayTo: relayTo.checked, plain: plain.checked };
      if (text !== "") body.template = document(text);
      await perform("PUT", place, body);
    },
  });
}

/** @param {string} text */
function document(text) {
  try {
    return parse(text);
  } catch (error) {
    throw new Error(`The template is no JSON: ${error.message}`);
  }
}

/**
 * @param {API.App} app
 * @param {string} environment
 */
function path(app, environment) { return `/v1/apps/${encodeURIComponent(app.bundleID)}/web-push/${environment}`; }
