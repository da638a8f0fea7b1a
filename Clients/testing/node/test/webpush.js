// A sender of Web Push on node:crypto, written from RFC 8291 (aes128gcm), 8292 and 8030 alone.

import { createCipheriv, createECDH, generateKeyPairSync, hkdfSync, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import https from 'node:https';

const bytes = (text) => Buffer.from(text, 'base64url');
const derived = (secret, salt, info, length) => Buffer.from(hkdfSync('sha256', secret, salt, info, length));

/** The body of a message (RFC 8291, 3.4 and 4; RFC 8188, 2). */
export function encrypted(text, { p256dh, auth }) {
  const sender = createECDH('prime256v1');
  sender.generateKeys();
  const [receiverKey, senderKey] = [bytes(p256dh), sender.getPublicKey()];
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), receiverKey, senderKey]);
  const input = derived(sender.computeSecret(receiverKey), bytes(auth), info, 32);
  const salt = randomBytes(16);
  const key = derived(input, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16);
  const nonce = derived(input, salt, Buffer.from('Content-Encoding: nonce\0'), 12);
  const cipher = createCipheriv('aes-128-gcm', key, nonce);
  // The octet 2 ends the last record.
  const record = Buffer.concat([cipher.update(Buffer.concat([Buffer.from(text), Buffer.of(2)])), cipher.final(), cipher.getAuthTag()]);
  const header = Buffer.alloc(5);
  header.writeUInt32BE(4096);
  header[4] = senderKey.length;
  return Buffer.concat([salt, header, senderKey, record]);
}

/** An application server with a key (RFC 8292). */
export class Sender {
  #keys = generateKeyPairSync('ec', { namedCurve: 'prime256v1' });

  constructor(ca) { this.ca = ca; }

  /** The public key as a subscription names it: an uncompressed point in base64url. */
  get key() {
    const { x, y } = this.#keys.publicKey.export({ format: 'jwk' });
    return Buffer.concat([Buffer.of(4), bytes(x), bytes(y)]).toString('base64url');
  }

  #authorization(endpoint) {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = { aud: new URL(endpoint).origin, exp: Math.floor(Date.now() / 1000) + 3600, sub: 'mailto:admin@example.com' };
    const text = `${part({ typ: 'JWT', alg: 'ES256' })}.${part(claims)}`;
    const signature = sign('sha256', text, { key: this.#keys.privateKey, dsaEncoding: 'ieee-p1363' }).toString('base64url');
    return `vapid t=${text}.${signature}, k=${this.key}`;
  }

  async send(text, { endpoint, keys }, { signed = true, ...fields } = {}) {
    const request = https.request(endpoint, {
      method: 'POST', ca: this.ca, agent: false,
      headers: {
        'TTL': '60', 'Content-Encoding': 'aes128gcm', ...(signed && { Authorization: this.#authorization(endpoint) }), ...fields,
      },
    });
    request.end(encrypted(text, keys));
    const [answer] = await once(request, 'response');
    answer.resume();
    await once(answer, 'end');
    return { status: answer.statusCode, ttl: answer.headers.ttl, location: answer.headers.location, retryAfter: answer.headers['retry-after'] };
  }
}
