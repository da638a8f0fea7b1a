// Formats times and durations for people, in the local time zone.

const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/**
 * The time of day, such as 14:03:22, with the date if it is not today.
 * @param {number} milliseconds
 */
export function shortTime(milliseconds) {
  const moment = new Date(milliseconds);
  const time = timeOfDay.format(moment);
  return moment.toDateString() === new Date().toDateString() ? time : `${date.format(moment)}, ${time}`;
}

/** @param {number} milliseconds */
export function exactTime(milliseconds) {
  const moment = new Date(milliseconds);
  return Number.isNaN(moment.getTime()) ? String(milliseconds) : moment.toISOString();
}

const full = new Intl.DateTimeFormat(undefined, {
  year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", fractionalSecondDigits: 3, timeZoneName: "short" });

/**
 * The date and the time of day with its zone, which is the same as that of all other times.
 * @param {number} milliseconds
 */
export function fullTime(milliseconds) {
  const moment = new Date(milliseconds);
  return Number.isNaN(moment.getTime()) ? String(milliseconds) : full.format(moment);
}

/**
 * A duration such as 3 ms, 1.25 s, 2 min 5 s or 3 h 20 min.
 * @param {number} milliseconds
 */
export function duration(milliseconds) {
  if (milliseconds < 1000) return `${milliseconds} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 60) return `${Number(seconds.toFixed(2))} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
