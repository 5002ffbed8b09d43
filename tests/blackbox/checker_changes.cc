// SPDX-License-Identifier: Apache-2.0
//
// What UpdateJob changes, and the times that a job was given: not before its run time, not for the
// first time after its start deadline. All times are the server's own, which never go back.
#include <algorithm>
#include <set>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

bool decided(const JobCall& update) { return update.call.done(); }

// The values that a field can have had before commit `before`: what `first` says, or the newest
// update that is known to have set it, or any of those that nobody knows of. What was set in one
// commit was set in any order.
template <class Value>
std::set<Value> values_before(const std::vector<const JobCall*>& updates, Seq before, Value first,
                              std::optional<Value> JobCall::*field) {
  std::set<Value> values{first};
  Seq settled = 0;
  for (const JobCall* update : updates) {
    if (!(update->*field)) continue;
    if (!decided(*update)) {
      values.insert(*(update->*field));
      continue;
    }
    if (update->call.seq >= before) continue;
    if (update->call.seq > settled) values.clear();
    settled = update->call.seq;
    values.insert(*(update->*field));
  }
  return values;
}

// The run time that holds for a grant: of an update since the attempt before it, else, for the
// first one, what it was enqueued with. Nothing when it is not known.
std::optional<std::int64_t> due_of(const Evidence& evidence, const JobRecord& job,
                                   std::size_t attempt) {
  const Seq granted = job.attempts[attempt].granted;
  const Seq since = attempt == 0 ? 0 : job.attempts[attempt - 1].ended;
  const JobCall* newest = nullptr;
  for (const JobCall* update : evidence.updates(job.id)) {
    if (!update->run_at_ms) continue;
    if (!decided(*update) || update->call.seq == granted) return std::nullopt;
    if (update->call.seq > granted || update->call.seq < since) continue;
    if (newest != nullptr && newest->call.seq == update->call.seq) return std::nullopt;
    newest = update;
  }
  if (newest != nullptr) return *newest->run_at_ms;
  if (attempt != 0) return std::nullopt;
  const Enqueue* enqueue = evidence.enqueue(job.op);
  return std::max(enqueue == nullptr ? 0 : enqueue->run_at_ms, job.nominal_ms);
}

}  // namespace

void check_run_times(const Evidence& evidence, Contradictions* contradictions) {
  for (const JobRecord& job : evidence.history().jobs) {
    if (Evidence::shortened(job)) continue;
    for (std::size_t i = 0; i < job.attempts.size(); ++i) {
      std::optional<std::int64_t> due = due_of(evidence, job, i);
      if (i == 0 && evidence.updates(job.id).empty()) {
        due = std::max(due.value_or(0), job.run_at_ms);
      }
      const std::int64_t start_ms = job.attempts[i].start_ms;
      if (!due || start_ms >= *due) continue;
      contradictions->add(name_of(job, job.attempts[i]) + " was granted " +
                          std::to_string(*due - start_ms) + " ms before its time");
    }
  }
}

void check_updates(const Evidence& evidence, Contradictions* contradictions) {
  for (const JobRecord& job : evidence.history().jobs) {
    const Enqueue* enqueue = evidence.enqueue(job.op);
    if (enqueue == nullptr) continue;
    const auto& updates = evidence.updates(job.id);
    const auto priorities =
        values_before(updates, INT64_MAX, enqueue->priority, &JobCall::priority);
    if (!priorities.contains(job.priority)) {
      contradictions->add(name_of(job) + " has priority " + std::to_string(job.priority) +
                          ", it was last set to " + std::to_string(*priorities.begin()));
    }
    if (job.state != v1::JOB_STATE_DEAD) continue;  // others keep no deadline
    const auto deadlines =
        values_before(updates, INT64_MAX, enqueue->deadline_ms, &JobCall::deadline_ms);
    if (!deadlines.contains(job.deadline_ms)) {
      contradictions->add(name_of(job) + " has start deadline " + std::to_string(job.deadline_ms) +
                          ", it was last set to " + std::to_string(*deadlines.begin()));
    }
  }
}

void check_deadlines(const Evidence& evidence, Contradictions* contradictions) {
  for (const JobRecord& job : evidence.history().jobs) {
    const Enqueue* enqueue = evidence.enqueue(job.op);
    if (enqueue == nullptr || Evidence::shortened(job)) continue;
    const bool expired = job.state == v1::JOB_STATE_EXPIRED;
    if (job.attempts.empty() && !expired) continue;
    const Seq before = job.attempts.empty() ? INT64_MAX : job.attempts.front().granted;
    const auto deadlines = values_before(evidence.updates(job.id), before, enqueue->deadline_ms,
                                         &JobCall::deadline_ms);
    const std::int64_t last = *deadlines.rbegin();
    if (expired) {
      const auto first = deadlines.upper_bound(0);
      if (first == deadlines.end()) {
        contradictions->add(name_of(job) + " is EXPIRED and had no start deadline");
      } else if (job.finish_ms < *first) {
        contradictions->add(name_of(job) + " is EXPIRED " + std::to_string(*first - job.finish_ms) +
                            " ms before its start deadline");
      }
      continue;
    }
    // After a step of the clock no deadline passes for an hour.
    if (evidence.history().clock_steps || deadlines.contains(0)) continue;
    const std::int64_t start_ms = job.attempts.front().start_ms;
    if (start_ms > last) {
      contradictions->add(name_of(job) + " was granted for the first time " +
                          std::to_string(start_ms - last) + " ms after its start deadline");
    }
  }
}

}  // namespace rota::blackbox
