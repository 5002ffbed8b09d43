// SPDX-License-Identifier: Apache-2.0
// The measures of tools/bench/peers, shown an honest queue and queues that lose a job, do one twice,
// keep what is done, or end.
//
//   node harness_test.js FOLDER
'use strict';
const assert = require('node:assert');
const fs = require('node:fs');
const path = require('node:path');
const { at_rate, in_flight, job_maker, median, now, percentile, until } = require('../../../tools/bench/peers/harness');
const { measure } = require('../../../tools/bench/peers/measures');
const peers = require('./fake_peer');

const parent = process.argv[2];

async function run(fault, name) {
  const peer = peers.find((one) => one.name === fault);
  const started = [];
  const watched = {
    ...peer,
    start: async (folder) => {
      const server = await peer.start(folder);
      started.push(server.pid);
      return server;
    },
  };
  fs.mkdirSync(parent, { recursive: true });
  const folder = fs.mkdtempSync(path.join(parent, `${fault}-`));
  try {
    return await measure(watched, name, { folder, quick: true });
  } finally {
    fs.rmSync(folder, { recursive: true });
    assert.strictEqual(started.length, 1);
    assert.throws(() => process.kill(started[0], 0), { code: 'ESRCH' }, `${fault}, ${name}: a server was left`);
  }
}

async function main() {
  assert.strictEqual(median([3, 1, 2]), 2);
  assert.strictEqual(median([4, 1, 2, 3]), 2.5);
  assert.strictEqual(percentile([10, 30, 20, 40], 0.5), 20);
  assert.strictEqual(percentile([10, 30, 20, 40], 0.51), 30);
  assert.strictEqual(percentile([10, 30, 20, 40], 0.99), 40);
  assert.throws(() => percentile([], 0.5), /of nothing/);

  const make = job_maker(7);
  const bytes = JSON.stringify(make(123, now())).length;
  assert.ok(bytes > 190 && bytes < 230, `a job of ${bytes} bytes`);
  assert.deepStrictEqual(make(5), job_maker(7)(5), 'a seed gives the same jobs');
  assert.notDeepStrictEqual(make(5), job_maker(8)(5));

  let [out, most] = [0, 0];
  const sent = [];
  await in_flight(10, 30, 7, async (i) => {
    sent.push(i);
    most = Math.max(most, ++out);
    await null;
    --out;
  });
  assert.deepStrictEqual(sent, Array.from({ length: 30 }, (_, i) => i + 10));
  assert.strictEqual(most, 7);
  const begin = now();
  let paced = 0;
  await at_rate(0, 20, 200, async () => { ++paced; });
  assert.strictEqual(paced, 20);
  assert.ok(now() - begin >= 90, 'faster than the rate');
  await assert.rejects(until(() => false, 30, 'never'), /never within/);

  for (const name of ['enqueue', 'enqueue_one', 'drain']) {
    const figures = await run('honest', name);
    assert.ok(figures.jobs_per_s > 10, `${name}: ${JSON.stringify(figures)}`);
  }
  const times = await run('honest', 'latency');
  assert.ok(times.start_p50_ms > 0 && times.start_p50_ms <= times.start_p99_ms, JSON.stringify(times));

  await assert.rejects(run('loses', 'enqueue'), /1099 jobs wait, 1100 were acknowledged/);
  await assert.rejects(run('loses', 'drain'), /2199 jobs wait, 2200 were acknowledged/);
  await assert.rejects(run('doubles', 'drain'), /was handled 2 times|were handled|handled 0 times/);
  await assert.rejects(run('keeps', 'drain'), /jobs are left within/);
  await assert.rejects(run('ends', 'enqueue'), /the server is gone/);
  await assert.rejects(measure(peers[0], 'bulk', { folder: parent }), /has no measure bulk/);
  console.log('harness: all as expected');
}

main().then(() => process.exit(0), (error) => {
  console.error(error);
  process.exit(1);
});
