// What things are called.

export const outcomes = {
  delivered: "Delivered",
  stored: "Stored",
  pending: "On its way",
  rejected: "Rejected",
  replaced: "Replaced",
  expired: "Expired",
  dropped: "Dropped",
  lost: "Lost by a rehearsal",
};

/** The steps of the delivery log. */
export const steps = {
  accepted: "Accepted",
  rejected: "Rejected",
  stored: "Stored until the device connects",
  replaced: "Replaced by a newer one",
  coalesced: "Replaced by one with its collapse identifier",
  deferred: "Held for the device's power",
  throttled: "Held: too many silent notifications",
  sent: "Sent to the device",
  acknowledged: "Taken by the device",
  expired: "Expired",
  discarded: "Given up",
  duplicate: "The device has had this identifier before",
};

const text = (value) => (typeof value === "string" && value.trim() !== "" ? value : null);

/** What a person would see of a payload first. */
export function title(payload) {
  const aps = payload?.aps;
  if (typeof aps !== "object" || aps === null) return "No aps dictionary";
  const alert = aps.alert;
  const shown = typeof alert === "object" && alert !== null
    ? text(alert.title) ?? text(alert.body) ?? text(alert["title-loc-key"]) ?? text(alert["loc-key"])
    : text(alert);
  if (shown !== null) return shown;
  if (aps["content-available"] === 1) return "Silent";
  if (aps.badge !== undefined) return `Badge ${JSON.stringify(aps.badge)}`;
  if (text(aps.event) !== null) return `Live Activity: ${aps.event}`;
  return "No alert";
}

/** The end of something long, which is where device tokens of one service differ. */
export function short(value, length = 12) {
  return value.length > length + 1 ? `…${value.slice(-length)}` : value;
}
