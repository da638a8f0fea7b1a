import { randomBytes } from 'node:crypto';
import { CarillonError, WaitTimeout } from './errors.js';
import { stringify } from './exactjson.js';
import { duration, explanation, requestLine } from './words.js';

/** How many requests a failed test shows: a person reads no more. */
const shownRequests = 20;

// These faults happen before the sender is known, so a rule cannot select a team.
export const withoutTeam = ['refuse', 'certificate', 'tls', 'handshake'];

/** A team with an app and a key. It sees the requests of its own backend, and no others. */
export class Team {
  #management;
  #scope;
  #since;
  #rehearsals = [];
  #closesService = false;
  /** The endpoints of its subscriptions to Web Push, by name, and whether it has devices without one. */
  #endpoints = new Map();
  #hasDevices = false;

  static async make(carillon, { name = 'Test', id, bundleID, keyID, privateKey } = {}) {
    bundleID ??= `com.example.test-${randomBytes(6).toString('hex')}`;
    const document = { teams: [{ teamID: id, name, apps: [bundleID], keys: [{ keyID, privateKey }] }] };
    const { answer: { teams: [made], service } } = await carillon.management.ask('POST', '/v1/fixtures', document);
    return new Team(carillon, made, service?.journal?.newest ?? 0);
  }

  /** since: the number of the newest entry of the journal from before the test. */
  constructor(carillon, made, since) {
    this.#since = since;
    this.carillon = carillon;
    this.#management = carillon.management;
    this.id = made.teamID;
    /** The app, which is also its topic. */
    this.bundleID = made.apps[0];
    this.keyID = made.keys[0].keyID;
    /** The key that signs provider tokens, in PEM, as in a `.p8` file. */
    this.privateKey = made.keys[0].privateKey;
    // A backend with data of its own has a team of its own.
    this.#scope = carillon.accept === 'any' ? {} : { team: this.id };
    this.clock = new Clock(this.#management, this.#scope);
  }

  /** Where the backend connects to. */
  get url() { return this.carillon.url; }
  get host() { return this.carillon.host; }
  get port() { return this.carillon.port; }
  /** The authority that the backend has to trust, in PEM. */
  get ca() { return this.carillon.ca; }
  get caFile() { return this.carillon.caFile; }
  /** The path of a file with `privateKey`. */
  get keyFile() { return this.carillon.file(`AuthKey_${this.keyID}.p8`, this.privateKey); }

  /** Environment variables with all that a backend in a process of its own has to know. */
  get environment() {
    return {
      APNS_URL: this.url, APNS_HOST: this.host, APNS_PORT: String(this.port), APNS_CA_FILE: this.caFile,
      APNS_TEAM_ID: this.id, APNS_KEY_ID: this.keyID, APNS_KEY_FILE: this.keyFile, APNS_PRIVATE_KEY: this.privateKey,
      APNS_TOPIC: this.bundleID,
      // Node.js trusts these authorities beside its own.
      NODE_EXTRA_CA_CERTS: this.caFile,
    };
  }

  /**
   * Makes a virtual device with the app.
   *
   * behaviour: 'online', 'slow' (with `delay` in milliseconds), 'offline', 'silent', 'removed' (with `since`) or 'expired'.
   * token: the device token in hexadecimal digits; otherwise the service makes one.
   */
  async device(behaviour = 'online', { name = 'phone', token, delay, since, ...values } = {}) {
    const { answer } = await this.#management.ask('POST', '/v1/devices', {
      team: this.id, name, behaviour: words(behaviour, delay, since), ...(token && { tokens: { [this.bundleID]: token } }),
      ...values,
    });
    const own = answer.apps.find((app) => app.bundleID === this.bundleID)?.token;
    for (const { name, endpoint } of answer.subscriptions ?? []) this.#endpoints.set(name, endpoint);
    this.#hasDevices ||= !answer.subscriptions?.length;
    return new Device(this.#management, answer.deviceID, token ?? own, answer.subscriptions);
  }

  /** Where the backend has to send if this match is about Web Push: the endpoint; otherwise undefined. */
  endpoint(match) {
    const isWebPush = match.protocol === 'webpush' || 'subscription' in match || 'text' in match;
    if (!isWebPush && this.#hasDevices) return undefined;
    return this.#endpoints.get(match.subscription) ?? [...this.#endpoints.values()].at(-1);
  }

  /**
   * Makes a virtual device, and a subscription of its app to Web Push (docs/web-push.md).
   *
   * name: the subscription's, by which `wait` and `requests` find its messages.
   * vapid: the only public key that may sign, in base64url; otherwise anybody may send.
   * plain: whether messages without encryption are accepted.
   * behaviour and the rest: as for `device`.
   */
  async webPush(behaviour = 'online', { name = randomBytes(4).toString('hex'), vapid, plain, ...values } = {}) {
    const device = await this.device(behaviour, { ...values, subscriptions: [{ name, vapid, plain }] });
    return new Subscription(device);
  }

  /** The requests of the backend that match, oldest first: as docs/testing.md describes them. */
  async requests(match = {}) {
    const query = { ...this.#scope, ...match };
    const requests = [];
    while (true) {
      const parameters = new URLSearchParams({ limit: '1000' });
      for (const [name, value] of Object.entries(query)) {
        parameters.set(name, typeof value === 'string' ? value : stringify(value));
      }
      const { answer } = await this.#management.ask('GET', `/v1/requests?${parameters}`);
      requests.push(...answer);
      if (answer.length < 1000) {
        if (requests.length === 0) await this.#checkJournal();
        return requests;
      }
      query.after = answer.at(-1).number;
    }
  }

  /** If the journal is off, nobody knows what was sent. */
  async #checkJournal() {
    const { answer: { keep } } = await this.#management.ask('GET', '/v1/journal');
    if (keep > 0) return;
    throw new CarillonError(
      `The journal of the Carillon at ${this.#management.url} is off, so nobody knows what was sent: start it with --journal 10000.`);
  }

  /**
   * The newest requests of the backend, each in one line of text: for the message of a failed test. If there is none, the
   * connections that failed.
   */
  async sent() {
    try {
      let sent = await this.requests();
      if (sent.length === 0) {
        const query = `outcome=failed&after=${this.#since}&limit=${shownRequests}`;
        sent = (await this.#management.ask('GET', `/v1/requests?${query}`)).answer;
      }
      const lines = sent.slice(-shownRequests).map(requestLine);
      return lines.length ? lines : ['nothing'];
    } catch (error) {
      if (error instanceof CarillonError) return [error.message];
      throw error;
    }
  }

  /**
   * Waits until `count` requests match, and returns them. Requests from before count too. With `count` 0 it waits for the whole
   * time, and no request may match. `timeout` is in milliseconds, at most ten minutes. If the time ends first, `WaitTimeout`
   * shows what came instead.
   */
  async wait(match = {}, { count = 1, timeout = 5000 } = {}) {
    const own = { ...this.#scope, ...match };
    const body = { match: own, count, timeout: duration(timeout) };
    const { status, answer } = await this.#management.ask(
      'POST', '/v1/requests/wait', body, { wait: timeout, beside: [408] });
    if (status === 408) throw new WaitTimeout(explanation(own, count, timeout, answer, this, this.#since), answer);
    return answer.requests;
  }

  /**
   * Makes something go wrong for the backend, until the end of the test.
   *
   * fault: { answer: { reason: 'ServiceUnavailable' } }, { close: 'rst' } and so on: see docs/testing.md.
   * when: { share: 0.1 }, { first: 3 }, { every: 5 }, { after: 100 } or { between: ['PT10S', 'PT20S'] }; always without it.
   * match: which requests; otherwise all of this team.
   */
  async rehearse(fault, when, { match = {}, name, seed, ttl } = {}) {
    const isOwn = !withoutTeam.some((kind) => kind in fault);
    const rule = { match: { ...(isOwn && this.#scope), ...match }, name, when, fault };
    const body = { rules: [rule], seed, ttl: ttl && duration(ttl) };
    const { answer } = await this.#management.ask('POST', '/v1/rehearsals', body);
    const rehearsal = new Rehearsal(this.#management, answer.rehearsal);
    this.#rehearsals.push(rehearsal);
    return rehearsal;
  }

  /** What the backend did although Apple advises against it, as a list of findings. A good one has none. */
  async report() {
    const query = this.#scope.team ? `?team=${this.#scope.team}` : '';
    return (await this.#management.ask('GET', `/v1/reports${query}`)).answer.findings;
  }

  /** Lets `close` end the service, too. */
  closesService() { this.#closesService = true; }

  /** Ends the team's rehearsals, and deletes it with its devices and requests. */
  async close() {
    try {
      for (const rehearsal of this.#rehearsals.splice(0)) await rehearsal.end();
      // A test may have deleted it.
      await this.#management.ask('DELETE', `/v1/teams/${this.id}`, undefined, { beside: [404] });
    } finally {
      if (this.#closesService) await this.carillon.close();
    }
  }

  async [Symbol.asyncDispose ?? Symbol('dispose')]() { await this.close(); }
}

/** A subscription of an app on a virtual device to Web Push, with what a Web Push library needs to send to it. */
export class Subscription {
  constructor(device) {
    const [made] = device.subscriptions;
    this.device = device;
    /** The name that the journal has: `apns.wait({ subscription: subscription.name })`. */
    this.name = made.name;
    this.endpoint = made.endpoint;
    /** The public key and the secret, in base64url. */
    this.p256dh = made.p256dh;
    this.auth = made.auth;
    /** The private key. A test does not need it: the journal has what a message says. */
    this.privateKey = made.privateKey;
  }

  /** The subscription as a browser gives it to its server, and as web-push takes it. */
  toJSON() { return { endpoint: this.endpoint, keys: { p256dh: this.p256dh, auth: this.auth } }; }
}

/** A virtual device. `token` is its device token in hexadecimal digits. */
export class Device {
  #management;

  constructor(management, id, token, subscriptions = []) {
    this.#management = management;
    this.id = id;
    this.token = token;
    /** Its subscriptions to Web Push. */
    this.subscriptions = subscriptions;
  }

  /** Changes what the device does from now on: see `Team.device`. */
  async behave(behaviour, { delay, since } = {}) {
    await this.#management.ask('PATCH', `/v1/devices/${this.id}`, { behaviour: words(behaviour, delay, since) });
  }

  /** Removes the device. */
  async remove() {
    await this.#management.ask('DELETE', `/v1/devices/${this.id}`);
  }
}

/** The team's clock. It runs like the machine's, and can be advanced. */
export class Clock {
  #management;
  #scope;

  constructor(management, scope) {
    this.#management = management;
    this.#scope = scope;
  }

  /** The team's time. */
  async now() {
    const query = this.#scope.team ? `?team=${this.#scope.team}` : '';
    return new Date((await this.#management.ask('GET', `/v1/clock${query}`)).answer.now);
  }

  /** Advances it by milliseconds, or a text such as 'PT1H'. Afterwards everything that became due has happened. */
  async advance(by) {
    const { answer } = await this.#management.ask('POST', '/v1/clock', { ...this.#scope, advance: duration(by) });
    return new Date(answer.now);
  }
}

/** Faults that were arranged with `Team.rehearse`. */
export class Rehearsal {
  #management;

  constructor(management, id) {
    this.#management = management;
    this.id = id;
  }

  /** How often the fault has happened. */
  async fired() {
    const { answer } = await this.#management.ask('GET', `/v1/rehearsals/${this.id}`);
    return answer.rules.reduce((sum, rule) => sum + rule.fired, 0);
  }

  /** Ends it. At the end of the test this happens by itself. */
  async end() {
    await this.#management.ask('DELETE', `/v1/rehearsals/${this.id}`, undefined, { beside: [404] });
  }
}

function words(kind, delay, since) {
  return { kind, since, ...(delay !== undefined && { delay: duration(delay) }) };
}
