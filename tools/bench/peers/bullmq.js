// SPDX-License-Identifier: Apache-2.0
// BullMQ on Redis: with each write synced before its answer, and as Redis is by default.
'use strict';
const path = require('node:path');
const { Server, find_program, free_port, what_is_missing } = require('./harness');

const QUEUE = 'bench';
const SYNC = {
  always: { title: 'BullMQ, each write synced', args: ['--save', '', '--appendonly', 'yes', '--appendfsync', 'always'] },
  default: { title: 'BullMQ, Redis as by default (no sync)', args: ['--save', '3600 1 300 100 60 10000', '--appendonly', 'no'] },
};

async function start(folder, args) {
  const port = await free_port();
  const server = await Server.start({
    command: [find_program('redis-server'), '--bind', '127.0.0.1', '--port', String(port), '--dir', folder, ...args],
    port, log: path.join(folder, 'redis.log'),
  });
  return { address: { host: '127.0.0.1', port, maxRetriesPerRequest: null }, stop: () => server.stop('SIGKILL') };
}

async function producer(address) {
  const { Queue } = require('bullmq');
  const queue = new Queue(QUEUE, { connection: address });
  await queue.waitUntilReady();
  return {
    enqueue: (job) => queue.add('noop', job),
    bulk: (jobs) => queue.addBulk(jobs.map((data) => ({ name: 'noop', data }))),
    unfinished: () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized', 'failed', 'paused'),
    limit: (running) => queue.setGlobalConcurrency(running),
    schedule: (count) => Promise.all(Array.from({ length: count }, (_, i) =>
      queue.upsertJobScheduler(`scheduler-${i}`, { pattern: '* * * * * *' }, { name: 'tick', data: { id: i } }))),
    close: () => queue.close(),
  };
}

async function worker(address, { workers, concurrency, ticks }, handle) {
  const { Worker } = require('bullmq');
  const process_job = ticks
    ? async (job) => handle(job.opts.prevMillis || job.timestamp + (job.opts.delay || 0))
    : async (job) => handle(job.data);
  // Finished jobs are not kept, which is faster than to keep them.
  const options = {
    connection: address, concurrency, autorun: false, removeOnComplete: { count: 0 }, removeOnFail: { count: 0 },
  };
  const all = Array.from({ length: workers }, () => new Worker(QUEUE, process_job, options));
  for (const one of all) one.on('error', (error) => console.error(error.message));
  await Promise.all(all.map((one) => one.waitUntilReady()));
  return () => all.forEach((one) => one.run());
}

module.exports = Object.entries(SYNC).map(([sync, { title, args }]) => ({
  name: `bullmq-${sync}`,
  file: __filename,
  title,
  missing: () => what_is_missing(['redis-server', 'setpriv'], ['bullmq', 'ioredis']),
  measures: ['enqueue', 'enqueue_one', 'bulk', 'drain', 'handoff', 'latency', 'schedulers'],
  in_flight: 200,
  calls_in_flight: 8,
  start: (folder) => start(folder, args),
  producer,
  worker,
}));
