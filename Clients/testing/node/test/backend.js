// A small backend on node:http2.

import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';

export class Backend {
  constructor({ url, ca, id, keyID, privateKey, bundleID }) {
    this.topic = bundleID;
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'ES256', kid: keyID })}.${part({ iss: id, iat: Math.floor(Date.now() / 1000) })}`;
    const key = { key: createPrivateKey(privateKey), dsaEncoding: 'ieee-p1363' };
    this.authorization = `bearer ${text}.${sign('sha256', text, key).toString('base64url')}`;
    this.session = http2.connect(url, { ca });
  }

  notify(token, payload) { return this.send(token, JSON.stringify(payload)); }

  async send(token, content) {
    const stream = this.session.request({
      ':method': 'POST', ':path': `/3/device/${token}`, 'authorization': this.authorization, 'apns-topic': this.topic,
      'apns-push-type': 'alert',
    });
    stream.setEncoding('utf8');
    let body = '';
    stream.on('data', (text) => { body += text; });
    // Wait for both events together, because an answer without a body ends as soon as it begins.
    const [[headers]] = await Promise.all([once(stream, 'response'), once(stream, 'end'), stream.end(content)]);
    return { status: headers[':status'], apnsID: headers['apns-id'], ...(body && JSON.parse(body)) };
  }

  close() { this.session.close(); }
}
