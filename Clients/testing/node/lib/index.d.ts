/** A request of the backend, as docs/testing.md describes it. */
export interface APNsRequest {
  number: number;
  time: number;
  connection: string;
  headers?: Record<string, string>;
  team?: string;
  keyID?: string;
  token?: string;
  device?: string;
  topic?: string;
  channel?: string;
  protocol?: 'h2' | 'binary' | 'channels' | 'webpush' | 'management';
  /** Of a message of Web Push: the subscription's name, the size of the body, and what it says. */
  subscription?: string;
  bytes?: number;
  text?: string;
  payload?: any;
  body?: string;
  status?: number;
  reason?: string;
  apnsID?: string;
  outcome?: 'pending' | 'delivered' | 'stored' | 'replaced' | 'expired' | 'dropped' | 'rejected' | 'lost' | 'failed';
  rule?: string;
  [key: string]: unknown;
}

export interface Match {
  topic?: string;
  token?: string;
  device?: string;
  protocol?: string;
  pushType?: string;
  apnsID?: string;
  collapseID?: string;
  channel?: string;
  subscription?: string;
  text?: string;
  status?: number;
  reason?: string;
  outcome?: APNsRequest['outcome'];
  payload?: object;
  after?: number;
}

export interface Finding {
  id: string;
  severity: 'error' | 'warning' | 'note';
  section: string;
  text: string;
  advice: string;
  requests: number[];
}

export type Behaviour = 'online' | 'slow' | 'offline' | 'silent' | 'removed' | 'expired';
export interface TeamSettings { name?: string; id?: string; bundleID?: string; keyID?: string; privateKey?: string }
export interface StartSettings { accept?: 'any' | 'known'; options?: string[]; startTimeout?: number }
/** What a runner passes to a test, such as the context of `node:test`. */
export interface TestContext {
  after?(body: () => unknown): unknown;
  readonly passed?: boolean;
  diagnostic?(message: string): void;
}

export function team(test?: TestContext | null, settings?: TeamSettings & StartSettings): Promise<Team>;

export class Carillon {
  static start(settings?: StartSettings): Promise<Carillon>;
  static attach(settings?: { url?: string; key?: string; accept?: 'any' | 'known' }): Promise<Carillon>;
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly binaryHost: string;
  readonly binaryPort: number;
  readonly ca: string;
  readonly caFile: string;
  team(settings?: TeamSettings): Promise<Team>;
  close(): Promise<void>;
}

export class Team {
  readonly carillon: Carillon;
  readonly id: string;
  readonly bundleID: string;
  readonly keyID: string;
  readonly privateKey: string;
  readonly keyFile: string;
  readonly url: string;
  readonly host: string;
  readonly port: number;
  readonly ca: string;
  readonly caFile: string;
  readonly environment: Record<string, string>;
  readonly clock: Clock;
  device(
    behaviour?: Behaviour,
    settings?: { name?: string; token?: string; delay?: number; since?: number; [key: string]: unknown },
  ): Promise<Device>;
  webPush(
    behaviour?: Behaviour,
    settings?: {
      name?: string; vapid?: string; plain?: boolean; delay?: number; since?: number; [key: string]: unknown
    },
  ): Promise<Subscription>;
  requests(match?: Match): Promise<APNsRequest[]>;
  sent(): Promise<string[]>;
  wait(match?: Match, limits?: { count?: number; timeout?: number }): Promise<APNsRequest[]>;
  rehearse(
    fault: Record<string, unknown>,
    when?: { share?: number; first?: number; every?: number; after?: number; between?: [string, string] },
    settings?: { match?: Match; name?: string; seed?: number; ttl?: number | string },
  ): Promise<Rehearsal>;
  report(): Promise<Finding[]>;
  close(): Promise<void>;
}

export class Subscription {
  readonly device: Device;
  readonly name: string;
  readonly endpoint: string;
  readonly p256dh: string;
  readonly auth: string;
  readonly privateKey: string;
  toJSON(): { endpoint: string; keys: { p256dh: string; auth: string } };
}

export class Device {
  readonly id: string;
  readonly token: string;
  readonly subscriptions: { bundleID: string; name: string; endpoint: string; p256dh: string; auth: string; privateKey: string }[];
  behave(behaviour: Behaviour, settings?: { delay?: number; since?: number }): Promise<void>;
  remove(): Promise<void>;
}

export class Clock {
  now(): Promise<Date>;
  advance(by: number | string): Promise<Date>;
}

export class Rehearsal {
  readonly id: string;
  fired(): Promise<number>;
  end(): Promise<void>;
}

/** A number that is not whole and that Number cannot hold, such as 1e400. A whole one is a BigInt. */
export class ExactNumber { constructor(text: string); readonly text: string }
export class CarillonError extends Error { readonly status?: number }
export class WaitTimeout extends Error {
  readonly matched: number;
  readonly nearest: { request: APNsRequest; differs: string[] }[];
}
