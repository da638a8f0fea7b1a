// Tests of what a backend does if everything works, and if something fails. Run them with: node --test

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { team } from 'carillon-testing';
import { Provider } from './provider.mjs';

const hello = { aps: { alert: 'Your order is ready' } };

async function setUp(t) {
  const apns = await team(t);
  const provider = new Provider(apns);
  t.after(() => provider.close());
  return { apns, provider };
}

test('a notification is delivered', async (t) => {
  const { apns, provider } = await setUp(t);
  const answer = await provider.send((await apns.device()).token, hello);
  assert.equal(answer.status, 200);
  const [request] = await apns.wait({ outcome: 'delivered' });
  assert.deepEqual(request.payload, hello);
  assert.equal(request.apnsID, answer.apnsID);
});

test('an app that was removed is told', async (t) => {
  const { apns, provider } = await setUp(t);
  const { status, reason } = await provider.send((await apns.device('removed')).token, hello);
  assert.deepEqual({ status, reason }, { status: 410, reason: 'Unregistered' });
});

test('a phone that is switched off gets it later', async (t) => {
  const { apns, provider } = await setUp(t);
  const phone = await apns.device('offline');
  assert.equal((await provider.send(phone.token, hello)).status, 200);
  await apns.wait({ outcome: 'stored' });
  await phone.behave('online');
  await apns.wait({ outcome: 'delivered' });
});

test('a busy server refuses the first attempt', async (t) => {
  const { apns, provider } = await setUp(t);
  const { token } = await apns.device();
  await apns.rehearse({ answer: { reason: 'ServiceUnavailable' } }, { first: 1 });
  assert.equal((await provider.send(token, hello)).reason, 'ServiceUnavailable');
  assert.equal((await provider.send(token, hello)).status, 200);
  assert.equal((await apns.wait({}, { count: 2 })).length, 2);
});
