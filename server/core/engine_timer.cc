// SPDX-License-Identifier: Apache-2.0
//
// Timers: promotion of delayed and retrying jobs, and start deadlines. Late, never early; oldest
// first, at most max_timers_per_turn in a batch and no more than fit into it.
#include <algorithm>
#include <memory>

#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"

namespace rota::core {

namespace keys = model::keys;
using keys::TimerKey;
using keys::TimerKind;

void EngineImpl::put_timer(const TimerKey& timer) {
  batch().put(Keyspace::kTimer, keys::timer(timer), std::string());
  // A scan for timers never starts before what has been swept.
  meta_.timers_swept_ms = std::min(meta_.timers_swept_ms, timer.due_ms);
  timers_.offer(timer, TimerMark{}, sizeof(TimerKey));
  timers_.shrink(options_.timer_window_rows);
}

void EngineImpl::del_timer(const TimerKey& timer) {
  batch().del(Keyspace::kTimer, keys::timer(timer));
  timers_.erase(timer);
  firing_.erase(timer);
}

// Due timers need the rows of their jobs: they are read together, then each is judged against what
// the job is by then.
void EngineImpl::fire_timers() {
  if (!firing_.empty()) return;  // one read at a time keeps the order and the bound
  if (!deletions_held() && held_deadlines_from_ms_ != INT64_MAX && !timers_.refill_open()) {
    meta_.timers_swept_ms = std::min(meta_.timers_swept_ms, held_deadlines_from_ms_);
    held_deadlines_from_ms_ = INT64_MAX;
    timers_.shrink(0);
    timers_.cover_none();
  }
  std::vector<TimerKey> due;
  while (!timers_.empty() && timers_.front_key().due_ms <= now_.wall_ms &&
         due.size() < timer_slice_.rows()) {
    const TimerKey timer = timers_.front_key();
    timers_.erase(timer);
    if (timer.kind == TimerKind::kStartDeadline && deletions_held()) {
      // No deadline passes by a jump of the clock.
      held_deadlines_from_ms_ = std::min(held_deadlines_from_ms_, timer.due_ms);
    } else {
      due.push_back(timer);
    }
  }
  if (due.empty()) return;
  firing_.insert(due.begin(), due.end());
  auto shared = std::make_shared<std::vector<TimerKey>>(std::move(due));
  start_task([this, shared](Lookup& look) {
    for (const TimerKey& timer : *shared) fire(timer, look, /*apply=*/false);
    if (!look.complete()) return false;
    timer_slice_.brought(look.fetched_bytes());
    bool fired = false;
    for (const TimerKey& timer : *shared) {
      // Deleted meanwhile with the job's state: then there is nothing to do. Others may be firing
      // by now, when all of these had been deleted.
      if (firing_.erase(timer) == 0) continue;
      if (fired && batch_full()) {  // it stays due, for the next turn
        timers_.offer(timer, TimerMark{}, sizeof(TimerKey));
        continue;
      }
      fire(timer, look, /*apply=*/true);
      fired = true;
    }
    return true;
  });
}

// With apply = false only asks for the rows.
bool EngineImpl::fire(const TimerKey& timer, Lookup& look, bool apply) {
  JobView view;
  if (!view_job(timer.job, look, &view)) return false;
  if (!apply) return true;
  batch().del(Keyspace::kTimer, keys::timer(timer));
  if (view.where != JobView::Where::kLive) return true;
  if (timer.kind == TimerKind::kPromote) {
    if (view.state != JobState::kScheduled || view.side->due_ms != timer.due_ms) return true;
    to_ready(take_job(timer.job, view), JobState::kScheduled);
    if (planted(base::Mistake::kPromoteTwice)) {
      to_ready(take_job(timer.job, view), JobState::kScheduled);
    }
    return true;
  }
  const std::int64_t deadline = view.side && view.side->start_deadline_ms
                                    ? *view.side->start_deadline_ms
                                    : view.body->start_deadline_ms;
  const bool granted_before = view.side && view.side->attempts > 0;
  const bool waits = view.state == JobState::kReady || view.state == JobState::kScheduled ||
                     view.state == JobState::kBlocked;
  if (waits && !granted_before && deadline == timer.due_ms) {
    end_job(take_job(timer.job, view), view.state, JobState::kExpired,
            "start deadline passed before a worker took it");
  }
  return true;
}

void EngineImpl::refill_timers() {
  if (timers_.covers_all() || timers_.refill_open()) return;
  const bool thin = timers_.size() * 2 < options_.timer_window_rows;
  const bool near = timers_.covers_none() || timers_.limit().due_ms < now_.wall_ms + 5'000;
  if (!(timers_.empty() && near) && !(thin && near)) return;
  const TimerKey from =
      timers_.covers_none() ? TimerKey{meta_.timers_swept_ms, {}, {}} : timers_.limit();
  ReadSpec spec;
  ScanSpec scan;
  scan.keyspace = Keyspace::kTimer;
  scan.begin = timers_.covers_none() ? keys::timer_begin(from.due_ms) : keys::timer(from);
  scan.end = keys::timer_begin(INT64_MAX);
  scan.max_rows = std::min(options_.page_rows, options_.timer_window_rows);
  spec.scans.push_back(scan);
  timers_.begin_refill();
  issue_read(std::move(spec), [this, scan](ReadResult& result, CommitSeq) {
    if (!timers_.accept_page()) {
      timers_.abandon_refill();
      return;
    }
    const ScanPage& page = result.pages[0];
    const std::string end = page.more ? page.next : scan.end;
    std::map<std::string, std::string> rows;
    for (const Row& row : page.rows) rows.insert(row);
    overlay_.overlay(Keyspace::kTimer, scan.begin, end, &rows);
    for (const auto& [key, value] : rows) {
      const auto timer = keys::parse_timer(key);
      if (!timer) damaged_row(Keyspace::kTimer, key);
      if (!firing_.contains(*timer)) {
        timers_.offer_page(*timer, TimerMark{}, sizeof(TimerKey));
      }
    }
    if (!page.more) {
      timers_.finish_refill(nullptr);
    } else {
      // Every timer below the limit has been seen.
      const TimerKey limit = keys::timer_limit(end);
      timers_.finish_refill(&limit);
    }
    timers_.shrink(options_.timer_window_rows);
  });
}

}  // namespace rota::core
