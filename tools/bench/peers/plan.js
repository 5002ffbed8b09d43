// SPDX-License-Identifier: Apache-2.0
// What tools/bench/compare measures, and what it must reach. A measure is one run of rota-bench and one
// of each peer that has it; it gives one or more lines of the table.
//   rota          arguments of rota-bench, with those of `size`, or those of `quick` where only to see
//                 that it works
//   peer_measure  of measures.js; null: no peer has it
//   peers         those whose figures are shown beside Rota's
//   lines         figure: its name in Rota's JSON; peer_figure: in a peer's, where there is one;
//                 better: 'more' or 'less'; floor: what Rota must reach;
//                 ratios: by peer, what Rota's figure divided by the peer's must reach
'use strict';

const ALL = ['bullmq-always', 'bullmq-default', 'beanstalkd', 'graphile', 'rabbitmq', 'nats'];
const rate = (title, floor, ratios = {}) => ({
  title, unit: 'jobs/s', figure: 'jobs_per_s', peer_figure: 'jobs_per_s', better: 'more', floor, ratios,
});
const time = (title, figure, peer_figure, floor, ratios = {}) => ({
  title, unit: 'ms', figure, peer_figure, better: 'less', floor, ratios,
});

const PLAN = [
  {
    name: 'bulk',
    rota: ['bulk'],
    size: ['--jobs', '1000000'],
    quick: ['--jobs', '5000'],
    peer_measure: 'bulk',
    peers: ['graphile', 'bullmq-always', 'bullmq-default'],
    lines: [rate('bulk enqueue', 400_000, { graphile: 3.5, 'bullmq-always': 8 })],
  },
  {
    name: 'enqueue-coalescing',
    rota: ['enqueue', '--in-flight', '200', '--coalesce'],
    size: ['--jobs', '500000'],
    quick: ['--jobs', '2000'],
    peer_measure: 'enqueue',
    peers: ALL,
    lines: [rate('enqueue, one client process, 200 callers, coalescing', 200_000,
      { rabbitmq: 2.5, 'bullmq-always': 4 })],
  },
  {
    name: 'enqueue-plain',
    rota: ['enqueue', '--in-flight', '200', '--no-coalesce'],
    size: ['--jobs', '200000'],
    quick: ['--jobs', '2000'],
    peer_measure: 'enqueue',
    peers: ['bullmq-always'],
    lines: [rate('enqueue, plain unary, 200 in flight', 50_000, { 'bullmq-always': 1 })],
  },
  {
    name: 'enqueue-one',
    rota: ['enqueue', '--in-flight', '1', '--no-coalesce'],
    size: ['--jobs', '10000'],
    quick: ['--jobs', '100'],
    peer_measure: 'enqueue_one',
    peers: ALL,
    lines: [rate('enqueue, one call in flight', 4_000, { 'bullmq-always': 1 })],
  },
  {
    name: 'drain',
    rota: ['drain', '--concurrency', '100'],
    size: ['--jobs', '300000'],
    quick: ['--jobs', '2000'],
    peer_measure: 'drain',
    peers: ALL,
    lines: [rate('drain, one worker process, concurrency 100, no-op', 150_000,
      { rabbitmq: 1.6, nats: 1.6, 'bullmq-always': 6 })],
  },
  {
    name: 'life',
    rota: ['life'],
    size: ['--jobs', '300000'],
    quick: ['--jobs', '2000'],
    peer_measure: null,
    peers: [],
    lines: [rate('life, all at once', 80_000)],
  },
  {
    name: 'handoff',
    rota: ['handoff'],
    size: ['--jobs', '5000'],
    quick: ['--jobs', '200'],
    peer_measure: 'handoff',
    peers: ['bullmq-always', 'bullmq-default'],
    lines: [rate('hand-off, global concurrency 1, 4 workers in 2 processes', 3_000, { 'bullmq-always': 1.8 })],
  },
  {
    name: 'latency',
    rota: ['latency', '--rate', '200'],
    size: ['--seconds', '10'],
    quick: ['--seconds', '1'],
    peer_measure: 'latency',
    peers: ALL,
    lines: [
      time('enqueue to handler start at 200/s, p50', 'start_p50_ms', 'start_p50_ms', 0.45, { 'bullmq-always': 0.65 }),
      time('enqueue to handler start at 200/s, p99', 'start_p99_ms', 'start_p99_ms', 1.2, { 'bullmq-always': 0.65 }),
    ],
  },
  {
    name: 'schedulers',
    rota: ['schedulers'],
    size: ['--schedulers', '1000', '--seconds', '15'],
    quick: ['--schedulers', '20', '--seconds', '2'],
    peer_measure: 'schedulers',
    peers: ['bullmq-default'],
    lines: [
      time('1,000 schedulers each second, nominal time to READY, p99', 'decided_p99_ms', null, 10),
      time('1,000 schedulers each second, nominal time to handler start, p99', 'start_p99_ms', 'start_p99_ms', 25,
        { 'bullmq-default': 0.1 }),
    ],
  },
];

module.exports = { PLAN };
