// Values and explanations in the words of the management API.

/** A duration in ISO 8601, from milliseconds or such a text. */
export function duration(value) {
  return typeof value === 'string' ? value : `PT${(value / 1000).toFixed(3)}S`;
}

function shown(value) {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length > 300 ? `${text.slice(0, 300)}…` : text;
}

/** A request in one line. */
export function requestLine(request) {
  const answer = request.status === undefined ? 'no answer yet' : [request.status, request.reason].filter(Boolean).join(' ');
  const parts = [`#${request.number}`, answer];
  if (request.outcome) parts.push(request.outcome);
  for (const name of ['topic', 'token', 'channel']) if (request[name]) parts.push(`${name} ${request[name]}`);
  parts.push(request.payload === undefined ? 'no payload' : `payload ${shown(request.payload)}`);
  if (request.rule) parts.push(`fault ${request.rule}`);
  return parts.join(', ');
}

// Keys of a match that are header fields of the request.
const fields = { pushType: 'apns-push-type', collapseID: 'apns-collapse-id' };

function valueOf(request, key) {
  return fields[key] ? request.headers?.[fields[key]] : request[key];
}

/** Why a wait failed, from the answer 408. */
export function explanation(match, count, timeout, { matched = 0, nearest = [] }, url) {
  const { team, ...rest } = match;
  const wanted = Object.keys(rest).length ? ` ${shown(rest)}` : '';
  const lines = [
    `${matched} requests matched${wanted} within ${timeout / 1000} s, ${count ? `instead of ${count}` : 'but none should'}.`,
  ];
  // Requests of other tests' teams say nothing about this one.
  const own = nearest.filter(({ request }) => !team || !request.team || request.team === team);
  for (const { request, differs } of own) {
    lines.push(`  ${requestLine(request)}`);
    for (const name of differs) lines.push(`    ${name} is ${shown(valueOf(request, name))}, not ${shown(match[name])}`);
    if (differs.length === 0) lines.push('    matches');
  }
  if (own.length === 0 && matched === 0) {
    lines.push(`  The backend has sent nothing: it has to connect to ${url}, and trust the authority in ca.`);
  }
  return lines.join('\n');
}
