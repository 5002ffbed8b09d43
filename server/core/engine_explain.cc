// SPDX-License-Identifier: Apache-2.0
//
// Why is this job not running? Answered from what a grant would look at, in that order.
#include <algorithm>

#include "core/engine_impl.h"

namespace rota::core {
namespace {

constexpr std::int64_t kAskedLatelyMs = 60'000;
// While others come first, it is no news that all workers of a busy queue are at work.
constexpr std::int64_t kQuietMs = 5'000;

Holder holder_of(const Lease& lease, std::int64_t mono_ms) {
  Holder h;
  h.key = lease.key;
  h.attempt = lease.attempt;
  h.token = lease.token;
  h.worker_id = lease.grant->holder->worker_id;
  h.lease_left_ms = std::max<std::int64_t>(0, lease.deadline_mono_ms - mono_ms);
  return h;
}

}  // namespace

bool EngineImpl::on(const ExplainJob& c, const Command& cmd, Lookup& look) {
  JobView view;
  if (!view_job(c.key, look, &view)) return false;
  if (view.where == JobView::Where::kNowhere) return reply(cmd.call, job_not_found(c.key)), true;
  const QueueState& q = *queue_of(c.key);
  ExplainReply r;
  r.key = c.key;
  r.state = view.state;
  r.queue = q.queue.name;
  r.running = q.counters.of(JobState::kRunning);
  r.ready = q.counters.of(JobState::kReady);
  r.limit = q.queue.settings.concurrency_limit.value_or(0);
  r.last_asked_ms_ago =
      !q.polls.empty() ? 0 : (q.last_asked_mono_ms < 0 ? -1 : now_.mono_ms - q.last_asked_mono_ms);
  r.cancel_requested = view.side && view.side->cancel_requested;
  if (view.body) {
    r.start_deadline_ms = view.side && view.side->start_deadline_ms ? *view.side->start_deadline_ms
                                                                    : view.body->start_deadline_ms;
  }
  switch (view.state) {
    case JobState::kRunning:
      r.reasons.push_back(WhyReason::kRunning);
      r.holders.push_back(holder_of(*view.lease, now_.mono_ms));
      break;
    case JobState::kScheduled:
      r.reasons.push_back(view.side->retry_wait ? WhyReason::kRetryWait : WhyReason::kRunTime);
      r.until_ms = view.side->due_ms;
      break;
    case JobState::kBlocked:
      r.reasons.push_back(WhyReason::kBlocked);
      r.blocker = view.side->blocker;
      break;
    case JobState::kReady:
      break;
    default:
      r.reasons.push_back(WhyReason::kFinal);
      break;
  }
  if (!model::is_final(view.state) && view.state != JobState::kRunning) {
    if (q.queue.paused) {
      r.reasons.push_back(WhyReason::kPaused);
      r.pause_note = q.queue.pause_note;
      r.paused_by = q.queue.paused_by;
    }
    if (!q.limit_open()) {
      r.reasons.push_back(WhyReason::kLimit);
      for (const JobKey& key : q.running) {
        if (r.holders.size() >= c.max_holders) break;
        r.holders.push_back(holder_of(leases_.at(key), now_.mono_ms));
      }
    }
    if (q.polls.empty() &&
        (q.last_asked_mono_ms < 0 || now_.mono_ms - q.last_asked_mono_ms > kAskedLatelyMs)) {
      r.reasons.push_back(WhyReason::kNobodyAsks);
    }
  }
  if (view.state == JobState::kReady) {
    const bool fresh = !view.side || view.side->attempts == 0;
    if (fresh && r.start_deadline_ms != 0 && r.start_deadline_ms <= now_.wall_ms) {
      r.reasons.push_back(WhyReason::kStartDeadline);
    }
    const std::uint64_t waiting_seq =
        view.side && view.side->waiting_seq != 0 ? view.side->waiting_seq : view.body->created_seq;
    if (waiting_seq < q.purge_barrier) r.reasons.push_back(WhyReason::kPurging);
    const JobKey ready_key{c.key.queue, view.priority, c.key.seq};
    const auto& items = q.window.items();
    if (auto it = items.find(ready_key); it != items.end()) {
      r.ahead = static_cast<std::uint64_t>(std::distance(items.begin(), it));
    }
    if (r.ahead && *r.ahead > 0) {
      const bool only = r.reasons.empty();
      r.reasons.push_back(WhyReason::kAheadInLine);
      if (only && q.polls.empty() && r.last_asked_ms_ago > kQuietMs) {
        r.reasons.push_back(WhyReason::kNobodyAsks);
      }
    } else if (r.reasons.empty()) {
      // First in line and nobody is there to take it, though somebody was a moment ago.
      r.reasons.push_back(r.ahead && q.polls.empty() ? WhyReason::kNobodyAsks
                                                     : WhyReason::kAheadInLine);
    }
  }
  reply(cmd.call, std::move(r));
  return true;
}

}  // namespace rota::core
