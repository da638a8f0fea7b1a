// Asks before something is done that cannot be undone, and for what something new needs.

import { announce, element } from "./dom.js";

let count = 0;

/**
 * Opens a dialog with a form; it closes when what was asked for is done, or is not wanted.
 * @param title what it is about
 * @param content the elements of the form
 * @param label what the button says
 * @param perform called when the form is sent; what it throws is shown, and the dialog stays
 */
export function ask({ title, content, label, isDanger = false, perform }) {
  count += 1;
  const id = `dialog-${count}`;
  const problem = element("p", { class: "problem", role: "alert" });
  const button = element("button", { type: "submit", class: isDanger ? "primary danger" : "primary" }, label);
  const form = element("form", { class: "stack", method: "dialog" },
    element("h2", { id }, title), ...content, problem,
    element("div", { class: "actions end" },
      element("button", { type: "button", onclick: () => dialog.close() }, "Cancel"), button));
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
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}

/** Asks whether something shall be done that ends other things, and says which. */
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

/** "1 device", "3 devices". */
export function counted(count, one, many = `${one}s`) {
  return `${count.toLocaleString()} ${count === 1 ? one : many}`;
}
