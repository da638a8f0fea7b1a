import { AssertionError } from 'node:assert';

/** The service did not start, ended, or refused a request. The message is one sentence that says what to do. */
export class CarillonError extends Error {
  constructor(message, status) {
    super(message);
    this.name = 'CarillonError';
    /** The HTTP status, if the service refused a request. */
    this.status = status;
  }
}

/** The expected requests did not arrive in time. The message shows the requests that differ least. */
export class WaitTimeout extends AssertionError {
  constructor(message, { matched = 0, nearest = [] }) {
    super({ message, operator: 'wait' });
    this.name = 'WaitTimeout';
    /** How many requests matched. */
    this.matched = matched;
    /** The requests that differ least, each with the keys in which it differs. */
    this.nearest = nearest;
  }
}
