import http from 'node:http';
import https from 'node:https';
import { CarillonError } from './errors.js';
import { parse, stringify } from './exactjson.js';
import { oldest } from './program.js';

/**
 * The longest times in milliseconds until the service answers: `usual` for a request that waits for nothing, `short` beyond
 * the time of a wait, and for each request after one that was not answered.
 */
const usualLimits = { usual: 30_000, short: 5_000 };
/** How many connections the requests share that wait for nothing. A wait needs one of its own. */
const sharedConnections = 8;

/** The management API of one service. Its connections are kept: a service counts how often an address connects. */
export class Management {
  #explain;
  #send;
  #agents;
  #limits;
  #isSilent = false;

  /** explain: a sentence about the end of a service that was started here; undefined if the service was not started here. */
  constructor(url, key, explain, limits = usualLimits) {
    this.#limits = limits;
    // A secret of CI often ends with a newline.
    this.url = url.trim().replace(/\/+$/, '');
    this.key = (key ?? '').trim();
    this.#explain = explain;
    try {
      this.place = new URL(this.url);
    } catch { /* Refused below. */ }
    if (!['http:', 'https:'].includes(this.place?.protocol)) {
      throw new CarillonError(`CARILLON_MANAGEMENT_URL is ${this.url}: set it to a URL such as http://localhost:2198.`);
    }
    if (!/^[!-~]*$/.test(this.key)) {
      throw new CarillonError('CARILLON_MANAGEMENT_KEY has a character that no key has, such as a space: set it to the key alone.');
    }
    const { Agent, request } = this.place.protocol === 'https:' ? https : http;
    this.#send = request;
    // An idle connection of an agent does not keep the process alive.
    this.#agents = {
      short: new Agent({ keepAlive: true, maxSockets: sharedConnections }),
      waiting: new Agent({ keepAlive: true, maxFreeSockets: sharedConnections }),
    };
  }

  /**
   * Sends a request, and returns the status and the answer. `beside` has the statuses that are no errors beside 2xx; `wait` is
   * how long the service may wait before it answers, in milliseconds.
   */
  async ask(method, path, body, { wait, beside = [] } = {}) {
    let status, text;
    try {
      ({ status, text } = await this.#answer(method, path, body, wait));
      this.#isSilent = false;
    } catch (error) {
      throw new CarillonError(await this.#explain?.() ?? this.#failure(error));
    }
    let answer;
    try {
      answer = text ? parse(text) : undefined;
    } catch {
      throw this.#stranger(method, path, status);
    }
    if ((status >= 200 && status < 300) || beside.includes(status)) return { status, answer };
    if (status === 401) {
      const cause = this.key ? 'refuses the key' : 'needs a key, and CARILLON_MANAGEMENT_KEY is empty or not set';
      throw new CarillonError(`The Carillon at ${this.url} ${cause}: set CARILLON_MANAGEMENT_KEY to its key.`, status);
    }
    if (!answer?.detail) throw this.#stranger(method, path, status);
    const place = answer.pointer ? `, at ${answer.pointer}` : '';
    throw new CarillonError(`${answer.detail} (${method} ${path}, ${status}${place})`, status);
  }

  #stranger(method, path, status) {
    return new CarillonError(
      `${this.url} is not Carillon's management API (${method} ${path} got ${status}): check CARILLON_MANAGEMENT_URL.`, status);
  }

  /** Where the service is, and what to trust, from the service itself. */
  async describe() {
    const path = '/v1/fixtures';
    // A fixture without teams makes nothing. Its answer has the addresses and the authority.
    const { status, answer } = await this.ask('POST', path, { teams: [] });
    if (typeof answer?.service?.caPEM !== 'string') throw this.#stranger('POST', path, status);
    if (!answer.service.journal) {
      throw new CarillonError(`The Carillon at ${this.url} is older than this package: start Carillon ${oldest} or newer there.`);
    }
    return answer.service;
  }

  /** Closes the idle connections. */
  close() {
    for (const agent of Object.values(this.#agents)) agent.destroy();
  }

  #failure(error) {
    const name = this.#explain ? 'The Carillon of this test run' : `The Carillon at ${this.url}`;
    // A port of TLS answers a request in plain text with an alert, which is no HTTP.
    if (error.code === 'ECONNRESET' || error.code?.startsWith('HPE_')) {
      const advice = this.#explain ? '' : 'check that CARILLON_MANAGEMENT_URL has the port of the management API; ';
      return `${name} closed the connection before its answer: ${advice}if its log names a limit, such as management-connections, `
        + 'raise it.';
    }
    const advice = this.#explain
      ? 'it is stopped or overloaded' : 'check that it runs, and that CARILLON_MANAGEMENT_URL is its address';
    return `${name} does not answer (${error.message || error.code}): ${advice}.`;
  }

  async #answer(method, path, body, wait) {
    const headers = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    const content = body === undefined ? undefined : stringify(body);
    if (content !== undefined) {
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = Buffer.byteLength(content);
    }
    const agent = wait === undefined ? this.#agents.short : this.#agents.waiting;
    const time = (wait ?? 0) + (wait !== undefined || this.#isSilent ? this.#limits.short : this.#limits.usual);
    const attempt = () => this.#exchange(this.url + path, { method, headers, agent }, content, time);
    try {
      return await attempt();
    } catch (error) {
      // The service closes a connection only while it is idle, so it has not seen this request.
      if (error.isClosedWhileIdle) return attempt();
      throw error;
    }
  }

  #exchange(url, options, content, time) {
    return new Promise((resolve, reject) => {
      const sending = this.#send(url, options, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece) => { text += piece; });
        answer.once('error', finish);
        answer.once('end', () => finish(undefined, { status: answer.statusCode, text }));
      });
      const timer = setTimeout(() => {
        this.#isSilent = true;
        sending.destroy(new Error(`no answer within ${time / 1000} s`));
      }, time);
      function finish(error, answer) {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(answer);
      }
      sending.once('error', (error) => {
        error.isClosedWhileIdle = sending.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code);
        finish(error);
      });
      sending.end(content);
    });
  }
}
