// SPDX-License-Identifier: Apache-2.0
// Graphile Worker on PostgreSQL, jobs taken and completed in batches; each commit synced.
'use strict';
const { execFileSync, spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { Server, Failed, free_port, find_program, what_is_missing } = require('./harness');

const TASK = 'noop';
const CONNECTIONS = 40;
const SETTINGS = {
  fsync: 'on', synchronous_commit: 'on', wal_level: 'replica', shared_buffers: '2GB', max_wal_size: '8GB',
  max_connections: '200', listen_addresses: '127.0.0.1', unix_socket_directories: '',
};

// Debian keeps them out of PATH.
function postgres_folder() {
  if (find_program('initdb') !== null) return path.dirname(find_program('initdb'));
  const asked = spawnSync('pg_config', ['--bindir'], { encoding: 'utf8' });
  const folder = asked.status === 0 ? asked.stdout.trim() : '';
  return fs.existsSync(path.join(folder, 'initdb')) ? folder : null;
}

function missing() {
  if (postgres_folder() === null) return 'no PostgreSQL';
  return what_is_missing(['setpriv'], ['graphile-worker', 'pg']);
}

function logger() {
  const { Logger } = require('graphile-worker');
  return new Logger(() => () => {});
}

// The library asks for both handlers. A pool has ended before the last of its connections has, which
// then sees the server stop.
function open_pool(url, connections) {
  const { Pool } = require('pg');
  const pool = new Pool({ connectionString: url, max: connections });
  const tell = (error) => {
    if (!pool.ended) console.error(`postgres: ${error.message}`);
  };
  pool.on('error', tell);
  pool.on('connect', (client) => client.on('error', tell));
  return pool;
}

async function start(folder) {
  const port = await free_port();
  const bin = postgres_folder();
  const data = path.join(folder, 'data');
  // PostgreSQL does not run as root.
  const user = process.getuid() === 0 ? 'postgres' : null;
  if (user !== null) execFileSync('chown', [user, folder]);
  const as = user === null ? [] : ['--reuid', user, '--regid', user, '--clear-groups'];
  const made = spawnSync('setpriv', [...as, '--pdeathsig', 'KILL', path.join(bin, 'initdb'), '-D', data, '-U', 'bench',
    '-A', 'trust', '-E', 'UTF8', '--locale', 'C.UTF-8'], { encoding: 'utf8', cwd: folder });
  if (made.status !== 0) throw new Failed(`initdb: ${made.stderr || made.error}`);
  const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  const server = await Server.start({
    command: [path.join(bin, 'postgres'), '-D', data, '-p', String(port), ...settings],
    port, log: path.join(folder, 'postgres.log'), user,
  });
  const address = { url: `postgres://bench@127.0.0.1:${port}/postgres` };
  try {
    const { runMigrations } = require('graphile-worker');
    const pool = open_pool(address.url, 1);
    await runMigrations({ pgPool: pool, logger: logger() });
    await pool.end();
  } catch (error) {
    await server.stop('SIGQUIT');
    throw error;
  }
  return { address, stop: () => server.stop('SIGINT') };
}

async function producer({ url }) {
  const { makeWorkerUtils } = require('graphile-worker');
  const pool = open_pool(url, CONNECTIONS);
  const utils = await makeWorkerUtils({ pgPool: pool, logger: logger() });
  return {
    enqueue: (job) => utils.addJob(TASK, job),
    bulk: (jobs) => utils.addJobs(jobs.map((payload) => ({ identifier: TASK, payload }))),
    async unfinished() {
      const { rows } = await pool.query('select count(*) as jobs from graphile_worker._private_jobs');
      return Number(rows[0].jobs);
    },
    async settle() {
      await pool.query('analyze graphile_worker._private_jobs');
      await pool.query('checkpoint');
    },
    async close() {
      await utils.release();
      await pool.end();
    },
  };
}

async function worker({ url }, { concurrency }, handle) {
  const { run } = require('graphile-worker');
  const preset = {
    worker: {
      connectionString: url, concurrentJobs: concurrency, maxPoolSize: 20, pollInterval: 1000,
      localQueue: { size: 500 }, completeJobBatchDelay: 0,
    },
  };
  return () => {
    run({ preset, logger: logger(), noHandleSignals: true, taskList: { [TASK]: async (job) => handle(job) } })
      .catch((error) => {
        console.error(error);
        process.exit(1);
      });
  };
}

module.exports = [{
  name: 'graphile',
  file: __filename,
  title: 'Graphile Worker, batched, each commit synced',
  missing,
  measures: ['enqueue', 'enqueue_one', 'bulk', 'drain', 'latency'],
  in_flight: CONNECTIONS,
  calls_in_flight: 4,
  sizes: { enqueue: { jobs: 10_000, warm: 1_000 }, enqueue_one: { jobs: 3_000, warm: 500 } },
  start,
  producer,
  worker,
}];
