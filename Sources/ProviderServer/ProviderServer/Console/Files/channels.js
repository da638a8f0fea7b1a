// The page "Channels": the broadcast channels of an app, as the push service has them.

import { json, none } from "./api.js";
import { ask, confirm } from "./dialog.js";
import { element, empty, field, section } from "./dom.js";
import { AppPage, failure, items, query } from "./parts.js";

/** @typedef {import("./shell.js").Shell} Shell */

/** @typedef {"production" | "development"} Environment */

/** @type {Record<Environment, string>} */
const labels = { production: "Production", development: "Development" };

export class Channels extends AppPage {
  title = "Channels";
  #turn = 0;

  /** @param {Shell} shell */
  constructor(shell) { super(shell, "Channels", "New channel"); }

  /** The environments of the app. */
  get #environments() {
    const app = this.apps.apps.find((each) => each.bundleID === this.apps.value);
    return /** @type {Environment[]} */ (Object.keys(labels)).filter((name) => app?.environments[name] !== undefined);
  }

  async load() {
    this.#turn += 1;
    const turn = this.#turn;
    // The service of one environment may be away: show the other one all the same.
    const parts = await Promise.all(this.#environments.map((environment) => this.#part(environment)));
    if (turn === this.#turn) this.list.replaceChildren(...parts);
  }

  /** @param {Environment} environment */
  async #part(environment) {
    let channels;
    try {
      channels = await items(`/v1/channels?${query({ bundleID: this.apps.value, environment })}`);
    } catch (error) {
      return section(labels[environment], failure(this.shell, error, () => this.load()));
    }
    return section(labels[environment], channels.length === 0
      ? empty("No channel yet", "Devices of the app subscribe to a channel, and one request updates the Live Activities on all of them.")
      : element("table", { class: "channels", "aria-label": `Channels, ${labels[environment]}` },
        element("thead", {}, element("tr", {}, ...["Channel", ""].map((name) => element("th", { scope: "col" }, name)))),
        element("tbody", {}, ...channels.map((channel) => this.#row(channel)))));
  }

  /** @param {{ id: string, environment: string }} channel */
  #row({ id, environment }) {
    const message = new URLSearchParams({ app: this.apps.value, channel: id, environment });
    return element("tr", {},
      element("td", {}, element("code", {}, id)),
      element("td", {}, element("div", { class: "actions" },
        element("a", { class: "button", href: `#/compose?${message}`, "aria-label": `New message to ${id}` }, "New message"),
        element("button", { type: "button", class: "danger", "aria-label": `Delete ${id}`, onclick: () => this.#remove(id, environment) }, "Delete"))));
  }

  ask() {
    /**
     * @param {string} name
     * @param {string[][]} choices
     */
    const select = (name, choices) => element("select", { name }, ...choices.map(([value, label]) => element("option", { value }, label)));
    const environment = select("channel-environment", this.#environments.map((name) => [name, labels[name]]));
    const keeps = select("keeps", [["newest", "The newest message"], ["nothing", "Nothing"]]);
    ask({
      title: `New channel of ${this.apps.value}`, label: "Make it",
      content: [field("Environment", environment), field("Kept for devices that are offline", keeps)],
      perform: async () => {
        await json("POST", "/v1/channels", { bundleID: this.apps.value, environment: environment.value, keeps: keeps.value });
        await this.load();
      },
    });
  }

  /**
   * @param {string} id
   * @param {string} environment
   */
  #remove(id, environment) {
    confirm("Delete the channel?", [`${id} gets no more messages.`, "The devices' subscriptions end. A new channel has another ID."], "Delete it", async () => {
      await none("DELETE", `/v1/channels/${encodeURIComponent(id)}?${query({ bundleID: this.apps.value, environment })}`);
      await this.load();
    });
  }
}
