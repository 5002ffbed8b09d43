// SPDX-License-Identifier: Apache-2.0
// The verdicts of tools/bench/compare, shown figures that reach what they must and figures that do not,
// and a plan whose measures are there.
'use strict';
const assert = require('node:assert');
const { PEERS } = require('../../../tools/bench/peers/peers');
const { PLAN } = require('../../../tools/bench/peers/plan');
const { text_of, to_table } = require('../../../tools/bench/peers/table');

assert.strictEqual(text_of(1234567.4), '1,234,567');
assert.strictEqual(text_of(999.4), '999');
assert.strictEqual(text_of(0.38123), '0.381');

const titles = { slow: 'Slow', fast: 'Fast' };
const rate = {
  title: 'things', unit: 'jobs/s', figure: 'jobs_per_s', peer_figure: 'jobs_per_s', better: 'more', floor: 1000,
  ratios: { slow: 2 },
};
const time = {
  title: 'wait', unit: 'ms', figure: 'own_ms', peer_figure: 'peer_ms', better: 'less', floor: 1, ratios: { slow: 0.5 },
};
const table = (line, rota, peers) =>
  to_table([{ measure: { peers: ['slow', 'fast'], lines: [line] }, rota, peers }], titles);
const rates = (...values) => values.map((jobs_per_s) => ({ jobs_per_s }));

// Just reached, by medians; a peer without a bound is shown and not judged.
let result = table(rate, rates(900, 1000, 5000), { slow: rates(400, 500, 600), fast: rates(10_000, 10_000, 10_000) });
assert.deepStrictEqual([result.missed, result.unjudged], [[], []]);
assert.ok(result.markdown.includes(
  '| things, jobs/s | 1,000 [900–5,000] | ≥ 1,000: met | Slow | 500 [400–600] | 2 | ≥ 2: met |'), result.markdown);
assert.ok(result.markdown.includes('|  |  |  | Fast | 10,000 [10,000–10,000] | 0.1 |  |'), result.markdown);

result = table(rate, rates(999), { slow: rates(500), fast: [] });
assert.strictEqual(result.missed.length, 2, 'the floor and the ratio');
assert.match(result.missed[0], /things, jobs\/s: 999, must reach 1,000/);
assert.match(result.missed[1], /2 × Slow, must reach 2/);
assert.ok(result.markdown.includes('999 (1 run) | ≥ 1,000: **NOT met**'), result.markdown);
assert.ok(!result.markdown.includes('Fast'), result.markdown);

// Less is better: neither verdict is turned round.
result = table(time, [{ own_ms: 1 }], { slow: [{ peer_ms: 2 }] });
assert.deepStrictEqual(result.missed, []);
result = table(time, [{ own_ms: 1.01 }], { slow: [{ peer_ms: 2 }] });
assert.strictEqual(result.missed.length, 2);
result = table(time, [{ own_ms: 0.9 }], { slow: [{ peer_ms: 1 }] });
assert.match(result.missed.join(), /^wait, ms: 0.9 × Slow, must reach 0.5$/);

// What cannot be judged is said, and is not a miss.
result = table(rate, rates(2000), { fast: rates(1) });
assert.deepStrictEqual(result.missed, []);
assert.match(result.unjudged.join(), /Slow was not measured/);
result = table(rate, [], { slow: rates(1) });
assert.match(result.unjudged.join(), /Rota was not measured/);
result = table({ ...time, peer_figure: null }, [{ own_ms: 1 }], { slow: [{ peer_ms: 2 }] });
assert.ok(result.markdown.includes('| wait, ms | 1 (1 run) | ≤ 1: met |  |  |  |  |'), result.markdown);

for (const measure of PLAN) {
  for (const peer of measure.peers) {
    assert.ok(PEERS[peer].measures.includes(measure.peer_measure), `${peer} has no ${measure.peer_measure}`);
  }
  for (const line of measure.lines) {
    for (const peer of Object.keys(line.ratios)) {
      assert.ok(measure.peers.includes(peer) && line.peer_figure !== null, `${measure.name}: ${peer} is not measured`);
    }
  }
}
console.log('table: all as expected');
