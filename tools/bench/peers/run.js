// SPDX-License-Identifier: Apache-2.0
// One run of one measure of one peer, on a server that it starts and stops itself.
//
//   node run.js PEER MEASURE [--data FOLDER] [--seed N] [--quick] [--keep]
//   node run.js --list
//
// The figures go to standard output as JSON. Exit code 0: measured, and everything added up; 1: it did
// not; 2: bad arguments; 3: the peer is not installed.
'use strict';
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { Failed } = require('./harness');
const { measure } = require('./measures');
const { PEERS } = require('./peers');

function usage(why) {
  console.error(`${why}; usage: node run.js PEER MEASURE [--data FOLDER] [--seed N] [--quick] [--keep]`);
  return 2;
}

async function main() {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      list: { type: 'boolean' }, data: { type: 'string', default: 'build/bench/peers' },
      seed: { type: 'string', default: '1' }, quick: { type: 'boolean', default: false }, keep: { type: 'boolean' },
    },
  });
  if (values.list) {
    for (const peer of Object.values(PEERS)) {
      console.log(`${peer.name}: ${peer.missing() || 'there'}; measures: ${peer.measures.join(', ')}`);
    }
    return 0;
  }
  const [name, wanted, ...more] = positionals;
  const peer = Object.hasOwn(PEERS, name || '') ? PEERS[name] : undefined;
  if (!peer) return usage(`peers are ${Object.keys(PEERS).join(', ')}`);
  if (!peer.measures.includes(wanted) || more.length > 0) return usage(`its measures are ${peer.measures.join(', ')}`);
  if (!/^[1-9][0-9]*$/.test(values.seed)) return usage('a seed is a number above 0');
  const missing = peer.missing();
  if (missing !== null) {
    console.error(`${name}: ${missing}`);
    return 3;
  }
  fs.mkdirSync(values.data, { recursive: true });
  const folder = fs.mkdtempSync(path.join(path.resolve(values.data), `${name}-`));
  const figures = await measure(peer, wanted, { folder, seed: Number(values.seed), quick: values.quick });
  // What failed is kept, to be looked at.
  if (!values.keep) fs.rmSync(folder, { recursive: true, force: true });
  console.log(JSON.stringify(figures));
  return 0;
}

main().then((code) => process.exit(code), (error) => {
  console.error(error instanceof Failed ? error.message : error);
  process.exit(1);
});
