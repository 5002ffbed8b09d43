// SPDX-License-Identifier: Apache-2.0
// Started by tools/bench/compare; see there for the options.
//
// A round is one run of each that a measure has, Rota first, and a measure has as many rounds as runs
// are wanted: A B C A B C. So a phase in which the machine is slow meets all of them.
'use strict';
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { median, now, pause, run_program } = require('./harness');
const { PEERS } = require('./peers');
const { PLAN } = require('./plan');
const { text_of, to_table } = require('./table');

const RUN_WITHIN_MS = 600_000;
const LOOK_MS = 500;
const BUSY_ABOVE = 0.1;
const SYNCS = 25;

function chosen(given, known, what) {
  if (given === undefined) return known;
  const names = given.split(',');
  for (const name of names) {
    if (!known.includes(name)) throw new Error(`no ${what} ${name}; there are ${known.join(', ')}`);
  }
  return names;
}

// The share of all processors that somebody used meanwhile.
async function used_by_others() {
  const busy_ms = () => os.cpus().reduce((sum, { times }) => sum + times.user + times.nice + times.sys + times.irq, 0);
  const [before, begin] = [busy_ms(), now()];
  await pause(LOOK_MS);
  return (busy_ms() - before) / ((now() - begin) * os.cpus().length);
}

// What the disk takes for 4 KiB appended and synced: the middle of a few.
function sync_ms(folder) {
  const file = path.join(folder, 'sync-probe');
  const block = Buffer.alloc(4096, 1);
  const times = [];
  const opened = fs.openSync(file, 'w');
  for (let i = 0; i < SYNCS; ++i) {
    const begin = now();
    fs.writeSync(opened, block);
    fs.fdatasyncSync(opened);
    times.push(now() - begin);
  }
  fs.closeSync(opened);
  fs.rmSync(file);
  return median(times);
}

// Returns {figures} or {error}.
async function run_rota(options, measure, run) {
  const json = path.join(options.data, 'rota-run.json');
  fs.rmSync(json, { force: true });
  const { code, error } = await run_program(options.rota, [
    ...measure.rota, ...(options.quick ? measure.quick : measure.size), '--runs', '1', '--seed', String(run + 1), '--data', path.join(options.data, 'rota'),
    '--json', json,
  ], RUN_WITHIN_MS);
  return code === 0 ? { figures: JSON.parse(fs.readFileSync(json, 'utf8')).runs[0] } : { error };
}

async function run_peer(options, peer, measure, run) {
  const { code, out, error } = await run_program(process.execPath, [
    path.join(__dirname, 'run.js'), peer, measure.peer_measure, '--data', path.join(options.data, 'peers'),
    '--seed', String(run + 1), ...(options.quick ? ['--quick'] : []),
  ], RUN_WITHIN_MS);
  return code === 0 ? { figures: JSON.parse(out) } : { error };
}

async function measure_one(options, measure, there, log) {
  const peers = measure.peers.filter((peer) => there.includes(peer));
  const measured = { measure, rota: [], peers: Object.fromEntries(peers.map((peer) => [peer, []])) };
  const take = async (who, target, go) => {
    const others = await used_by_others();
    const sync = sync_ms(options.data);
    const { figures, error } = await go();
    log.turns.push({
      measure: measure.name, who, others_use: others, sync_ms: sync, ...(error ? { error } : { figures }),
    });
    const busy = others > BUSY_ABOVE ? ` (before it, others used ${Math.round(others * 100)} % of the processors)` : '';
    const shown = error ? `FAILED: ${error}` : text_of(Object.values(figures)[0]);
    console.error(`${measure.name}, ${who}: ${shown}${busy}`);
    if (figures) target.push(figures);
    log.busy += others > BUSY_ABOVE ? 1 : 0;
    log.failed += error ? 1 : 0;
  };
  for (let run = 0; run < options.runs; ++run) {
    await take('rota', measured.rota, () => run_rota(options, measure, run));
    for (const peer of peers) await take(peer, measured.peers[peer], () => run_peer(options, peer, measure, run));
  }
  return measured;
}

function machine() {
  const cpus = os.cpus();
  return `${cpus.length} × ${cpus[0].model}, ${Math.round(os.totalmem() / 2 ** 30)} GiB, ` +
    `Linux ${os.release()}, Node ${process.version}`;
}

async function main() {
  const { values } = parseArgs({
    options: {
      rota: { type: 'string' }, data: { type: 'string' }, json: { type: 'string' },
      runs: { type: 'string', default: '5' }, measures: { type: 'string' }, peers: { type: 'string' },
      quick: { type: 'boolean', default: false },
    },
  });
  if (!/^[1-9][0-9]*$/.test(values.runs)) throw new Error('--runs is a number above 0');
  const options = { ...values, runs: Number(values.runs) };
  const measures = chosen(values.measures, PLAN.map(({ name }) => name), 'measure');
  const there = chosen(values.peers, Object.keys(PEERS), 'peer').filter((name) => {
    const missing = PEERS[name].missing();
    if (missing !== null) console.error(`${PEERS[name].title}: skipped, ${missing}`);
    return missing === null;
  });
  fs.mkdirSync(options.data, { recursive: true });

  const log = { machine: machine(), at: new Date().toISOString(), quick: options.quick, turns: [], busy: 0, failed: 0 };
  const measured = [];
  for (const measure of PLAN.filter(({ name }) => measures.includes(name))) {
    measured.push(await measure_one(options, measure, there, log));
  }
  fs.writeFileSync(options.json, `${JSON.stringify(log, null, 2)}\n`);

  console.error(`all runs: ${options.json}`);
  if (options.quick) {
    console.log(`${log.turns.length - log.failed} of ${log.turns.length} runs worked; their figures mean nothing`);
    return log.failed > 0 ? 1 : 0;
  }
  const titles = Object.fromEntries(Object.values(PEERS).map(({ name, title }) => [name, title]));
  const { markdown, missed, unjudged } = to_table(measured, titles);
  const syncs = log.turns.map((turn) => turn.sync_ms);
  console.log(`${log.machine}; medians of ${options.runs} [lowest–highest].`);
  console.log(`4 KiB appended and synced, before each run: ${text_of(median(syncs))} ms ` +
    `[${text_of(Math.min(...syncs))}–${text_of(Math.max(...syncs))}].`);
  if (log.busy > 0) {
    console.log(`Not a quiet machine: others used more than ${100 * BUSY_ABOVE} % of the processors before ` +
      `${log.busy} of ${log.turns.length} runs.`);
  }
  console.log(`\n${markdown}`);
  for (const one of unjudged) console.log(`not judged: ${one}`);
  for (const one of missed) console.log(`NOT met: ${one}`);
  return missed.length > 0 || log.failed > 0 ? 1 : 0;
}

main().then((code) => process.exit(code), (error) => {
  console.error(`compare: ${error.message}`);
  process.exit(2);
});
