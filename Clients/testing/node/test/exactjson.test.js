// Payloads keep what they say: the same text is read in each language.

import assert from 'node:assert';
import test from 'node:test';
import { team, WaitTimeout } from 'carillon-testing';
import { ExactNumber, parse, stringify } from '../lib/exactjson.js';
import { requestLine } from '../lib/words.js';
import { Backend } from './backend.js';

const text = `{"id":1234567890123456789,"large":1e400,"small":123.456e-789,"long":0.1234567890123456789,"price":1.50,
"text":"1234567890123456789 \\" 1e400","list":[1,2.5,1E2]}`;

test('no number becomes another one', () => {
  assert.deepEqual(parse(text), {
    id: 1234567890123456789n, large: new ExactNumber('1e400'), small: new ExactNumber('123.456e-789'),
    long: new ExactNumber('0.1234567890123456789'), price: 1.5, text: '1234567890123456789 " 1e400', list: [1, 2.5, 100],
  });
});

test('they are written as they came', () => {
  assert.match(stringify(parse(text)), /"id":1234567890123456789,"large":1e400,.*"long":0\.1234567890123456789,/);
  assert.deepEqual(parse(stringify(parse(text))), parse(text));
  assert.equal(stringify({ a: [1, 'é'] }), '{"a":[1,"é"]}');
});

test('what is not JSON is refused', () => {
  for (const wrong of ['{"a":01}', '{"a":1.}', '{"a":.5}', '[1 2]', '{"a":1234567890123456789', '"a', '-', '{1e400:1}', '[1e400 1]']) {
    assert.throws(() => parse(wrong), SyntaxError, wrong);
  }
});

test('a number of any size is written as it came', () => {
  for (const number of [
    '-0', '18446744073709551615', '-9223372036854775809', '1E400', '9'.repeat(4400), `-${'9'.repeat(4400)}`, `0.${'1'.repeat(4400)}`,
    '1e1000000000000000000', '-1E-99999999999999999999',
  ]) {
    assert.equal(stringify(parse(`{"n":[${number}]}`)), `{"n":[${number}]}`);
    assert.deepStrictEqual(parse(number), parse(number));
  }
  // Number has no other zeros.
  assert.equal(stringify(parse('[-0.0,0e99999999999999999999,-0]')), '[-0,0,-0]');
});

test('a text is never taken for a number', () => {
  const texts = ['\\u24020', '\\u2402zz', '\u24020', '\\ud8000', '\\"\\ud8000', '1e400', '\\\\ud8000'];
  for (const text of texts) {
    const value = parse(`{"n":1e400,"${text}":"${text}","m":18446744073709551615}`);
    const read = JSON.parse(`"${text}"`).replace('\ud800', '\ufffd');
    assert.deepStrictEqual(value, { n: new ExactNumber('1e400'), [read]: read, m: 18446744073709551615n });
    assert.equal(stringify(value), `{"n":1e400,${JSON.stringify(read)}:${JSON.stringify(read)},"m":18446744073709551615}`);
  }
  // Numbers of a test, beside keys and texts that look like what stands for a number while JSON is written.
  const own = { '\ud8000': '\ud8000', '"\ud8000': '"\ud8000', '\\ud8000': '\\ud8000', n: 5n };
  assert.equal(stringify(own), '{"\ufffd0":"\ufffd0","\\"\ufffd0":"\\"\ufffd0","\\\\ud8000":"\\\\ud8000","n":5}');
  assert.equal(Object.keys(parse('{"__proto__":1e400}'))[0], '__proto__');
});

test('half a character is read and written as the service reads it', () => {
  for (const [text, read] of [
    ['hi \\ud83d', 'hi \ufffd'], ['\\uD83Dx\\uDE00', '\ufffdx\ufffd'], ['\\ud83d\\ud83d\\ude00', '\ufffd😀'], ['\\\\ud83d', '\\ud83d'],
    ['\\\\\\ud83d', '\\\ufffd'], ['\\ud83d\\n', '\ufffd\n'],
  ]) {
    assert.deepStrictEqual(parse(`{"${text}":["${text}"]}`), { [read]: [read] });
  }
  assert.equal(stringify({ '\ud83d': 'hi \ud83d', whole: '\ud83d\ude00' }), '{"\ufffd":"hi \ufffd","whole":"😀"}');
});

test('what a test writes is what JSON writes', (t) => {
  const value = { a: [1, 'é', -2.5, null, true, undefined, {}, []], missing: undefined, date: new Date(0), 1: NaN };
  assert.equal(stringify(value), JSON.stringify(value));
  assert.equal(stringify(undefined), undefined);
  // Many projects have this, so that JSON.stringify takes a BigInt.
  BigInt.prototype.toJSON = function toJSON() { return this.toString(); };
  t.after(() => delete BigInt.prototype.toJSON);
  assert.equal(stringify({ id: 18446744073709551615n }), '{"id":18446744073709551615}');
});

test('a long payload is not cut within a character', () => {
  const line = requestLine({ number: 1, payload: { alert: `.${'😀'.repeat(400)}` } });
  assert.doesNotMatch(line, /\p{Surrogate}/u);
});

test('a payload of the journal matches itself', async (t) => {
  const apns = await team(t);
  const backend = new Backend(apns);
  t.after(() => backend.close());
  const body = `{"aps":{"alert":"hi \\ud83d"},"mark":"\\u24020","beyond":1E99999999999999999999,"zero":-0,"digits":${'9'.repeat(3000)}}`;
  assert.equal((await backend.send((await apns.device()).token, body)).status, 200);
  const [request] = await apns.wait({ outcome: 'delivered' });
  assert.deepEqual(request.payload.aps, { alert: 'hi \ufffd' });
  assert.equal(request.payload.mark, '\u24020');
  const { payload } = request;
  assert.deepEqual(await apns.wait({ payload }), [request]);
  assert.deepEqual(await apns.requests({ payload }), [request]);
  // A backend that cuts its texts has the half too.
  assert.deepEqual(await apns.wait({ payload: { aps: { alert: 'hi \ud83d' } } }), [request]);
  await assert.rejects(apns.wait({ payload: { aps: { alert: '\ud83d' } } }, { timeout: 0 }), (error) => {
    assert.ok(error instanceof WaitTimeout);
    assert.ok(error.message.includes('payload is {"aps":{"alert":"hi \ufffd"},"mark":"\u24020","beyond":1E99999999999999999999,"zero":-0'));
    assert.ok(error.message.includes('not {"aps":{"alert":"\ufffd"}}'), error.message);
    return true;
  });
});
