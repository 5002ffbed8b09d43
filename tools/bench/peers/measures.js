// SPDX-License-Identifier: Apache-2.0
// The measures, the same for every peer. Each starts a server on fresh data, verifies what was done,
// and returns figures with the names that rota-bench gives them.
//
// The clients and the workers run Node, whose first thousands of calls are slow; they are made before
// the clock runs and are not counted. Rota's are counted.
'use strict';
const { Workers, at_rate, in_flight, job_maker, now, percentile, require_that, until } = require('./harness');

const PATIENCE_MS = 240_000;
const PER_CALL = 1_000;
const SETTLE_MS = 30_000;
const QUICK_SETTLE_MS = 5_000;

const SIZES = {
  enqueue: { jobs: 40_000, warm: 5_000 },
  enqueue_one: { jobs: 5_000, warm: 1_000 },
  bulk: { jobs: 100_000, warm: 10_000 },
  drain: { jobs: 50_000, warm: 5_000 },
  handoff: { jobs: 2_000, warm: 200 },
  latency: { seconds: 10, warm_s: 1, per_second: 200 },
  schedulers: { schedulers: 1_000, seconds: 15, warm_s: 3 },
};
// Only shows that everything works.
const QUICK_SIZES = {
  enqueue: { jobs: 1_000, warm: 100 },
  enqueue_one: { jobs: 100, warm: 10 },
  bulk: { jobs: 3_000, warm: 1_000 },
  drain: { jobs: 2_000, warm: 200 },
  handoff: { jobs: 200, warm: 20 },
  latency: { seconds: 1, warm_s: 0.5, per_second: 200 },
  schedulers: { schedulers: 20, seconds: 3, warm_s: 2 },
};

async function verify_waiting(producer, jobs) {
  const waiting = await producer.unfinished();
  require_that(waiting === jobs, `${waiting} jobs wait, ${jobs} were acknowledged`);
}

async function enqueue_each({ producer, make, size, width }) {
  const send = (id) => producer.enqueue(make(id));
  await in_flight(0, size.warm, width, send);
  const ms = await in_flight(size.warm, size.jobs, width, send);
  await verify_waiting(producer, size.warm + size.jobs);
  return { jobs_per_s: size.jobs / ms * 1000 };
}

async function fill(context, first, jobs) {
  const { producer, peer, make } = context;
  if (!producer.bulk) return in_flight(first, jobs, peer.in_flight, (id) => producer.enqueue(make(id)));
  return in_flight(0, Math.ceil(jobs / PER_CALL), peer.calls_in_flight, (call) => {
    const begin = first + call * PER_CALL;
    const length = Math.min(PER_CALL, first + jobs - begin);
    return producer.bulk(Array.from({ length }, (_, i) => make(begin + i)));
  });
}

async function with_workers(context, options, use) {
  const workers = await Workers.start(context.peer, context.address, options);
  try {
    return await use(workers);
  } finally {
    await workers.kill();
  }
}

function verify_each_once(reports, jobs) {
  for (let id = 0; id < jobs; ++id) {
    const times = reports.reduce((sum, report) => sum + report.counts[id], 0);
    require_that(times === 1, `job ${id} was handled ${times} times`);
  }
}

// A queue that was filled before is emptied; counted from the moment that the warm-up's jobs are done.
async function empty(context, options) {
  const { producer, size } = context;
  const all = size.warm + size.jobs;
  await fill(context, 0, all);
  await verify_waiting(producer, all);
  if (producer.settle) await producer.settle();
  return with_workers(context, { ...options, jobs: all }, async (workers) => {
    workers.go();
    await workers.wait_done(all, PATIENCE_MS);
    await until(async () => await producer.unfinished() === 0, context.settle_ms, 'jobs are left');
    const reports = await workers.reports();
    verify_each_once(reports, all);
    const starts = Float64Array.from(reports.flatMap((report) => [...report.starts])).sort();
    return { jobs_per_s: size.jobs / (starts[all - 1] - starts[size.warm - 1]) * 1000 };
  });
}

const MEASURES = {
  enqueue: (context) => enqueue_each({ ...context, width: context.peer.in_flight }),
  enqueue_one: (context) => enqueue_each({ ...context, width: 1 }),

  async bulk(context) {
    const { producer, size } = context;
    await fill(context, 0, size.warm);
    const ms = await fill(context, size.warm, size.jobs);
    await verify_waiting(producer, size.warm + size.jobs);
    return { jobs_per_s: size.jobs / ms * 1000 };
  },

  drain: (context) => empty(context, { processes: 1, workers: 1, concurrency: 100 }),

  async handoff(context) {
    await context.producer.limit(1);
    return empty(context, { processes: 2, workers: 2, concurrency: 1 });
  },

  async latency(context) {
    const { producer, make, size } = context;
    const warm = Math.round(size.warm_s * size.per_second);
    const jobs = Math.round(size.seconds * size.per_second);
    const options = { processes: 1, workers: 1, concurrency: 100, few: true, jobs: warm + jobs };
    return with_workers(context, options, async (workers) => {
      workers.go();
      const send = (id) => producer.enqueue(make(id, now()));
      await at_rate(0, warm, size.per_second, send);
      await at_rate(warm, jobs, size.per_second, send);
      await workers.wait_done(warm + jobs, PATIENCE_MS);
      const [report] = await workers.reports();
      verify_each_once([report], warm + jobs);
      const delays = report.delays.subarray(warm);
      return { start_p50_ms: percentile(delays, 0.5), start_p99_ms: percentile(delays, 0.99) };
    });
  },

  async schedulers(context) {
    const { producer, size } = context;
    const options = { processes: 1, workers: 1, concurrency: 100, ticks: true, jobs: 0 };
    return with_workers(context, options, async (workers) => {
      workers.go();
      await producer.schedule(size.schedulers);
      // Whole seconds, behind the warm-up.
      const first_ms = (Math.floor(Date.now() / 1000) + 1 + size.warm_s) * 1000;
      const end_ms = first_ms + size.seconds * 1000;
      await until(() => Date.now() >= end_ms + 2_000, (size.seconds + size.warm_s + 10) * 1000, 'no end');
      const [report] = await workers.reports();
      const counted = report.lateness.filter(([nominal_ms]) => nominal_ms >= first_ms && nominal_ms < end_ms);
      const due = size.schedulers * size.seconds;
      require_that(counted.length >= 0.9 * due && counted.length <= due, `${counted.length} of ${due} ticks ran`);
      const late = counted.map(([, late_ms]) => late_ms);
      return { start_p50_ms: percentile(late, 0.5), start_p99_ms: percentile(late, 0.99) };
    });
  },
};

// One run of a measure, on a server and data of its own in `folder`, which exists and is empty.
async function measure(peer, name, { folder, seed = 1, quick = false }) {
  require_that(peer.measures.includes(name), `${peer.name} has no measure ${name}`);
  const size = quick ? QUICK_SIZES[name] : { ...SIZES[name], ...(peer.sizes || {})[name] };
  const server = await peer.start(folder);
  try {
    const producer = await peer.producer(server.address);
    try {
      return await MEASURES[name]({
        peer, producer, size, address: server.address, make: job_maker(seed),
        settle_ms: quick ? QUICK_SETTLE_MS : SETTLE_MS,
      });
    } finally {
      await producer.close();
    }
  } finally {
    await server.stop();
  }
}

module.exports = { measure };
