// What a backend does that sends with node:http2. The tests of this file run at the same time, over one service.

import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { describe, test } from 'node:test';
import { team } from 'carillon-testing';
import { Backend } from './backend.js';

const hello = { aps: { alert: 'Your order is ready' } };

async function setUp(t, settings) {
  const apns = await team(t, settings);
  const backend = new Backend(apns);
  t.after(() => backend.close());
  return { apns, backend };
}

describe('a backend', { concurrency: true }, () => {
  test('delivers a notification', async (t) => {
    const { apns, backend } = await setUp(t);
    const answer = await backend.notify((await apns.device()).token, hello);
    assert.equal(answer.status, 200);
    const [request] = await apns.wait({ outcome: 'delivered' });
    assert.deepEqual(request.payload, hello);
    assert.equal(request.apnsID, answer.apnsID);
    assert.equal((await apns.requests({ status: 200, payload: hello })).length, 1);
  });

  test('is told that an app was removed', async (t) => {
    const { apns, backend } = await setUp(t);
    const { status, reason } = await backend.notify((await apns.device('removed')).token, hello);
    assert.deepEqual({ status, reason }, { status: 410, reason: 'Unregistered' });
  });

  test('reaches a phone that is switched off later', async (t) => {
    const { apns, backend } = await setUp(t);
    const phone = await apns.device('offline');
    assert.equal((await backend.notify(phone.token, hello)).status, 200);
    await apns.wait({ outcome: 'stored' });
    await phone.behave('online');
    await apns.wait({ outcome: 'delivered' });
  });

  test('is refused by a busy server', async (t) => {
    const { apns, backend } = await setUp(t);
    const { token } = await apns.device();
    const rehearsal = await apns.rehearse({ answer: { reason: 'ServiceUnavailable' } }, { first: 1 });
    assert.equal((await backend.notify(token, hello)).reason, 'ServiceUnavailable');
    assert.equal((await backend.notify(token, hello)).status, 200);
    assert.equal((await apns.wait({}, { count: 2 })).length, 2);
    assert.equal(await rehearsal.fired(), 1);
  });

  test('has a provider token that is too old an hour later', async (t) => {
    const { apns, backend } = await setUp(t);
    const { token } = await apns.device();
    assert.equal((await backend.notify(token, hello)).status, 200);
    const before = await apns.clock.now();
    assert.ok(await apns.clock.advance('PT1H1M') > before);
    // The advance has made it so old, so only going on with it after the first answer is a fault.
    assert.equal((await backend.notify(token, hello)).reason, 'ExpiredProviderToken');
    assert.equal((await backend.notify(token, hello)).reason, 'ExpiredProviderToken');
    const findings = await apns.report();
    assert.ok(findings.some(({ id }) => id === 'provider-token-too-old'), JSON.stringify(findings));
  });

  test('may have identifiers of its own', async (t) => {
    const { apns, backend } = await setUp(t, { id: 'NODETEAM01', bundleID: 'com.example.shop.node', keyID: 'NODEKEY001' });
    const token = '00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0';
    assert.equal((await apns.device('online', { token })).token, token);
    assert.equal((await backend.notify(token, hello)).status, 200);
    const [request] = await apns.wait({ outcome: 'delivered', token });
    assert.deepEqual([request.team, request.keyID, request.topic], ['NODETEAM01', 'NODEKEY001', 'com.example.shop.node']);
  });

  test('can need a service with other options', async (t) => {
    const { apns, backend } = await setUp(t, { options: ['--conformance', 'strict'] });
    // The Guide wants the header authorization in another form of HPACK than Node.js has. The option makes that a rule.
    const { status, detail } = await backend.notify((await apns.device()).token, hello);
    assert.equal(status, 403);
    assert.match(detail, /^The header authorization came as a literal never indexed .*; the Guide \(2\.3\.4\.1\) requires/);
  });

  test('may have data of its own', async (t) => {
    const apns = await team(t, { accept: 'any' });
    const { privateKey } = generateKeyPairSync('ec', {
      namedCurve: 'P-256', publicKeyEncoding: { type: 'spki', format: 'pem' }, privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    });
    const { url, ca } = apns;
    const backend = new Backend({ url, ca, id: 'STRANGE001', keyID: 'STRANGEKEY', privateKey, bundleID: 'com.example.own' });
    t.after(() => backend.close());
    const token = randomBytes(32).toString('hex');
    assert.equal((await backend.notify(token, hello)).status, 200);
    const [request] = await apns.wait({ topic: 'com.example.own', outcome: 'delivered' });
    assert.deepEqual([request.team, request.token], ['STRANGE001', token]);
  });

  for (let number = 0; number < 200; number++) {
    test(`sees its own requests only (${number})`, async (t) => {
      const { apns, backend } = await setUp(t);
      assert.equal((await backend.notify((await apns.device()).token, { number })).status, 200);
      const [request] = await apns.wait({ outcome: 'delivered' }, { timeout: 60_000 });
      assert.deepEqual(request.payload, { number });
      assert.equal((await apns.requests()).length, 1);
    });
  }
});
