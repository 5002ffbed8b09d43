// SPDX-License-Identifier: Apache-2.0
//
// A history made searchable: which commit a moment lies behind, and what is known of a job, a
// lease, an enqueue. Built once for all checks, in the time of a sort.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "blackbox/history.h"
#include "support/contradictions.h"

namespace rota::blackbox {

using support::Contradictions;

struct KnownLease {
  const JobRecord* job = nullptr;
  const AttemptRecord* attempt = nullptr;
};

class Evidence {
 public:
  explicit Evidence(const History& history);
  Evidence(const Evidence&) = delete;
  Evidence& operator=(const Evidence&) = delete;

  const History& history() const { return history_; }

  // Whoever asks at `at` or later must see this commit: the newest one that an answer had named
  // before.
  Seq floor(Ns at) const;
  // Whatever was answered before `at` has seen no later commit than this: a change that was sent
  // afterwards made the next one.
  Seq ceiling(Ns at) const;

  const JobRecord* job(std::string_view id) const;
  const JobRecord* job_of_op(std::string_view op) const;
  const Enqueue* enqueue(std::string_view op) const;
  // The enqueue that was answered with this new job; null when no such answer came.
  const Enqueue* enqueue_of_job(std::string_view id) const;
  // Whether nothing needs to be known of this job of the queue any more: it is not listed, and jobs
  // leave that queue unread.
  bool may_have_left(std::string_view id, const std::string& queue) const {
    return job(id) == nullptr && history_.leaving.contains(queue);
  }
  // What may have changed this job, as UpdateJob: those that were answered in the order of their
  // commits, then the others.
  const std::vector<const JobCall*>& updates(std::string_view id) const;
  // The first delete of this job that was answered as done, else one that may have happened, else
  // null.
  const JobCall* removal(std::string_view id) const;
  // Null members when no listed job has this token. A job with more than 20 attempts has forgotten
  // the first ones, and of one that was deleted after a redrive the last ones are not known.
  KnownLease lease(std::int64_t token) const;
  static bool shortened(const JobRecord& job) {
    return job.stale || job.attempt_count > static_cast<int>(job.attempts.size());
  }

  // The commit that created a job, when the answer came; else only after which it was.
  struct Birth {
    Seq after = 0;
    std::optional<Seq> at{};
  };
  Birth birth(const JobRecord& job) const;

 private:
  const History& history_;
  std::vector<std::pair<Ns, Seq>> floors_{}, ceilings_{};
  std::unordered_map<std::string_view, const JobRecord*> jobs_{}, jobs_by_op_{};
  std::unordered_map<std::string_view, const Enqueue*> enqueues_{}, enqueues_by_job_{};
  std::unordered_map<std::string_view, std::vector<const JobCall*>> updates_{};
  std::unordered_map<std::string_view, const JobCall*> removals_{};
  std::unordered_map<std::int64_t, KnownLease> leases_{};
};

// "cancel", "redrive", "update", "delete".
const char* name_of(JobCall::Kind kind);

// Calls f(const Call&, bool writes, std::string what) for each answer that names a commit.
// `writes`: it made a commit of its own, after it was sent.
template <class F>
void for_each_answer(const History& history, const F& f) {
  for (const Enqueue& one : history.enqueues) {
    if (one.call.done()) f(one.call, one.created, [&] { return "the enqueue of " + one.op; });
  }
  for (const JobCall& one : history.job_calls) {
    const bool writes = one.kind != JobCall::Kind::kCancel || one.state == v1::JOB_STATE_CANCELLED;
    if (!one.call.done()) continue;
    f(one.call, writes, [&] { return std::string("the ") + name_of(one.kind) + " of " + one.job; });
  }
  for (const JobRead& one : history.job_reads) {
    if (one.call.done()) f(one.call, false, [&] { return "a read of job " + one.job; });
  }
  for (const QueueCall& one : history.queue_calls) {
    if (one.call.done()) f(one.call, false, [&] { return "a setting of queue " + one.queue; });
  }
  for (const QueueRead& one : history.queue_reads) {
    if (one.call.done()) f(one.call, false, [&] { return "a read of queue " + one.queue; });
  }
  for (const SchedulerCall& one : history.scheduler_calls) {
    const bool writes = one.kind == SchedulerCall::Kind::kDelete ||
                        one.result == SchedulerCall::Result::kCreated ||
                        one.result == SchedulerCall::Result::kChanged;
    if (one.call.done()) f(one.call, writes, [&] { return "a call about " + one.scheduler; });
  }
  for (const Lease& one : history.leases) {
    const bool writes = !one.granted.empty() && !one.repeat;
    if (one.call.done()) f(one.call, writes, [&] { return "lease call " + one.request; });
  }
  for (const Finish& one : history.finishes) {
    if (!one.call.done()) continue;
    f(one.call, !one.already_ended,
      [&] { return "the finish of token " + std::to_string(one.token); });
  }
  for (const Beat& one : history.beats) {
    if (one.call.done())
      f(one.call, false, [&] { return "a beat of " + std::to_string(one.token); });
  }
}

// "job 0g7m2 (flaky)": how a job is named in a sentence.
std::string name_of(const JobRecord& job);
std::string name_of(const JobRecord& job, const AttemptRecord& attempt);

}  // namespace rota::blackbox
