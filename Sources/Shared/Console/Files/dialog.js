// Dialogs: they ask for the values of something new, and for confirmation before something that cannot be undone.

import { announce, element } from "./dom.js";

let count = 0;

/**
 * Opens a dialog with a form. The dialog closes after `perform` has succeeded, or when the person cancels.
 * @param {object} dialog
 * @param {string} dialog.title its heading
 * @param {import("./dom.js").Content[]} dialog.content the elements of the form
 * @param {string} dialog.label the text of the button that sends the form
 * @param {boolean} [dialog.isDanger]
 * @param {boolean} [dialog.isOnlyDone] whether there is nothing to cancel: the dialog only shows something
 * @param {() => unknown} dialog.perform called when the form is sent; if it throws, the dialog shows the error and stays open
 */
export function ask({ title, content, label, isDanger = false, isOnlyDone = false, perform }) {
  count += 1;
  const id = `dialog-${count}`;
  const problem = element("p", { class: "problem", role: "alert" });
  const button = element("button", { type: "submit", class: isDanger ? "primary danger" : "primary" }, label);
  /** @type {HTMLFormElement} */
  const form = element("form", { class: "stack", method: "dialog" },
    element("h2", { id }, title), ...content, problem,
    element("div", { class: "actions end" },
      isOnlyDone ? null : element("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), button));
  /** @type {HTMLDialogElement} */
  const dialog = element("dialog", { "aria-labelledby": id }, form);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    button.disabled = true;
    problem.textContent = "";
    try {
      await perform();
      dialog.close();
    } catch (error) {
      problem.textContent = error.message;
    } finally {
      button.disabled = false;
    }
  });
  // The escape key closes nothing that cannot be had again.
  if (isOnlyDone) dialog.addEventListener("cancel", (event) => event.preventDefault());
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/**
 * Asks for confirmation of a dangerous action.
 * @param {string} title
 * @param {import("./dom.js").Content[]} ends its effects, one sentence each
 * @param {string} label
 * @param {() => unknown} perform
 */
export function confirm(title, ends, label, perform) {
  ask({
    title, label, isDanger: true,
    content: [element("ul", { class: "ends" }, ...ends.map((end) => element("li", {}, end)))],
    perform: async () => {
      await perform();
      announce("Done.");
    },
  });
}

/**
 * A number with its noun: "1 device", "3 devices".
 * @param {number} count
 * @param {string} one
 */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
