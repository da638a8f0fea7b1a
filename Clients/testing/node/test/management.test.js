// The client of the management API: its connections and its limits.

import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { test } from 'node:test';
import { Management } from '../lib/management.js';

/** A server that answers with `answer`, or as empty objects. Returns it with the client, and counts its connections. */
async function serve(t, answer = (_, response) => response.end('{}'), limits) {
  const server = http.createServer(answer);
  server.connections_ = 0;
  server.on('connection', () => { server.connections_ += 1; });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const management = new Management(`http://127.0.0.1:${server.address().port}`, undefined, undefined, limits);
  t.after(() => {
    management.close();
    server.close();
    server.closeAllConnections();
  });
  return { server, management };
}

test('requests share a connection', async (t) => {
  const { server, management } = await serve(t);
  for (let number = 0; number < 20; number++) {
    assert.deepEqual(await management.ask('GET', '/'), { status: 200, answer: {} });
  }
  assert.equal(server.connections_, 1);
});

test('two hundred requests at the same time share a few connections', async (t) => {
  const { server, management } = await serve(t);
  await Promise.all(Array.from({ length: 200 }, () => management.ask('GET', '/')));
  assert.ok(server.connections_ <= 8, String(server.connections_));
});

test('waits do not keep other requests from being answered', async (t) => {
  const waits = [];
  const { management } = await serve(t, (request, response) => {
    if (request.url === '/wait') waits.push(response);
    else response.end('{}');
  });
  const waiting = Array.from({ length: 20 }, () => management.ask('POST', '/wait', {}, { wait: 60_000 }));
  await management.ask('GET', '/');
  while (waits.length < 20) await new Promise((done) => setImmediate(done));
  for (const response of waits) response.end('{}');
  assert.equal((await Promise.all(waiting)).length, 20);
});

test('a connection that the service closed while it was idle is replaced', async (t) => {
  const { server, management } = await serve(t);
  await management.ask('GET', '/');
  // The client has not noticed it yet, so its next request goes to the closed connection.
  server.closeIdleConnections();
  assert.deepEqual(await management.ask('POST', '/', {}), { status: 200, answer: {} });
  assert.equal(server.connections_, 2);
});

test('a service that closes connections is not asked again and again', async (t) => {
  const { server, management } = await serve(t, (request) => request.socket.destroy());
  await assert.rejects(management.ask('GET', '/'), /closed the connection before its answer: check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log names a limit/);
  assert.equal(server.connections_, 1);
});

test('a silent service costs little more than the wait', async (t) => {
  const { management } = await serve(t, () => {}, { usual: 600_000, short: 50 });
  await assert.rejects(
    management.ask('POST', '/v1/requests/wait', {}, { wait: 100 }), /does not answer \(no answer within 0\.15 s\): check that it runs/);
  // It was silent, so the next request does not wait for ten minutes.
  await assert.rejects(management.ask('GET', '/'), /no answer within 0\.05 s/);
});
