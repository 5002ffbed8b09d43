// SPDX-License-Identifier: Apache-2.0
// A worker process of a peer, started by Workers of harness.js: its handlers do nothing but note when
// they began.
'use strict';
const { now } = require('./harness');

const COUNT_EVERY_MS = 10;

async function main() {
  process.on('disconnect', () => process.exit(0));
  const { file, name, address, jobs, options } = JSON.parse(process.argv[2]);
  const starts = [];
  const delays = new Float64Array(jobs);
  const counts = new Uint8Array(jobs);
  const lateness = [];
  const handle = options.ticks
    ? (nominal_ms) => {
      starts.push(now());
      lateness.push([nominal_ms, performance.timeOrigin + performance.now() - nominal_ms]);
    }
    : (job) => {
      const at = now();
      starts.push(at);
      delays[job.id] = at - job.sent;
      ++counts[job.id];
    };
  const peer = require(file).find((one) => one.name === name);
  const begin = await peer.worker(address, options, handle);
  let told = 0;
  setInterval(() => {
    if (starts.length === told) return;
    told = starts.length;
    process.send({ done: told });
  }, COUNT_EVERY_MS);
  process.on('message', (message) => {
    if (message === 'go') begin();
    if (message === 'report') {
      process.send({ report: { starts: Float64Array.from(starts), delays, counts, lateness } });
    }
  });
  process.send({ ready: true });
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
