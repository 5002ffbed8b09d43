// SPDX-License-Identifier: Apache-2.0
// The table of tools/bench/compare: medians side by side, and whether they reach what they must.
'use strict';
const { median } = require('./harness');

function text_of(value) {
  if (Math.abs(value) >= 1000) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ',');
  return String(Number(value.toPrecision(3)));
}

function summary(values) {
  return { median: median(values), min: Math.min(...values), max: Math.max(...values), runs: values.length };
}

function range_of({ median: middle, min, max, runs }) {
  if (runs === 1) return `${text_of(middle)} (1 run)`;
  return `${text_of(middle)} [${text_of(min)}–${text_of(max)}]`;
}

// `bound` is reached by an equal figure.
function reaches(value, bound, better) {
  return better === 'more' ? value >= bound : value <= bound;
}

function judged(value, bound, better) {
  const met = reaches(value, bound, better);
  return { met, text: `${better === 'more' ? '≥' : '≤'} ${text_of(bound)}: ${met ? 'met' : '**NOT met**'}` };
}

// `measured`: [{measure, rota: [figures of a run], peers: {name: [figures of a run]}}], measures as in
// plan.js. A peer without runs is left out of the table. `titles`: by peer. Returns
// {markdown, missed: [what is NOT met, in words], unjudged: [bounds without a figure to judge]}.
function to_table(measured, titles) {
  const lines = [
    '| measure | Rota | must reach | peer | its figure | Rota ÷ peer | must reach |',
    '| --- | --- | --- | --- | --- | --- | --- |',
  ];
  const missed = [];
  const unjudged = [];
  const cells = (...all) => lines.push(`| ${all.join(' | ')} |`);
  for (const { measure, rota, peers } of measured) {
    for (const line of measure.lines) {
      const name = `${line.title}, ${line.unit}`;
      if (rota.length === 0) {
        unjudged.push(`${name}: Rota was not measured`);
        continue;
      }
      const own = summary(rota.map((run) => run[line.figure]));
      const floor = judged(own.median, line.floor, line.better);
      if (!floor.met) missed.push(`${name}: ${text_of(own.median)}, must reach ${text_of(line.floor)}`);
      let head = [name, range_of(own), floor.text];
      const others = line.peer_figure === null ? [] : measure.peers;
      for (const peer of others) {
        const runs = peers[peer] || [];
        const wanted = line.ratios[peer];
        if (runs.length === 0) {
          if (wanted !== undefined) unjudged.push(`${name}: ${titles[peer]} was not measured`);
          continue;
        }
        const theirs = summary(runs.map((run) => run[line.peer_figure]));
        const ratio = own.median / theirs.median;
        const verdict = wanted === undefined ? null : judged(ratio, wanted, line.better);
        if (verdict !== null && !verdict.met) {
          missed.push(`${name}: ${text_of(ratio)} × ${titles[peer]}, must reach ${text_of(wanted)}`);
        }
        cells(...head, titles[peer], range_of(theirs), text_of(ratio), verdict === null ? '' : verdict.text);
        head = ['', '', ''];
      }
      if (head[0] !== '') cells(...head, '', '', '', '');
    }
  }
  return { markdown: `${lines.join('\n')}\n`, missed, unjudged };
}

module.exports = { text_of, to_table };
