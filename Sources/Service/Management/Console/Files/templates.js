// The templates of the page "Send".

const now = () => Math.floor(Date.now() / 1000);

/**
 * The templates by their names in the address. `name` is the text of the button.
 * @type {Record<string, { name: string, pushType: string, priority: string, payload: () => object }>}
 */
export const templates = {
  alert: {
    name: "Alert", pushType: "alert", priority: "10",
    payload: () => ({ aps: { alert: { title: "Your order is on its way", body: "It arrives tomorrow between 9 and 11." }, sound: "default" } }),
  },
  background: {
    name: "Background", pushType: "background", priority: "5",
    payload: () => ({ aps: { "content-available": 1 }, "refresh": "orders" }),
  },
  badge: { name: "Badge", pushType: "alert", priority: "5", payload: () => ({ aps: { badge: 3 } }) },
  localised: {
    name: "Localised", pushType: "alert", priority: "10",
    payload: () => ({ aps: { alert: { "title-loc-key": "ORDER_TITLE", "loc-key": "ORDER_BODY", "loc-args": ["4711", "Anna"] } } }),
  },
  critical: {
    name: "Critical sound", pushType: "alert", priority: "10",
    payload: () => ({ aps: {
      alert: { title: "Water in the cellar", body: "The sensor at the pump is wet." },
      sound: { critical: 1, name: "alarm.caf", volume: 0.8 }, "interruption-level": "critical" } }),
  },
  voip: {
    name: "VoIP", pushType: "voip", priority: "10",
    payload: () => ({ aps: {}, caller: "Anna", call: "2f1c0b7e" }),
  },
  liveactivity: {
    name: "Live Activity", pushType: "liveactivity", priority: "10",
    payload: () => ({ aps: { timestamp: now(), event: "update", "content-state": { minutes: 12, stop: "Main Square" } } }),
  },
};
