// SPDX-License-Identifier: Apache-2.0
// NATS JetStream: a work-queue stream on disk, a pull consumer, explicit acknowledgement. Debian's 2.9
// has no setting that syncs each publish.
'use strict';
const path = require('node:path');
const { Server, find_program, free_port, what_is_missing } = require('./harness');

const STREAM = 'JOBS';
const SUBJECT = 'jobs.noop';
const CONSUMER = 'worker';

async function start(folder) {
  const port = await free_port();
  const server = await Server.start({
    command: [find_program('nats-server'), '-a', '127.0.0.1', '-p', String(port), '-js', '-sd', folder],
    port, log: path.join(folder, 'nats.log'),
  });
  return { address: { servers: `127.0.0.1:${port}` }, stop: () => server.stop('SIGKILL') };
}

async function producer(address) {
  const { connect } = require('@nats-io/transport-node');
  const { AckPolicy, RetentionPolicy, StorageType, jetstream, jetstreamManager } = require('@nats-io/jetstream');
  const connection = await connect(address);
  const manager = await jetstreamManager(connection);
  await manager.streams.add({
    name: STREAM, subjects: ['jobs.*'], storage: StorageType.File, retention: RetentionPolicy.Workqueue,
  });
  await manager.consumers.add(STREAM, {
    durable_name: CONSUMER, ack_policy: AckPolicy.Explicit, max_ack_pending: 20_000,
  });
  const stream = jetstream(connection);
  return {
    enqueue: (job) => stream.publish(SUBJECT, JSON.stringify(job), { timeout: 60_000 }),
    // A work queue keeps what has not been acknowledged.
    async unfinished() {
      return (await manager.streams.info(STREAM)).state.messages;
    },
    close: () => connection.close(),
  };
}

async function worker(address, { few }, handle) {
  const { connect } = require('@nats-io/transport-node');
  const { jetstream } = require('@nats-io/jetstream');
  const connection = await connect(address);
  const consumer = await jetstream(connection).consumers.get(STREAM, CONSUMER);
  const work = async () => {
    const messages = await consumer.consume({ max_messages: few ? 100 : 500 });
    for await (const message of messages) {
      handle(message.json());
      message.ack();
    }
  };
  return () => {
    work().catch((error) => {
      console.error(error);
      process.exit(1);
    });
  };
}

module.exports = [{
  name: 'nats',
  file: __filename,
  title: 'NATS JetStream on disk (no sync)',
  missing: () => what_is_missing(['nats-server', 'setpriv'], ['@nats-io/jetstream', '@nats-io/transport-node']),
  measures: ['enqueue', 'enqueue_one', 'drain', 'latency'],
  in_flight: 500,
  start,
  producer,
  worker,
}];
