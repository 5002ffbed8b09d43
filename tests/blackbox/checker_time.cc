// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <utility>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

struct Range {
  Seq least = INT64_MAX, most = 0;
  void add(Seq seq) {
    least = std::min(least, seq);
    most = std::max(most, seq);
  }
};

void count_states(const History& history, Figures* figures) {
  for (const JobRecord& job : history.jobs) {
    ++figures->jobs;
    figures->succeeded += job.state == v1::JOB_STATE_SUCCEEDED ? 1 : 0;
    figures->dead += job.state == v1::JOB_STATE_DEAD ? 1 : 0;
    figures->cancelled += job.state == v1::JOB_STATE_CANCELLED ? 1 : 0;
    figures->expired += job.state == v1::JOB_STATE_EXPIRED ? 1 : 0;
    figures->deleted += job.left ? 1 : 0;
    figures->shortened += Evidence::shortened(job) ? 1 : 0;
    figures->attempts += static_cast<std::int64_t>(job.attempts.size());
    for (const AttemptRecord& attempt : job.attempts) {
      figures->lost += attempt.outcome == v1::ATTEMPT_OUTCOME_LOST ? 1 : 0;
      figures->timed_out += attempt.outcome == v1::ATTEMPT_OUTCOME_TIMED_OUT ? 1 : 0;
      figures->released += attempt.outcome == v1::ATTEMPT_OUTCOME_RELEASED ? 1 : 0;
    }
  }
}

void count_calls(const History& history, Figures* figures) {
  for (const Enqueue& one : history.enqueues) figures->open += one.call.open() ? 1 : 0;
  for (const JobCall& one : history.job_calls) {
    figures->open += one.call.open() ? 1 : 0;
    figures->updated += one.kind == JobCall::Kind::kUpdate && one.call.done() ? 1 : 0;
  }
  for (const auto& [queue, how] : history.leaving) {
    const auto totals = history.totals.find(queue);
    if (totals == history.totals.end()) continue;
    (how.purged ? figures->purged : figures->retired) += totals->second.removed();
  }
  for (const Lease& one : history.leases) {
    figures->open += one.call.open() ? 1 : 0;
    figures->repeats += one.repeat && one.call.done() ? 1 : 0;
  }
  for (const Finish& one : history.finishes) {
    figures->open += one.call.open() ? 1 : 0;
    figures->repeats += one.already_ended ? 1 : 0;
    figures->stale_refused += one.call.reason == "LEASE_LOST" ? 1 : 0;
  }
  for (const Beat& one : history.beats) {
    figures->stale_refused += one.call.done() && !one.renewed ? 1 : 0;
  }
}

}  // namespace

void check_real_time(const Evidence& evidence, Contradictions* contradictions) {
  for_each_answer(evidence.history(), [&](const Call& call, bool writes, const auto& what) {
    const Seq floor = evidence.floor(call.invoked);
    if (call.seq > floor || (call.seq == floor && !writes)) return;
    contradictions->add(what() + " was answered with commit " + std::to_string(call.seq) +
                        ", but commit " + std::to_string(floor) +
                        " had been answered before it was sent");
  });
}

void check_epochs(const Evidence& evidence, Contradictions* contradictions) {
  std::map<std::int64_t, Range> epochs;
  const History& history = evidence.history();
  for (const Lease& one : history.leases) {
    if (one.call.done()) epochs[one.epoch].add(one.call.seq);
  }
  for (const Finish& one : history.finishes) {
    if (one.call.done()) epochs[one.epoch].add(one.call.seq);
  }
  for (const Beat& one : history.beats) {
    if (one.call.done()) epochs[one.epoch].add(one.call.seq);
  }
  const std::pair<const std::int64_t, Range>* before = nullptr;
  for (const auto& epoch : epochs) {
    if (before != nullptr && epoch.second.least < before->second.most) {
      contradictions->add("epoch " + std::to_string(epoch.first) + " answered with commit " +
                          std::to_string(epoch.second.least) + ", the epoch before it (" +
                          std::to_string(before->first) + ") with commit " +
                          std::to_string(before->second.most));
    }
    before = &epoch;
  }
}

Figures check(const History& history, Contradictions* contradictions) {
  const Evidence evidence(history);
  Figures figures;
  count_states(history, &figures);
  count_calls(history, &figures);
  check_real_time(evidence, contradictions);
  check_epochs(evidence, contradictions);
  check_lives(evidence, contradictions);
  check_tokens(evidence, contradictions);
  check_leases(evidence, contradictions);
  check_finishes(evidence, contradictions);
  check_beats(evidence, contradictions);
  check_executions(evidence, &figures, contradictions);
  figures.most_live = check_limits(evidence, contradictions);
  check_pauses(evidence, contradictions);
  check_order(evidence, contradictions);
  check_counters(evidence, contradictions);
  check_existence(evidence, contradictions);
  check_keys(evidence, contradictions);
  check_run_times(evidence, contradictions);
  check_updates(evidence, contradictions);
  check_deadlines(evidence, contradictions);
  check_gone(evidence, contradictions);
  check_purges(evidence, contradictions);
  check_retention(evidence, contradictions);
  check_edits(evidence, &figures, contradictions);
  check_ticks(evidence, &figures, contradictions);
  return figures;
}

}  // namespace rota::blackbox
