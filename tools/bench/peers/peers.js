// SPDX-License-Identifier: Apache-2.0
// All peers by name. What one is:
//   name, title   title: as the table shows it, with how it syncs
//   file          its module, which exports a list with it
//   missing()     what it needs and is not there, in words, or null
//   measures      those of measures.js that it has
//   in_flight     single enqueues without an answer at once, where it is at its best
//   calls_in_flight  the same of bulk calls, when it has them
//   sizes         where those of measures.js would take too long
//   start(folder)    a server on data in `folder`: {address, stop()}; the address is JSON
//   producer(address)   {enqueue(job), bulk(jobs), unfinished(), limit(n), schedule(n), settle(),
//                       close()}; each ends when the peer has acknowledged it
//   worker(address, {workers, concurrency, few, ticks}, handle)   connects and returns a function that
//                       begins to work. handle(job) is called where a handler begins, with the nominal
//                       time instead when `ticks`. `few`: jobs come one at a time, fetch few ahead.
'use strict';
const modules = ['bullmq', 'beanstalkd', 'graphile', 'rabbitmq', 'nats'];

const PEERS = {};
for (const name of modules) {
  for (const peer of require(`./${name}`)) PEERS[peer.name] = peer;
}

module.exports = { PEERS };
