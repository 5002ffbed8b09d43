// SPDX-License-Identifier: Apache-2.0
// RabbitMQ: one node, a quorum queue, publisher confirms, acknowledgement by hand.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { Server, find_program, free_port, until, what_is_missing } = require('./harness');

const QUEUE = 'bench';

// The one in PATH is a wrapper that changes the user and drops the environment.
function server_script() {
  const wrapper = find_program('rabbitmq-server');
  if (wrapper === null) return null;
  const script = path.resolve(path.dirname(wrapper), '../lib/rabbitmq/bin/rabbitmq-server');
  return fs.existsSync(script) ? script : wrapper;
}

async function start(folder) {
  const [port, dist_port, epmd_port] = [await free_port(), await free_port(), await free_port()];
  fs.writeFileSync(path.join(folder, 'rabbitmq.conf'), `listeners.tcp.local = 127.0.0.1:${port}\n`);
  fs.writeFileSync(path.join(folder, 'plugins'), '[].\n');
  const env = {
    ...process.env,
    HOME: folder,
    RABBITMQ_NODENAME: 'bench@localhost',
    RABBITMQ_MNESIA_BASE: path.join(folder, 'mnesia'),
    RABBITMQ_LOG_BASE: path.join(folder, 'log'),
    RABBITMQ_CONFIG_FILE: path.join(folder, 'rabbitmq'),
    RABBITMQ_ENABLED_PLUGINS_FILE: path.join(folder, 'plugins'),
    RABBITMQ_PID_FILE: path.join(folder, 'pid'),
    RABBITMQ_DIST_PORT: String(dist_port),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    ERL_EPMD_PORT: String(epmd_port),
    RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-kernel inet_dist_use_interface {127,0,0,1}',
  };
  // Its own, or the first node would leave one behind.
  const epmd = await Server.start({
    command: [find_program('epmd'), '-address', '127.0.0.1', '-port', String(epmd_port)],
    port: epmd_port, log: path.join(folder, 'epmd.log'), env,
  });
  try {
    const server = await Server.start({
      command: [server_script()], port, log: path.join(folder, 'rabbitmq.log'), env, orphaned: 'TERM',
    });
    return {
      address: { url: `amqp://guest:guest@127.0.0.1:${port}` },
      async stop() {
        await server.stop();
        await epmd.stop();
      },
    };
  } catch (error) {
    await epmd.stop();
    throw error;
  }
}

// It takes connections before it has finished to start.
async function connect(url) {
  const amqp = require('amqplib');
  let connection = null;
  let why = null;
  await until(async () => {
    connection = await amqp.connect(url).catch((error) => { why = error.message; return null; });
    return connection !== null;
  }, 30_000, () => `RabbitMQ takes no client (${why})`);
  return connection;
}

async function producer({ url }) {
  const connection = await connect(url);
  const channel = await connection.createConfirmChannel();
  const { queue } = await channel.assertQueue(QUEUE, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  let returned = 0;
  channel.on('return', () => { ++returned; });
  return {
    enqueue: (job) => new Promise((resolve, reject) => {
      channel.sendToQueue(queue, Buffer.from(JSON.stringify(job)), { persistent: true },
        (error) => (error ? reject(error) : resolve()));
    }),
    // Its counts follow the acknowledgements a little later, and leave out what a worker holds.
    async unfinished() {
      let before = -1;
      for (;;) {
        const { messageCount } = await channel.checkQueue(queue);
        if (messageCount === before) return messageCount - returned;
        before = messageCount;
        await new Promise((resolve) => { setTimeout(resolve, 200); });
      }
    },
    close: () => connection.close(),
  };
}

async function worker({ url }, { few }, handle) {
  const connection = await connect(url);
  const channel = await connection.createChannel();
  await channel.prefetch(few ? 100 : 500);
  return () => {
    channel.consume(QUEUE, (message) => {
      handle(JSON.parse(message.content));
      channel.ack(message);
    }).catch((error) => {
      console.error(error);
      process.exit(1);
    });
  };
}

module.exports = [{
  name: 'rabbitmq',
  file: __filename,
  title: 'RabbitMQ, quorum queue, synced',
  missing: () => what_is_missing(['rabbitmq-server', 'epmd', 'setpriv'], ['amqplib']),
  measures: ['enqueue', 'enqueue_one', 'drain', 'latency'],
  in_flight: 1_000,
  sizes: { enqueue_one: { jobs: 3_000, warm: 500 } },
  start,
  producer,
  worker,
}];
