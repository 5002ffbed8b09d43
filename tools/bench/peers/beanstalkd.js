// SPDX-License-Identifier: Apache-2.0
// beanstalkd with each write synced (-f 0), and a client that sends commands without waiting for the
// answers of earlier ones.
'use strict';
const net = require('node:net');
const path = require('node:path');
const { Failed, Server, find_program, free_port, require_that, what_is_missing } = require('./harness');

const END = Buffer.from('\r\n');

// Answers come in the order of the commands.
class Connection {
  static async open(port) {
    const connection = new Connection(net.connect(port, '127.0.0.1'));
    await new Promise((resolve, reject) => connection.socket.once('connect', resolve).once('error', reject));
    return connection;
  }

  constructor(socket) {
    this.socket = socket.setNoDelay(true);
    this.waiting = [];
    this.answered = 0; // of those in front of `waiting`
    this.rest = Buffer.alloc(0);
    this.out = [];
    socket.on('data', (data) => this.take(data));
    socket.on('close', () => this.waiting.slice(this.answered).forEach(({ reject }) => reject(new Failed('closed'))));
  }

  // Resolves to {words, body}; `kind`: the first word of the only good answer.
  send(kind, text) {
    if (this.out.length === 0) {
      setImmediate(() => {
        this.socket.write(this.out.join(''));
        this.out = [];
      });
    }
    this.out.push(text);
    return new Promise((resolve, reject) => this.waiting.push({ kind, resolve, reject }));
  }

  take(data) {
    this.rest = this.rest.length > 0 ? Buffer.concat([this.rest, data]) : data;
    let at = 0;
    for (;;) {
      const end = this.rest.indexOf(END, at);
      if (end < 0) break;
      const words = this.rest.toString('latin1', at, end).split(' ');
      let next = end + 2;
      let body = null;
      if (words[0] === 'RESERVED' || words[0] === 'OK') {
        const bytes = Number(words.at(-1));
        if (this.rest.length < next + bytes + 2) break;
        body = this.rest.toString('utf8', next, next + bytes);
        next += bytes + 2;
      }
      at = next;
      const { kind, resolve, reject } = this.waiting[this.answered++];
      if (words[0] === kind) resolve({ words, body });
      else reject(new Failed(`${kind} expected, answered ${words.join(' ')}`));
      if (this.answered === 1024) {
        this.waiting = this.waiting.slice(this.answered);
        this.answered = 0;
      }
    }
    this.rest = this.rest.subarray(at);
  }
}

async function start(folder) {
  const port = await free_port();
  const server = await Server.start({
    command: [find_program('beanstalkd'), '-l', '127.0.0.1', '-p', String(port), '-b', folder, '-f', '0'],
    port, log: path.join(folder, 'beanstalkd.log'),
  });
  return { address: { port }, stop: () => server.stop('SIGKILL') };
}

async function producer({ port }) {
  const connection = await Connection.open(port);
  return {
    enqueue(job) {
      const body = JSON.stringify(job);
      return connection.send('INSERTED', `put 0 0 600 ${Buffer.byteLength(body)}\r\n${body}\r\n`);
    },
    async unfinished() {
      const { body } = await connection.send('OK', 'stats-tube default\r\n');
      const counts = ['ready', 'reserved', 'delayed', 'buried'].map((state) =>
        new RegExp(`^current-jobs-${state}: (\\d+)$`, 'm').exec(body));
      require_that(counts.every((found) => found !== null), 'stats-tube without counts');
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    },
    close: () => connection.socket.destroy(),
  };
}

// A connection for each handler: a reserve that waits holds up all that follows it.
async function worker({ port }, { workers, concurrency }, handle) {
  const all = await Promise.all(Array.from({ length: workers * concurrency }, () => Connection.open(port)));
  const work = async (connection) => {
    for (;;) {
      const { words, body } = await connection.send('RESERVED', 'reserve\r\n');
      handle(JSON.parse(body));
      await connection.send('DELETED', `delete ${words[1]}\r\n`);
    }
  };
  return () => all.forEach((connection) => {
    work(connection).catch((error) => {
      console.error(error.message);
      process.exit(1);
    });
  });
}

module.exports = [{
  name: 'beanstalkd',
  file: __filename,
  title: 'beanstalkd -f 0, each write synced',
  missing: () => what_is_missing(['beanstalkd', 'setpriv'], []),
  measures: ['enqueue', 'enqueue_one', 'drain', 'latency'],
  in_flight: 200,
  sizes: { enqueue: { jobs: 20_000, warm: 2_000 }, drain: { jobs: 20_000, warm: 2_000 } },
  start,
  producer,
  worker,
}];
