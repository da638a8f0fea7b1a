import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { CarillonError } from './errors.js';
import { Management } from './management.js';
import { Program } from './program.js';
import { Team } from './team.js';

/**
 * A service: one that was started for the tests, or one that runs already. All tests may share it: each takes a `team()` of
 * its own.
 */
export class Carillon {
  #program;
  #folder;

  /**
   * Starts a service, or uses the one that CARILLON_MANAGEMENT_URL names.
   *
   * accept: 'any' makes unknown teams, keys, topics and device tokens at their first sight. Then a team sees the requests of
   *   all teams, because the backend has data of its own.
   * options: more options of `carillon serve`, for example ['--conformance', 'strict'].
   * startTimeout: the longest time in milliseconds until it is ready.
   */
  static async start({ accept, options = [], startTimeout = 30_000 } = {}) {
    if (process.env.CARILLON_MANAGEMENT_URL) return Carillon.attach({ accept });
    const settings = ['--clock', 'virtual', '--web-push', '127.0.0.1:0', ...(accept ? ['--accept', accept] : []), ...options];
    const program = await Program.start(settings, startTimeout);
    const { ready } = program;
    const management = new Management(ready.management.url, ready.management.key, () => program.ending());
    return new Carillon(management, ready, program, accept);
  }

  /**
   * Uses a service that runs already. The default is the one that CARILLON_MANAGEMENT_URL and CARILLON_MANAGEMENT_KEY name.
   * It needs `--clock virtual` for the clock, and a journal.
   */
  static async attach({
    url = process.env.CARILLON_MANAGEMENT_URL, key = process.env.CARILLON_MANAGEMENT_KEY, accept,
  } = {}) {
    if (!url) throw new CarillonError('No service is named: set CARILLON_MANAGEMENT_URL, or pass a URL.');
    const management = new Management(url, key);
    return new Carillon(management, await management.describe(), undefined, accept);
  }

  constructor(management, description, program, accept) {
    this.management = management;
    this.#program = program;
    this.accept = accept;
    /** The root certificate that the backend has to trust, in PEM. */
    this.ca = description.caPEM;
    const addresses = description.development;
    if (!addresses) {
      throw new CarillonError(
        'This Carillon does not serve the development environment: start it with --environment development.');
    }
    /** Where the backend connects to: the HTTP/2 API. */
    ({ host: this.host, port: this.port } = this.#address('PROVIDER', addresses.provider));
    /** The same for the binary API. */
    ({ host: this.binaryHost, port: this.binaryPort } = this.#address('BINARY', addresses.binary));
  }

  #address(name, address) {
    // A container has ports of its own: variables say to which ones of this machine they are mapped.
    const mapped = this.#program ? undefined : process.env[`CARILLON_${name}_ADDRESS`];
    const [, host, port] = /^(.+):(\d+)$/.exec(mapped || address) ?? [];
    if (!host) {
      throw new CarillonError(`CARILLON_${name}_ADDRESS is ${mapped}: set it to a host and a port, such as localhost:2197.`);
    }
    const plain = host.replace(/^\[|\]$/g, '');
    // An address that only that machine can reach, or every address of it: it is reached as the management API is.
    const isUnknown = !this.#program && !mapped && ['0.0.0.0', '::', '127.0.0.1', '::1'].includes(plain);
    const reached = isUnknown ? this.management.place.hostname.replace(/^\[|\]$/g, '') : plain;
    return { host: reached, port: Number(port) };
  }

  /** The URL of the HTTP/2 API. */
  get url() { return `https://${this.host.includes(':') ? `[${this.host}]` : this.host}:${this.port}`; }

  /** The path of a file with `ca`, for NODE_EXTRA_CA_CERTS of other processes. It is removed at the end of this process. */
  get caFile() { return this.file('ca.pem', this.ca); }

  /** Writes a file that is removed at the end of this process, and returns its path. */
  file(name, text) {
    if (!this.#folder) {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-'));
      process.once('exit', () => fs.rmSync(folder, { recursive: true, force: true }));
      this.#folder = folder;
    }
    const file = path.join(this.#folder, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  get processID() { return this.#program?.processID; }

  /** Makes a team with an app and a key: see `Team`. End it with its `close()`. */
  team(settings) { return Team.make(this, settings); }

  /** Ends the service, if it was started for the tests. */
  async close() {
    this.management.close();
    await this.#program?.close();
  }
}

let shared;

/**
 * A team for one test, of a service that all tests of this process share. The first test starts it, and it ends with the
 * process.
 *
 * test: what your runner passes to the test, if it has `after`, as `node:test` has: the team ends with the test. Otherwise call
 *   `close()` of the team.
 * settings: id, name, bundleID, keyID and privateKey of the team. accept: 'any' and options give the test a service of its own.
 */
export async function team(test, { accept, options, startTimeout, ...settings } = {}) {
  const isOwn = accept !== undefined || options !== undefined;
  shared ??= isOwn ? undefined : Carillon.start({ startTimeout });
  const carillon = await (isOwn ? Carillon.start({ accept, options, startTimeout }) : shared);
  const made = await carillon.team(settings).catch(async (error) => {
    if (isOwn) await carillon.close();
    throw error;
  });
  if (isOwn) made.closesService();
  test?.after?.(async () => {
    await explainFailure(test, made);
    await made.close();
  });
  return made;
}

/** If the test has failed, its output gets what the backend sent. Node.js says so since 20.12. */
async function explainFailure(test, made) {
  if (test.passed !== false || !test.diagnostic) return;
  test.diagnostic('What the backend sent to apns:');
  for (const line of await made.sent()) test.diagnostic(`  ${line}`);
}
