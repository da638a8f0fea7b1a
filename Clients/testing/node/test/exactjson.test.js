// Numbers of a payload keep their value: the same text is read in each language.

import assert from 'node:assert';
import test from 'node:test';
import { ExactNumber, parse, stringify } from '../lib/exactjson.js';

const text = `{"id":1234567890123456789,"large":1e400,"small":123.456e-789,"long":0.1234567890123456789,"price":1.50,
"text":"1234567890123456789 \\" 1e400","list":[1,2.5,1E2]}`;

test('no number becomes another one', () => {
  assert.deepEqual(parse(text), {
    id: 1234567890123456789n, large: new ExactNumber('1e400'), small: new ExactNumber('123.456e-789'),
    long: new ExactNumber('0.1234567890123456789'), price: 1.5, text: '1234567890123456789 " 1e400', list: [1, 2.5, 100],
  });
});

test('they are written as they are', () => {
  assert.match(stringify(parse(text)), /"id":1234567890123456789,"large":1e400,.*"long":0\.1234567890123456789,/);
  assert.deepEqual(parse(stringify(parse(text))), parse(text));
  assert.equal(stringify({ a: [1, 'é'] }), '{"a":[1,"é"]}');
});

test('what is not JSON is refused', () => {
  for (const wrong of ['{"a":01}', '{"a":1.}', '{"a":.5}', '[1 2]', '{"a":1234567890123456789', '"a', '-']) {
    assert.throws(() => parse(wrong), SyntaxError, wrong);
  }
});
