// A small provider on node:http2. Replace it with your own.

import { createPrivateKey, sign } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';

export class Provider {
  constructor({ url, ca, id, keyID, privateKey, bundleID }) {
    this.topic = bundleID;
    this.session = http2.connect(url, { ca });
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'ES256', kid: keyID })}.${part({ iss: id, iat: Math.floor(Date.now() / 1000) })}`;
    const key = { key: createPrivateKey(privateKey), dsaEncoding: 'ieee-p1363' };
    // Make the provider token once. A new one for each request would be refused with TooManyProviderTokenUpdates.
    this.token = `${text}.${sign('sha256', text, key).toString('base64url')}`;
  }

  async send(deviceToken, payload) {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': `/3/device/${deviceToken}`,
      'authorization': `bearer ${this.token}`,
      'apns-topic': this.topic,
      'apns-push-type': 'alert',
    });
    stream.setEncoding('utf8');
    let body = '';
    stream.on('data', (text) => { body += text; });
    // Wait for both events together, because an answer without a body ends as soon as it begins.
    const [[headers]] = await Promise.all([once(stream, 'response'), once(stream, 'end'), stream.end(JSON.stringify(payload))]);
    return { status: headers[':status'], apnsID: headers['apns-id'], ...(body && JSON.parse(body)) };
  }

  close() { this.session.close(); }
}
