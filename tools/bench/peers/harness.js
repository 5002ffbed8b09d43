// SPDX-License-Identifier: Apache-2.0
// What the programs of all peers share: clocks and statistics, loads, server processes, worker
// processes. Times are milliseconds.
'use strict';
const { fork, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: pause } = require('node:timers/promises');

const START_WITHIN_MS = 60_000;
const STOP_WITHIN_MS = 30_000;

// A figure could not be measured, or what was done does not add up.
class Failed extends Error {}

function require_that(holds, why) {
  if (!holds) throw new Failed(why);
}

// The monotonic clock, which all processes of the machine share.
function now() {
  return Number(process.hrtime.bigint()) / 1e6;
}

// Nearest rank, as rota-bench counts: the smallest value with at least `share` of all at or below it.
function percentile(values, share) {
  require_that(values.length > 0, 'a percentile of nothing');
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
}

// Of an even number of values the mean of the middle two.
function median(values) {
  const sorted = Float64Array.from(values).sort();
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Jobs of about 200 bytes as JSON, half of them random by the seed, as those of rota-bench.
function job_maker(seed) {
  let noise = BigInt(seed) * 0x9e3779b97f4a7c15n + 1n;
  const word = () => {
    noise ^= (noise << 13n) & 0xffffffffffffffffn;
    noise ^= noise >> 7n;
    noise ^= (noise << 17n) & 0xffffffffffffffffn;
    return noise.toString(16).padStart(16, '0');
  };
  // Made before the clock runs: numbers this large are slow.
  const notes = Array.from({ length: 1021 }, () => word() + word() + word() + word() + word() + word());
  return (id, sent = 0) => ({
    id, sent, to: `user-${id % 100_000}@example.com`, template: 'welcome', note: notes[id % notes.length],
  });
}

// Calls send(i) for first <= i < first + count, at most `width` without an answer at once. Returns
// the milliseconds from the first call to the last answer.
async function in_flight(first, count, width, send) {
  const begin = now();
  let next = first;
  const lane = async () => {
    while (next < first + count) await send(next++);
  };
  await Promise.all(Array.from({ length: Math.min(width, count) }, lane));
  return now() - begin;
}

// Calls send(i) at a fixed rate, whether or not answers come; what the timer was late for leaves at
// once. Waits for all answers.
async function at_rate(first, count, per_second, send) {
  const begin = now();
  const out = [];
  for (let i = 0; i < count;) {
    while (i < count && i < ((now() - begin) / 1000) * per_second) out.push(send(first + i++));
    if (i < count) await pause(1);
  }
  await Promise.all(out);
}

// Polls until holds() is true.
async function until(holds, within_ms, why) {
  const end = now() + within_ms;
  for (;;) {
    if (await holds()) return;
    require_that(now() < end, `${typeof why === 'function' ? why() : why} within ${within_ms / 1000} s`);
    await pause(10);
  }
}

function free_port() {
  return new Promise((resolve, reject) => {
    const server = net.createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

function answers(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    socket.once('connect', () => { socket.destroy(); resolve(true); });
    socket.once('error', () => resolve(false));
  });
}

// The path of a program, or null. Debian's servers are in folders that a user's PATH leaves out.
function find_program(name, more_folders = []) {
  const folders = [...(process.env.PATH || '').split(':'), '/usr/sbin', ...more_folders];
  for (const folder of folders.filter((one) => one !== '')) {
    const file = path.join(folder, name);
    try {
      fs.accessSync(file, fs.constants.X_OK);
      return file;
    } catch { /* the next */ }
  }
  return null;
}

// What is missing of `programs` and of npm `packages`, in words; null when nothing is.
function what_is_missing(programs, packages) {
  for (const program of programs) if (find_program(program) === null) return `no program ${program}`;
  for (const name of packages) {
    try {
      require.resolve(name);
    } catch {
      return `no npm package ${name}`;
    }
  }
  return null;
}

// Each with what ends it at once.
const children = new Map();
process.on('exit', () => { for (const end of children.values()) end(); });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => process.exit(1));

function ended(child) {
  return child.exitCode !== null || child.signalCode !== null;
}

// Runs a program to its end, at most `within_ms`. Returns {code, out, error}: its output, and the last
// it said on standard error.
async function run_program(command, args, within_ms) {
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  children.set(child, () => child.kill('SIGKILL'));
  let [out, error] = ['', ''];
  child.stdout.on('data', (data) => { out += data; });
  child.stderr.on('data', (data) => { error = (error + data).slice(-4000); });
  const late = setTimeout(() => {
    error += `\nended after ${within_ms / 1000} s`;
    child.kill('SIGKILL');
  }, within_ms);
  const code = await new Promise((resolve) => {
    child.once('error', (why) => { error += why.message; resolve(null); });
    child.once('close', (status) => resolve(status));
  });
  clearTimeout(late);
  children.delete(child);
  return { code, out, error: error.trim().split('\n').slice(-3).join(' ') || 'ended without a word' };
}

async function stop_child(child, signal) {
  if (!ended(child)) {
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill(signal);
    const late = setTimeout(children.get(child), STOP_WITHIN_MS);
    await gone;
    clearTimeout(late);
  }
  children.delete(child);
}

// A server as a child in a group of its own. It dies with this process, even when that is killed.
class Server {
  // Waits until `port` answers. Its output goes to `log`, whose folder is where it runs. `orphaned`:
  // the signal it gets when this process was killed; a script that passes signals on needs one that
  // can be caught.
  static async start({ command, port, log, env = process.env, user = null, orphaned = 'KILL' }) {
    const out = fs.openSync(log, 'a');
    const as = user === null ? [] : ['--reuid', user, '--regid', user, '--clear-groups'];
    const child = spawn('setpriv', [...as, '--pdeathsig', orphaned, ...command],
      { stdio: ['ignore', out, out], env, cwd: path.dirname(log), detached: true });
    fs.closeSync(out);
    children.set(child, () => {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch { /* it has ended */ }
    });
    let broken = null;
    child.once('error', (error) => { broken = error.message; });
    const server = new Server(child);
    try {
      await until(async () => {
        require_that(broken === null && !ended(child),
          `${path.basename(command[0])} ended: ${broken || fs.readFileSync(log, 'utf8').slice(-2000)}`);
        return answers(port);
      }, START_WITHIN_MS, `${path.basename(command[0])} does not answer`);
    } catch (error) {
      children.get(child)();
      await server.stop();
      throw error;
    }
    return server;
  }

  constructor(child) { this.child = child; }
  get pid() { return this.child.pid; }
  stop(signal = 'SIGTERM') { return stop_child(this.child, signal); }
}

// Worker processes of a peer (worker.js), which wait for go().
class Workers {
  // `jobs`: of the whole measurement; their ids are below it, or any with `ticks`.
  static async start(peer, address, { processes, jobs, ...options }) {
    const workers = new Workers();
    for (let i = 0; i < processes; ++i) {
      const child = fork(path.join(__dirname, 'worker.js'),
        [JSON.stringify({ file: peer.file, name: peer.name, address, jobs, options })], { serialization: 'advanced' });
      children.set(child, () => child.kill('SIGKILL'));
      const one = { child, done: 0, ready: false, report: null };
      child.on('message', (message) => Object.assign(one, message));
      workers.all.push(one);
    }
    try {
      await workers.wait(() => workers.all.every((one) => one.ready), START_WITHIN_MS, 'the workers are not ready');
    } catch (error) {
      await workers.kill();
      throw error;
    }
    return workers;
  }

  constructor() { this.all = []; }
  go() { for (const one of this.all) one.child.send('go'); }
  done() { return this.all.reduce((sum, one) => sum + one.done, 0); }

  async wait_done(jobs, within_ms) {
    await this.wait(() => this.done() >= jobs, within_ms, () => `only ${this.done()} of ${jobs} jobs were handled`);
  }

  wait(holds, within_ms, why) {
    return until(() => {
      require_that(this.all.every((one) => !ended(one.child)), 'a worker process ended');
      return holds();
    }, within_ms, why);
  }

  // What the handlers saw: {starts, delays, counts} of each process. `starts`: when each began, in
  // this process's order; `delays`: how long after job i was sent its handler began; `counts`: how
  // often it did. With `ticks` instead: `lateness`, [nominal time, how much later] of each.
  async reports() {
    for (const one of this.all) one.child.send('report');
    await this.wait(() => this.all.every((one) => one.report !== null), 30_000, 'a worker does not report');
    return this.all.map((one) => one.report);
  }

  async kill() { await Promise.all(this.all.map((one) => stop_child(one.child, 'SIGKILL'))); }
}

module.exports = {
  Failed, Server, Workers, at_rate, find_program, free_port, in_flight, job_maker, median, now, pause,
  percentile, require_that, run_program, until, what_is_missing,
};
