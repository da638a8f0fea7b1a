import http from 'node:http';
import https from 'node:https';
import { CarillonError } from './errors.js';

/** The management API of one service. */
export class Management {
  #explain;

  constructor(url, key, explain = async () => undefined) {
    this.url = url.replace(/\/+$/, '');
    this.key = key;
    this.#explain = explain;
    try {
      this.place = new URL(this.url);
    } catch { /* Refused below. */ }
    if (!['http:', 'https:'].includes(this.place?.protocol)) {
      throw new CarillonError(`CARILLON_MANAGEMENT_URL is ${url}: set it to a URL such as http://localhost:2198.`);
    }
  }

  /**
   * Sends a request, and returns the status and the answer. `beside` has the statuses that are no errors beside 2xx; `timeout`
   * is the longest time in milliseconds.
   */
  async ask(method, path, body, { timeout = 30_000, beside = [] } = {}) {
    let status, text;
    try {
      ({ status, text } = await this.#send(method, path, body, timeout));
    } catch (error) {
      throw new CarillonError(await this.#explain()
        ?? `The Carillon at ${this.url} does not answer (${error.message || error.code}): check that it runs, and that `
          + 'CARILLON_MANAGEMENT_URL is its address.');
    }
    let answer;
    try {
      answer = text ? JSON.parse(text) : undefined;
    } catch {
      throw new CarillonError(
        `${this.url} is not Carillon's management API (${method} ${path} got ${status}): check CARILLON_MANAGEMENT_URL.`);
    }
    if ((status >= 200 && status < 300) || beside.includes(status)) return { status, answer };
    if (status === 401) {
      throw new CarillonError(`The Carillon at ${this.url} refuses the key: set CARILLON_MANAGEMENT_KEY to its key.`, status);
    }
    const place = answer?.pointer ? `, at ${answer.pointer}` : '';
    throw new CarillonError(`${answer?.detail ?? 'The request failed'} (${method} ${path}, ${status}${place})`, status);
  }

  #send(method, path, body, timeout) {
    const headers = this.key ? { Authorization: `Bearer ${this.key}` } : {};
    const content = body === undefined ? undefined : JSON.stringify(body);
    if (content !== undefined) {
      headers['Content-Type'] = 'application/json';
      headers['Content-Length'] = Buffer.byteLength(content);
    }
    const { request } = this.place.protocol === 'https:' ? https : http;
    return new Promise((resolve, reject) => {
      // A connection of its own, so that none is left open that would keep the process alive.
      const sending = request(this.url + path, { method, headers, agent: false }, (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (piece) => { text += piece; });
        answer.once('error', finish);
        answer.once('end', () => finish(undefined, { status: answer.statusCode, text }));
      });
      const timer = setTimeout(() => sending.destroy(new Error(`no answer within ${timeout} ms`)), timeout);
      function finish(error, answer) {
        clearTimeout(timer);
        if (error) reject(error);
        else resolve(answer);
      }
      sending.once('error', finish);
      sending.end(content);
    });
  }
}
