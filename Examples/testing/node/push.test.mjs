// Tests of what a backend does if everything works, and if something fails. Run them with: node --test

import assert from 'node:assert/strict';
import { after, before, beforeEach, afterEach, test } from 'node:test';
import { Provider, start } from './carillon.mjs';

let carillon, team, provider;
before(async () => { carillon = await start(); });
after(() => carillon.close());
beforeEach(async () => {
  team = await carillon.team();
  provider = new Provider(carillon, team);
});
afterEach(async () => {
  provider.close();
  await team.remove();
});

const hello = { aps: { alert: 'Your order is ready' } };

test('a notification is delivered', async () => {
  const answer = await provider.send(hello);
  assert.equal(answer.status, 200);
  const [request] = await team.wait({ outcome: 'delivered' });
  assert.deepEqual(request.payload, hello);
  assert.equal(request.apnsID, answer.apnsID);
});

test('an app that was removed is told', async () => {
  await team.behave({ kind: 'removed' });
  const { status, reason } = await provider.send(hello);
  assert.deepEqual({ status, reason }, { status: 410, reason: 'Unregistered' });
});

test('a phone that is switched off gets it later', async () => {
  await team.behave({ kind: 'offline' });
  assert.equal((await provider.send(hello)).status, 200);
  await team.wait({ outcome: 'stored' });
  await team.behave({ kind: 'online' });
  await team.wait({ outcome: 'delivered' });
});

test('a busy server refuses the first attempt', async () => {
  await team.rehearse({ answer: { reason: 'ServiceUnavailable' } }, { first: 1 });
  assert.equal((await provider.send(hello)).reason, 'ServiceUnavailable');
  assert.equal((await provider.send(hello)).status, 200);
  assert.equal((await team.wait({}, 2)).length, 2);
});
