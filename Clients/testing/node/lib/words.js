// Values and explanations in the words of the management API.

import { stringify } from './exactjson.js';

/** A duration in ISO 8601, from milliseconds or such a text. */
export function duration(value) {
  return typeof value === 'string' ? value : `PT${(value / 1000).toFixed(3)}S`;
}

function shown(value) {
  const text = stringify(value) ?? 'nothing';
  // Not by its code units, which may cut within a character.
  const characters = [...text];
  return characters.length > 300 ? `${characters.slice(0, 300).join('')}…` : text;
}

/** A request in one line, or a connection that failed before a request. */
export function requestLine(request) {
  if (request.outcome === 'failed') {
    return `#${request.number}, a connection of ${request.client ?? 'a client'} failed: ${request.cause}`;
  }
  const answer = request.status === undefined ? 'no answer yet' : [request.status, request.reason].filter(Boolean).join(' ');
  const parts = [`#${request.number}`, answer];
  if (request.outcome) parts.push(request.outcome);
  for (const name of ['topic', 'token', 'channel', 'subscription']) if (request[name]) parts.push(`${name} ${request[name]}`);
  for (const name of ['payload', 'text']) if (request[name] !== undefined) parts.push(`${name} ${shown(request[name])}`);
  if (request.payload === undefined && request.text === undefined) {
    parts.push(request.protocol === 'webpush' ? 'no text' : 'no payload');
  }
  if (request.rule) parts.push(`fault ${request.rule}`);
  return parts.join(', ');
}

// Keys of a match that are header fields of the request.
const fields = { pushType: 'apns-push-type', collapseID: 'apns-collapse-id' };

function valueOf(request, key) {
  return fields[key] ? request.headers?.[fields[key]] : request[key];
}

/** Alerts of a client that does not trust a certificate (RFC 8446, 6.2). */
const distrust = [
  'bad_certificate', 'unsupported_certificate', 'certificate_revoked', 'certificate_expired', 'certificate_unknown', 'unknown_ca',
];

/** A connection that failed before a request has no team, and tests that run at the same time share the service. */
const whose = 'a connection since this test began, perhaps another test\'s';

/** A sentence about a connection that failed before a request: what is wrong, and what to do. */
function trouble({ alert, cause, protocols, client }, host) {
  if (protocols) {
    const offered = protocols.length ? `it offered only ${protocols.join(', ')}` : 'it sent a request of HTTP/1';
    return `The backend does not speak HTTP/2 (${whose}: ${offered}): APNs takes nothing else, so send with a client for HTTP/2.`;
  }
  if (distrust.includes(alert) || (!alert && cause?.startsWith('the client ended the connection'))) {
    const how = alert ? `its alert is ${alert}` : cause;
    return `The backend does not trust the service (${whose}: ${how}): let it trust the authority in apns.ca or apns.caFile, and `
      + `connect to ${host}.`;
  }
  return `A connection of ${client ?? 'a client'} failed (${whose}): ${cause}.`;
}

/**
 * Why a wait failed, from the answer 408.
 *
 * since: the number of the newest entry of the journal from before the test.
 */
export function explanation(match, count, timeout, { matched = 0, nearest = [], failed = [], dropped = 0 }, apns, since) {
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
    // Without a request, the newest connection that failed says more than anything else.
    const connection = failed.find(({ number }) => number > since);
    const endpoint = apns.endpoint(match);
    const place = endpoint ? `send to ${endpoint}` : `connect to ${apns.url}`;
    if (connection) lines.unshift(trouble(connection, endpoint ? new URL(endpoint).hostname : apns.host));
    else if (dropped > since) {
      lines.push(
        "  The journal has dropped requests since this test began, perhaps the backend's: start the service with a larger --journal.");
    } else lines.push(`  The backend has sent nothing: it has to ${place}, and trust the authority in apns.ca.`);
  }
  return lines.join('\n');
}
