// What a server does that sends with Web Push.

import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { team } from 'carillon-testing';
import { Sender } from './webpush.js';

describe('a server of Web Push', { concurrency: true }, () => {
  test('delivers a message, and the test reads it', async (t) => {
    const apns = await team(t);
    const subscription = await apns.webPush();
    const info = JSON.parse(JSON.stringify(subscription));
    const answer = await new Sender(apns.ca).send('Grüße', info, { Topic: 'mentions', Urgency: 'high' });
    assert.deepEqual([answer.status, answer.ttl], [201, '60']);
    const [request] = await apns.wait({ text: 'Grüße', outcome: 'delivered' });
    assert.deepEqual([request.protocol, request.subscription, request.topic], ['webpush', subscription.name, apns.bundleID]);
    assert.deepEqual(await apns.requests({ collapseID: 'mentions' }), [request]);
  });

  test('may be the only one that a subscription takes', async (t) => {
    const apns = await team(t);
    const [owner, stranger] = [new Sender(apns.ca), new Sender(apns.ca)];
    const info = (await apns.webPush('online', { vapid: owner.key })).toJSON();
    const answers = [
      await owner.send('x', info, { signed: false }), await stranger.send('x', info), await owner.send('x', info)];
    assert.deepEqual(answers.map(({ status }) => status), [401, 403, 201]);
  });

  test('is refused by a busy service, and learns that an app is gone', async (t) => {
    const apns = await team(t);
    const sender = new Sender(apns.ca);
    const subscription = await apns.webPush('offline', { name: 'alice@example.com' });
    const match = { protocol: 'webpush', subscription: 'alice@example.com' };
    await apns.rehearse({ answer: { reason: 'ServiceUnavailable', retryAfter: 9 } }, { first: 1 }, { match });
    const { status, retryAfter } = await sender.send('first', subscription.toJSON());
    assert.deepEqual([status, retryAfter], [503, '9']);
    assert.equal((await sender.send('second', subscription.toJSON())).status, 201);
    await subscription.device.behave('online');
    await apns.wait({ text: 'second', outcome: 'delivered' });
    await subscription.device.behave('removed');
    assert.equal((await sender.send('third', subscription.toJSON())).status, 404);
  });

  test('is shown when a wait fails', async (t) => {
    const apns = await team(t);
    const subscription = await apns.webPush('online', { name: 'alice' });
    await new Sender(apns.ca).send('hello', subscription.toJSON());
    await assert.rejects(apns.wait({ text: 'another' }, { timeout: 100 }), /subscription alice, text "hello"[^]*text is "hello", not "another"/);
  });
});
