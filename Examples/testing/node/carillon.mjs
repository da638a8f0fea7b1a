// A Carillon for tests: start() starts a service, and team() makes a team with a phone.

import { spawn } from 'node:child_process';
import { createPrivateKey, randomBytes, sign } from 'node:crypto';
import { once } from 'node:events';
import http2 from 'node:http2';
import { createInterface } from 'node:readline';

/** A service that keeps everything in memory and listens on ports that the system chooses. */
export async function start() {
  const options = ['serve', '--store', 'memory', '--ports', 'ephemeral', '--json'];
  const child = spawn(process.env.CARILLON ?? 'carillon', options, { stdio: ['ignore', 'pipe', 'ignore'] });
  const [line] = await once(createInterface(child.stdout), 'line');
  const ready = JSON.parse(line);

  const manage = async (method, path, body) => {
    const headers = { Authorization: `Bearer ${ready.management.key}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const answer = await fetch(ready.management.url + path, { method, headers, body: JSON.stringify(body) });
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    return text ? JSON.parse(text) : undefined;
  };

  return {
    url: `https://${ready.development.provider}`,
    ca: ready.caPEM,
    manage,
    team: () => makeTeam(manage),
    async close() {
      child.kill();
      await once(child, 'exit');
    },
  };
}

async function makeTeam(manage) {
  const bundleID = `com.example.shop${randomBytes(4).toString('hex')}`;
  const document = { teams: [{ name: 'Shop', apps: [bundleID], devices: [{ name: 'phone' }] }] };
  const { teams: [team] } = await manage('POST', '/v1/fixtures', document);
  const [device] = team.devices;
  return {
    id: team.teamID,
    bundleID,
    keyID: team.keys[0].keyID,
    privateKey: team.keys[0].privateKey,
    deviceToken: device.tokens[bundleID],
    /** Waits until this number of the team's requests match, and returns them. Otherwise the error shows what came instead. */
    wait: async (match = {}, count = 1) =>
      (await manage('POST', '/v1/requests/wait', { match: { team: team.teamID, ...match }, count, timeout: 'PT5S' }))
        .requests,
    /** Makes a fault happen to this team's requests only. */
    rehearse: (fault, when) =>
      manage('POST', '/v1/rehearsals', { rules: [{ match: { team: team.teamID }, fault, ...(when && { when }) }] }),
    /** Changes what the phone does from now on. */
    behave: (behaviour) => manage('PATCH', `/v1/devices/${device.deviceID}`, { behaviour }),
    remove: () => manage('DELETE', `/v1/teams/${team.teamID}`),
  };
}

/** A small provider. Replace it with your own. */
export class Provider {
  constructor({ url, ca }, team) {
    this.team = team;
    this.session = http2.connect(url, { ca });
  }

  get token() {
    const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'ES256', kid: this.team.keyID })}.${
      part({ iss: this.team.id, iat: Math.floor(Date.now() / 1000) })}`;
    const key = { key: createPrivateKey(this.team.privateKey), dsaEncoding: 'ieee-p1363' };
    const token = `${text}.${sign('sha256', text, key).toString('base64url')}`;
    // Make the provider token once. A new one for each request would be refused with TooManyProviderTokenUpdates.
    Object.defineProperty(this, 'token', { value: token });
    return token;
  }

  async send(payload) {
    const stream = this.session.request({
      ':method': 'POST',
      ':path': `/3/device/${this.team.deviceToken}`,
      'authorization': `bearer ${this.token}`,
      'apns-topic': this.team.bundleID,
      'apns-push-type': 'alert',
    });
    stream.setEncoding('utf8');
    let body = '';
    stream.on('data', (text) => { body += text; });
    // Wait for both events together, because an answer without a body ends as soon as it begins.
    const [[headers]] = await Promise.all([once(stream, 'response'), once(stream, 'end'), stream.end(JSON.stringify(payload))]);
    return { status: headers[':status'], apnsID: headers['apns-id'], ...(body && JSON.parse(body)) };
  }

  close() {
    this.session.close();
  }
}
