// SPDX-License-Identifier: Apache-2.0
// A queue of lines over TCP, honest or with one fault, to test the harness of tools/bench/peers with.
// Commands: "put JSON", "take" (waits), "done", "count"; each has one line as answer.
'use strict';
const net = require('node:net');
const path = require('node:path');
const { Server, free_port } = require('../../../tools/bench/peers/harness');

const FAULTS = ['honest', 'loses', 'doubles', 'keeps', 'ends'];
const FAULTY_PUT = 150; // which put the fault meets: one behind every warm-up

function serve(port, fault) {
  const ready = [];
  const takers = [];
  let [puts, unfinished] = [0, 0];
  const give = () => {
    while (ready.length > 0 && takers.length > 0) takers.shift().write(`${ready.shift()}\n`);
  };
  const commands = {
    put(socket, job) {
      socket.write('ok\n');
      const faulty = ++puts === FAULTY_PUT;
      if (faulty && fault === 'ends') process.exit(1);
      ++unfinished;
      if (faulty && fault === 'loses') {
        --unfinished;
        return;
      }
      ready.push(job);
      if (faulty && fault === 'doubles') ready.push(job);
      give();
    },
    take(socket) {
      takers.push(socket);
      give();
    },
    done(socket) {
      socket.write('ok\n');
      if (fault !== 'keeps') --unfinished;
    },
    count(socket) { socket.write(`${Math.max(0, unfinished)}\n`); },
  };
  net.createServer((socket) => {
    let rest = '';
    socket.on('error', () => {});
    socket.on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        const [command] = line.split(' ', 1);
        commands[command](socket, line.slice(command.length + 1));
      }
    });
  }).listen(port, '127.0.0.1');
}

async function connect({ port }) {
  const socket = net.connect(port, '127.0.0.1');
  await new Promise((resolve, reject) => { socket.once('connect', resolve).once('error', reject); });
  const waiting = [];
  let rest = '';
  socket.on('data', (data) => {
    const lines = (rest + data).split('\n');
    rest = lines.pop();
    for (const line of lines) waiting.shift().resolve(line);
  });
  socket.on('error', () => {});
  socket.on('close', () => { for (const { reject } of waiting) reject(new Error('the server is gone')); });
  return {
    socket,
    send: (line) => new Promise((resolve, reject) => {
      waiting.push({ resolve, reject });
      socket.write(`${line}\n`);
    }),
  };
}

async function start(folder, fault) {
  const port = await free_port();
  const server = await Server.start({
    command: [process.execPath, __filename, String(port), fault], port, log: path.join(folder, 'fake.log'),
  });
  return { address: { port }, pid: server.pid, stop: () => server.stop() };
}

async function producer(address) {
  const { send, socket } = await connect(address);
  return {
    enqueue: (job) => send(`put ${JSON.stringify(job)}`),
    unfinished: async () => Number(await send('count')),
    close: () => socket.destroy(),
  };
}

async function worker(address, { concurrency }, handle) {
  const all = await Promise.all(Array.from({ length: concurrency }, () => connect(address)));
  const work = async ({ send }) => {
    for (;;) {
      handle(JSON.parse(await send('take')));
      await send('done');
    }
  };
  return () => all.forEach((one) => work(one).catch(() => process.exit(1)));
}

module.exports = FAULTS.map((fault) => ({
  name: fault,
  file: __filename,
  title: `a queue that is ${fault}`,
  missing: () => null,
  measures: ['enqueue', 'enqueue_one', 'drain', 'latency'],
  in_flight: 50,
  start: (folder) => start(folder, fault),
  producer,
  worker,
}));

if (require.main === module) serve(Number(process.argv[2]), process.argv[3]);
