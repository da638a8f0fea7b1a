// Finds the program `carillon`, starts it, and ends it.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { CarillonError } from './errors.js';

const folder = fileURLToPath(new URL('..', import.meta.url));
const inside = path.join(folder, 'bin', 'carillon');

function isProgram(file) {
  try {
    fs.accessSync(file, fs.constants.X_OK);
    return fs.statSync(file).isFile();
  } catch {
    return false;
  }
}

function onPath(name) {
  if (name.includes('/')) return isProgram(name) ? name : undefined;
  return (process.env.PATH ?? '').split(path.delimiter).map((place) => path.join(place, name)).find(isProgram);
}

/** The path of `carillon`: from the variable CARILLON, inside this package, or on the path. */
export function find() {
  const named = process.env.CARILLON;
  if (named) {
    const file = onPath(named);
    if (file) return file;
    throw new CarillonError(`CARILLON names ${named}, which is not a program: correct the variable, or remove it.`);
  }
  if (fs.existsSync(inside)) return inside;
  const file = onPath('carillon');
  if (file) return file;
  throw new CarillonError(
    'There is no program carillon: install the package that contains it, put it on the path, or name it in the variable '
      + 'CARILLON; or set CARILLON_MANAGEMENT_URL to use a service that runs already.');
}

/** Whether it is a program of Linux for another processor. Node.js would let a shell try to read it. */
function isForOtherMachine(file) {
  const header = Buffer.alloc(20);
  const opened = fs.openSync(file);
  try {
    fs.readSync(opened, header, 0, header.length, 0);
  } finally {
    fs.closeSync(opened);
  }
  // The number of the processor in an ELF header.
  const machine = { x64: 62, arm64: 183 }[process.arch];
  return machine !== undefined && header.toString('latin1', 0, 4) === '\x7fELF' && header.readUInt16LE(18) !== machine;
}

function environment(file) {
  // The service of a test has the settings that the test names, and no others.
  const variables = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('CARILLON')));
  // Close the connections that clients have left open, instead of waiting for them.
  variables.CARILLON_LIMIT_SHUTDOWN_TIMEOUT = '1';
  const libraries = path.join(folder, 'libraries');
  if (file === inside && fs.existsSync(libraries)) {
    variables.LD_LIBRARY_PATH = [libraries, variables.LD_LIBRARY_PATH].filter(Boolean).join(path.delimiter);
  }
  return variables;
}

/** The oldest Carillon that this package works with. */
export const oldest = '0.2.0';

/** The version of a program, if it is Carillon's; otherwise undefined. */
async function versionOf(file) {
  const child = spawn(file, ['--version'], { stdio: ['ignore', 'pipe', 'ignore'], env: environment(file) });
  let text = '';
  child.stdout.setEncoding('utf8');
  // It may print for ever, and a child of it may keep its output open.
  await withLimit(new Promise((done) => {
    child.stdout.on('data', (piece) => {
      text += piece;
      if (text.length >= 200) done();
    });
    child.once('close', done).once('error', done);
  }), 5000);
  child.kill('SIGKILL');
  child.stdout.destroy();
  child.unref();
  return /^(\d+\.\d+\.\d+)(-\S+)?( \(.*\))?\s*$/.exec(text)?.[1];
}

function isOlder(version, than) {
  const [a, b] = [version, than].map((text) => text.split('.').map(Number));
  const place = a.findIndex((number, index) => number !== b[index]);
  return place >= 0 && a[place] < b[place];
}

/** What this system lacks, and what to do, if the system's loader says that it cannot load a program; otherwise undefined. */
function missing(said) {
  const library = /error while loading shared libraries: ([^:\s]+)/.exec(said)?.[1];
  if (library && !said.includes('GLIBC')) {
    return `the library ${library}: install it, or take the program of a release's archive, which has its libraries inside`;
  }
  const versions = [...said.matchAll(/GLIBC_(\d+)\.(\d+)/g)].map(([, major, minor]) => [Number(major), Number(minor)]);
  if (versions.length === 0) return undefined;
  const newest = versions.sort((a, b) => a[0] - b[0] || a[1] - b[1]).at(-1).join('.');
  return `glibc ${newest} or newer: take a newer system, such as the image of Debian 12 or Ubuntu 22.04`;
}

/** Why a program is not a service; `happened` is what it did. */
async function notStarted(file, happened, said = '') {
  const lacking = missing(said);
  if (lacking) return new CarillonError(`${file} cannot be started, because this system lacks ${lacking}.${said}`);
  const version = await versionOf(file);
  const advice = process.env.CARILLON ? 'correct the variable CARILLON, or remove it' : 'name Carillon\'s in the variable CARILLON';
  if (!version) return new CarillonError(`${file} is not Carillon's program, and ${happened}: ${advice}.${said}`);
  if (isOlder(version, oldest)) {
    return new CarillonError(`${file} is Carillon ${version}, and this package needs ${oldest} or newer: ${advice}.${said}`);
  }
  return new CarillonError(`${file} did not start: it ${happened}.${said}`);
}

function ending(status, signal) {
  return signal ? `signal ${os.constants.signals[signal]}` : `exit status ${status}`;
}

/** A running `carillon serve`, which ends with this process, also if this process is killed. */
export class Program {
  #child;
  #log;
  #ending;
  #ended;

  static async start(options, timeout) {
    const program = new Program();
    try {
      program.ready = await program.#start(options, timeout);
      return program;
    } catch (error) {
      await program.close(true);
      throw error;
    }
  }

  async #start(options, timeout) {
    const file = find();
    const settings = [
      'serve', '--store', 'memory', '--ports', 'ephemeral', '--json', '--until-input-ends', '--log-level', 'warning',
      ...options,
    ];
    const cannotStart = (cause) => new CarillonError(
      `${file} cannot be started on this machine (${os.machine()}): ${cause}. `
        + 'Install the package for this machine, or name another program in the variable CARILLON.');
    if (isForOtherMachine(file)) throw cannotStart('it is a program for another machine');
    // A file without a name, because nobody reads a pipe while the tests run.
    const place = fs.mkdtempSync(path.join(os.tmpdir(), 'carillon-'));
    this.#log = fs.openSync(path.join(place, 'log'), 'w+');
    fs.rmSync(place, { recursive: true });
    // The service ends when its standard input ends: the system closes the pipe with this process.
    try {
      this.#child = spawn(file, settings, { stdio: ['pipe', 'pipe', this.#log], env: environment(file) });
      await once(this.#child, 'spawn');
    } catch (error) {
      this.#child = undefined;
      throw cannotStart(error.code ?? error.message);
    }
    const child = this.#child;
    child.stdin.on('error', () => {}); // It has ended.
    this.#ended = new Promise((resolve) => {
      child.once('exit', (status, signal) => {
        this.#ending = ending(status, signal);
        resolve();
      });
    });
    const text = await firstLine(child.stdout, timeout);
    if (text === undefined) {
      throw await notStarted(file, `was not ready within ${timeout} ms; if it is slow, give it a longer startTimeout`, this.log());
    }
    if (!text.endsWith('\n') && text.length <= longestLine) {
      await this.#end();
      throw await notStarted(file, `ended (${this.#ending})`, this.log());
    }
    let ready;
    try {
      ready = JSON.parse(text);
    } catch { /* Not JSON. */ }
    if (ready?.event !== 'ready') throw await notStarted(file, `printed ${JSON.stringify(text.slice(0, 200))}`, this.log());
    // The service must not keep this process alive.
    child.unref();
    child.stdin.unref?.();
    child.stdout.unref?.();
    return ready;
  }

  get processID() { return this.#child?.pid; }

  /** A sentence about the end of the program; undefined if it runs. */
  async ending() {
    // A connection may break before the end of the process is reported.
    if (!this.#ending) await withLimit(this.#ended, 1000);
    return this.#ending && `The Carillon of this test run has ended (${this.#ending}): run the tests again.${this.log()}`;
  }

  /** The last lines of the log, below a text about it. */
  log() {
    if (this.#log === undefined) return '';
    const { size } = fs.fstatSync(this.#log);
    const bytes = Buffer.alloc(Math.min(size, 2000));
    fs.readSync(this.#log, bytes, 0, bytes.length, size - bytes.length);
    const lines = bytes.toString().trim().split('\n').filter(Boolean).slice(-8);
    return lines.length ? ` It said:\n  ${lines.join('\n  ')}` : '';
  }

  /** Ends the program, at once if it has not ended after 15 seconds. */
  async #end() {
    this.#child.stdin.end();
    await withLimit(this.#ended, 15_000);
    if (!this.#ending) this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Ends the program, and waits for its end. */
  async close(now = false) {
    const child = this.#child;
    if (child && !this.#ending) {
      child.ref();
      if (now) child.kill('SIGKILL');
      await this.#end();
    }
    child?.stdout.destroy();
    if (this.#log !== undefined) fs.closeSync(this.#log);
    this.#log = undefined;
  }
}

/** Waits for a promise, but no longer than the limit in milliseconds. */
async function withLimit(promise, limit) {
  let timer;
  await Promise.race([promise, new Promise((done) => { timer = setTimeout(done, limit); })]);
  clearTimeout(timer);
}

/** The ready line has some thousand characters. A program that prints more is another one. */
const longestLine = 1 << 20;

/** The first line that a program prints; without its end if the program ends before; undefined if the limit is over first. */
function firstLine(stream, limit) {
  return new Promise((resolve) => {
    let text = '';
    const timer = setTimeout(() => resolve(undefined), limit);
    const finish = () => {
      clearTimeout(timer);
      // The service prints nothing more.
      stream.off('data', add).resume();
      resolve(text);
    };
    const add = (piece) => {
      text += piece;
      if (text.endsWith('\n') || text.length > longestLine) finish();
    };
    stream.setEncoding('utf8');
    stream.on('data', add);
    stream.once('end', finish);
  });
}
