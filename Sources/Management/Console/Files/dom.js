// Makes elements. Text is set as text, always: payloads come from strangers, and nothing here can turn them into markup.

/**
 * @param {string} tag
 * @param {object} [attributes] properties by their names; "on…" are listeners, null leaves an attribute out
 * @param {...(Node|string|null)} children strings become text
 */
export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** Says something to screen readers, without interrupting them. */
export function announce(text) {
  document.getElementById("announcer").textContent = text;
}
