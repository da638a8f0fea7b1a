// What a developer sees if something is wrong. Each is one sentence that says what to do, and nothing hangs.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import tls from 'node:tls';
import { Carillon, team } from 'carillon-testing';
import { withoutTeam } from '../lib/team.js';
import { Backend } from './backend.js';

/** Sets environment variables for a test; undefined removes one. */
function set(t, variables) {
  for (const [name, value] of Object.entries(variables)) {
    const before = process.env[name];
    const put = (text) => { if (text === undefined) delete process.env[name]; else process.env[name] = text; };
    put(value);
    t.after(() => put(before));
  }
}

/** Lets CARILLON name a program with this content. A script says that it is this version of Carillon. */
function program(t, content, version = '0.2.0') {
  const asked = `case $1 in --version) echo ${version}; exit;; esac\n`;
  if (typeof content === 'string') content = `#!/bin/sh\n${version ? asked : ''}${content}\n`;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-test-'));
  t.after(() => fs.rmSync(folder, { recursive: true }));
  fs.writeFileSync(path.join(folder, 'carillon'), content, { mode: 0o755 });
  set(t, { CARILLON: path.join(folder, 'carillon'), CARILLON_MANAGEMENT_URL: undefined });
}

/** A service of the test's own. */
async function started(t) {
  set(t, { CARILLON_MANAGEMENT_URL: undefined });
  const carillon = await Carillon.start();
  t.after(() => carillon.close());
  return carillon;
}

test('a wait shows what came instead', async (t) => {
  const apns = await team(t);
  const backend = new Backend(apns);
  t.after(() => backend.close());
  await backend.notify('00fc13adff785122', { aps: { alert: 'Hello' } });
  await assert.rejects(
    apns.wait({ outcome: 'delivered', pushType: 'voip', payload: { aps: { alert: 'Bye' } } }, { timeout: 100 }),
    ({ name, message, nearest }) => {
      assert.equal(name, 'WaitTimeout');
      assert.match(message, /^0 requests matched .* within 0\.1 s, instead of 1\.\n  #\d+, 400 BadDeviceToken, rejected/);
      assert.ok(message.includes('outcome is "rejected", not "delivered"'), message);
      assert.ok(message.includes('payload is {"aps":{"alert":"Hello"}}, not {"aps":{"alert":"Bye"}}'), message);
      assert.ok(message.includes('pushType is "alert", not "voip"'), message);
      assert.equal(nearest[0].request.reason, 'BadDeviceToken');
      return true;
    });
});

test('a wait without any request says where to send', async (t) => {
  const apns = await team(t);
  await apns.wait({}, { count: 0, timeout: 0 });
  await assert.rejects(apns.wait({}, { timeout: 0 }), /The backend has sent nothing: it has to connect to https:/);
});

test('a wait for a message of Web Push says where to send', async (t) => {
  const apns = await team(t);
  const subscription = await apns.webPush();
  const newest = await apns.webPush();
  const names = async (match, place) => assert.rejects(apns.wait(match, { timeout: 0 }), ({ message }) => {
    assert.ok(message.includes(`has sent nothing: it has to ${place}, and trust`), message);
    return true;
  });
  await names({}, `send to ${newest.endpoint}`);
  await names({ text: 'Hello' }, `send to ${newest.endpoint}`);
  await names({ subscription: subscription.name }, `send to ${subscription.endpoint}`);
  // It may be about the phone.
  await apns.device();
  await names({}, `connect to ${apns.url}`);
});

/** Waits until a connection of the test's service has failed. The team of the test sees no failed connection. */
async function connectionFailed(carillon) {
  await carillon.management.ask('POST', '/v1/requests/wait', { match: { outcome: 'failed' }, timeout: 'PT60S' }, { wait: 60_000 });
}

test('a backend that does not trust the authority', async (t) => {
  const carillon = await started(t);
  const earlier = await carillon.team();
  const session = http2.connect(carillon.url);
  const [error] = await once(session, 'error');
  assert.match(error.code, /CERT|SELF_SIGNED|UNABLE_TO/);
  await connectionFailed(carillon);
  await assert.rejects(earlier.wait({ outcome: 'delivered' }, { timeout: 0 }), ({ message }) => {
    assert.match(message, /^The backend does not trust the service \(a connection since this test began, perhaps another test's: .*\): let it trust the authority in apns\.ca or apns\.caFile/);
    assert.match(message, /\n0 requests matched .* within 0 s, instead of 1\.$/);
    return true;
  });
  assert.match((await earlier.sent())[0], /^#1, a connection of 127\.0\.0\.1:\d+ failed: the client /);
  // It is not the connection of a test that begins later.
  await assert.rejects((await carillon.team()).wait({}, { timeout: 0 }), /The backend has sent nothing/);
});

test('a backend that does not speak HTTP/2', async (t) => {
  const carillon = await started(t);
  const apns = await carillon.team();
  const sending = https.request(`${apns.url}/3/device/00`, { method: 'POST', ca: apns.ca, ALPNProtocols: ['http/1.1'], agent: false });
  sending.end('{}');
  await once(sending, 'error');
  await connectionFailed(carillon);
  await assert.rejects(
    apns.wait({}, { timeout: 0 }), /^WaitTimeout.*: The backend does not speak HTTP\/2 \(a connection .*: it offered only http\/1\.1\): APNs takes/);
  const other = await carillon.team();
  const socket = tls.connect({ host: carillon.host, port: carillon.port, ca: carillon.ca });
  socket.on('error', () => {});
  socket.resume().write('POST /3/device/00 HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}');
  await once(socket, 'close');
  await carillon.management.ask(
    'POST', '/v1/requests/wait', { match: { outcome: 'failed' }, count: 2, timeout: 'PT60S' }, { wait: 60_000 });
  await assert.rejects(other.wait({}, { timeout: 0 }), /does not speak HTTP\/2 \(a connection .*: it sent a request of HTTP\/1\)/);
});

test('a journal that is off', async (t) => {
  set(t, { CARILLON_MANAGEMENT_URL: undefined });
  const carillon = await Carillon.start({ options: ['--journal', '0'] });
  t.after(() => carillon.close());
  const apns = await carillon.team();
  for (const ask of [() => apns.wait(), () => apns.wait({}, { count: 0, timeout: 0 }), () => apns.requests()]) {
    await assert.rejects(ask, /ournal .*is off, so nobody knows what was sent: start .* with --journal 10000/);
  }
  assert.match((await apns.sent())[0], /journal .* is off/);
});

test('a failed test shows what the backend sent, and one that passes does not', async (t) => {
  if (!('passed' in t)) return t.skip('This Node.js does not say whether a test has failed.');
  const script = `
    import { test } from 'node:test';
    import { team } from 'carillon-testing';
    for (const fails of [true, false]) {
      test('a test', async (t) => {
        const apns = await team(t);
        await apns.carillon.management.ask('POST', '/v1/notifications', {
          token: (await apns.device()).token, topic: apns.bundleID, payload: { aps: { alert: 'Hello' } } });
        await apns.wait({ outcome: 'delivered' }, { timeout: 60_000 });
        if (fails) throw new Error('It fails.');
      });
    }`;
  const { NODE_TEST_CONTEXT, CARILLON_MANAGEMENT_URL, ...env } = process.env;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'], env });
  let text = '';
  child.stdout.on('data', (piece) => { text += piece; });
  assert.equal((await once(child, 'close'))[0], 1);
  assert.equal(text.match(/What the backend sent to apns:/g)?.length, 1, text);
  assert.match(text, /#\d+, 200, delivered, topic com\.example\.test-.*Hello/);
});

test('a refusal says why', async (t) => {
  const apns = await team(t);
  await assert.rejects(apns.wait({ colour: 'red' }), /POST \/v1\/requests\/wait, 400, at \/match\/colour/);
});

test('a missing program', async (t) => {
  set(t, { CARILLON: '/nowhere/carillon', CARILLON_MANAGEMENT_URL: undefined });
  await assert.rejects(Carillon.start(), /CARILLON names \/nowhere\/carillon, which is not a program/);
});

test('a program for another machine', async (t) => {
  program(t, Buffer.concat([Buffer.from('\x7fELF\x02\x01\x01', 'latin1'), Buffer.alloc(200)]));
  await assert.rejects(Carillon.start(), /cannot be started on this machine .*Install the package for this machine/);
});

test('a program that ends at once', async (t) => {
  program(t, 'echo "Error: the disk is full" >&2; exit 3');
  await assert.rejects(Carillon.start(), /did not start: it ended \(exit status 3\)\. It said:\n  Error: the disk is full/);
});

test('a program that is never ready', async (t) => {
  program(t, 'exec cat');
  await assert.rejects(
    Carillon.start({ startTimeout: 200 }), /was not ready within 200 ms; if it is slow, give it a longer startTimeout/);
});

test('a program that closes its output', async (t) => {
  program(t, 'exec cat >/dev/null');
  await assert.rejects(Carillon.start(), /did not start: it ended \(exit status 0\)/);
});

test('a program that is something else', async (t) => {
  program(t, 'echo Hello', '');
  await assert.rejects(Carillon.start(), /is not Carillon's program, and printed "Hello\\n": correct the variable CARILLON/);
});

test('a program that says nothing', async (t) => {
  set(t, { CARILLON: '/bin/false', CARILLON_MANAGEMENT_URL: undefined });
  await assert.rejects(Carillon.start(), /false is not Carillon's program, and ended \(exit status 1\): correct the variable CARILLON/);
});

for (const [said, text] of [
  ['/lib/libc.so.6: version \\`GLIBC_2.34\' not found', /because this system lacks glibc 2\.34 or newer: take a newer system/],
  ['error while loading shared libraries: libpq.so.5: cannot open', /this system lacks the library libpq\.so\.5: install it, or take/],
]) {
  test(`a system that lacks what the program needs (${said})`, async (t) => {
    program(t, `echo "$0: ${said}" >&2; exit 127`, '');
    await assert.rejects(Carillon.start(), text);
  });
}

for (const content of ['exec yes', 'tr "\\0" x </dev/zero', 'sleep 100 & sleep 100']) {
  test(`a program that prints for ever, or leaves a child (${content})`, async (t) => {
    program(t, content, '');
    await assert.rejects(Carillon.start({ startTimeout: 200 }), /is not Carillon's program, and (printed|was not ready within 200 ms)/);
  });
}

test('something else in place of the management API', async (t) => {
  let status, body;
  const server = http.createServer((_, answer) => answer.writeHead(status).end(body)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => { server.close(); server.closeAllConnections(); });
  const url = `http://127.0.0.1:${server.address().port}`;
  const answers = [
    [200, '{}'], [200, '[]'], [200, ''], [200, '{"service":{}}'], [404, '{"error":"no"}'], [404, 'null'], [404, '<html>']];
  for ([status, body] of answers) {
    await assert.rejects(Carillon.attach({ url, key: 'key' }), {
      message: `${url} is not Carillon's management API (POST /v1/fixtures got ${status}): check CARILLON_MANAGEMENT_URL.` });
  }
  [status, body] = [200, '{"service":{"caPEM":"PEM"}}'];
  await assert.rejects(Carillon.attach({ url, key: 'key' }), /is older than this package: start Carillon 0\.2\.0 or newer there/);
});

test('a key with something around it, and another port', async (t) => {
  const { management, host, port } = await started(t);
  await (await Carillon.attach({ url: `${management.url}\n`, key: `${management.key}\r\n` })).close();
  for (const key of ['my key', 'Schlüssel→']) {
    await assert.rejects(Carillon.attach({ url: management.url, key }), ({ message }) => {
      assert.match(message, /^CARILLON_MANAGEMENT_KEY has a character that no key has/);
      assert.ok(!message.includes(key));
      return true;
    });
  }
  await assert.rejects(
    Carillon.attach({ url: `http://${host}:${port}`, key: management.key }),
    /check that CARILLON_MANAGEMENT_URL has the port of the management API; if its log/);
});

test('an older Carillon', async (t) => {
  program(t, 'echo "Error: Unknown option" >&2; exit 64', '0.1.9');
  await assert.rejects(Carillon.start(), /is Carillon 0\.1\.9, and this package needs 0\.2\.0 or newer: correct the variable CARILLON/);
});

test('a port in use', async (t) => {
  const { management } = await started(t);
  await assert.rejects(
    Carillon.start({ options: ['--management', management.place.host] }), /did not start: it ended \(exit status 1\)\. It said:\n/);
});

test('a service that ends during a test', async (t) => {
  const carillon = await started(t);
  const apns = await carillon.team();
  process.kill(carillon.processID, 'SIGKILL');
  await assert.rejects(apns.wait({}, { timeout: 600_000 }), /has ended \(signal 9\): run the tests again/);
  assert.match((await apns.sent())[0], /has ended \(signal 9\): run the tests again/);
});

test('a service that is not there', async (t) => {
  set(t, { CARILLON_MANAGEMENT_URL: 'http://127.0.0.1:1' });
  await assert.rejects(Carillon.start(), /The Carillon at http:\/\/127\.0\.0\.1:1 does not answer/);
});

test('a wrong key, and a URL that is none', async (t) => {
  const { management } = await started(t);
  await assert.rejects(Carillon.attach({ url: management.url, key: 'wrong' }), /refuses the key: set CARILLON_MANAGEMENT_KEY to its key/);
  await assert.rejects(
    Carillon.attach({ url: management.url, key: '' }), /needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set: set/);
  for (const url of ['localhost', 'http://localhost:99999']) {
    await assert.rejects(Carillon.attach({ url }), /set it to a URL such as http:\/\/localhost:2198/);
  }
});

test('variables name a service that runs', async (t) => {
  const carillon = await started(t);
  set(t, {
    CARILLON_MANAGEMENT_URL: carillon.management.url, CARILLON_MANAGEMENT_KEY: carillon.management.key,
    CARILLON_PROVIDER_ADDRESS: 'localhost:49153', CARILLON: '/nowhere/carillon',
  });
  const attached = await Carillon.start();
  assert.equal(attached.url, 'https://localhost:49153');
  assert.equal(attached.ca, carillon.ca);
  const apns = await attached.team();
  assert.deepEqual(await apns.requests(), []);
  await apns.close();
  await attached.close();
  // It was not started here, so it does not end here.
  await (await carillon.team()).close();
});

test('the service ends with a process that is killed', async () => {
  const script = `
    delete process.env.CARILLON_MANAGEMENT_URL;
    const { Carillon } = await import('carillon-testing');
    console.log((await Carillon.start()).processID);
    process.kill(process.pid, 'SIGKILL');`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  let text = '';
  child.stdout.on('data', (piece) => { text += piece; });
  const [, signal] = await once(child, 'close');
  assert.equal(signal, 'SIGKILL');
  // The service is no child of this process. Its end shows in /proc.
  const runs = () => {
    try {
      return !/^State:\s+Z/m.test(fs.readFileSync(`/proc/${Number(text)}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
  const deadline = Date.now() + 60_000;
  while (runs() && Date.now() < deadline) await new Promise((done) => setTimeout(done, 10));
  assert.ok(!runs(), 'the service still runs');
});

test('the faults without a team are those that the service describes as about connections', async (t) => {
  const { carillon } = await team(t);
  const { answer } = await carillon.management.ask('GET', '/openapi.json');
  const described = Object.entries(answer.components.schemas.RehearsalFault.properties)
    .filter(([, { description }]) => description.includes('about new connections')).map(([name]) => name);
  assert.deepEqual(described.sort(), [...withoutTeam].sort());
});
