// SPDX-License-Identifier: Apache-2.0
//
// The turn: time, commands, parked tasks and reads, and what a sealed turn holds.
#include "core/engine.h"

#include <algorithm>
#include <type_traits>

#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"

namespace rota::core {
namespace {
using base::Mistake;
using base::limits::kBatchBytesMax;
constexpr int kBatchOpsMax = 50'000;
// What timers, expiries and ticks may add to a batch that commands have filled.
constexpr std::size_t kDutyBytesMin = 1U << 20;
constexpr std::int64_t kRoundsRetryAfterMs = 100;
}  // namespace

bool is_closing(const CommandBody& body) {
  return std::holds_alternative<FinishJobs>(body) || std::holds_alternative<Heartbeat>(body) ||
         std::holds_alternative<AbandonGrant>(body) || std::holds_alternative<CancelJob>(body);
}

EngineImpl::EngineImpl(EngineOptions options, const TimeZoneSource& zones)
    : options_(options),
      zones_(zones),
      book_(*this, zones),
      timer_slice_(options.max_timers_per_turn) {}

// ---- time

void EngineImpl::advance_time(Now now) {
  const std::int64_t mono_step = started_ ? now.mono_ms - now_.mono_ms : 0;
  const std::int64_t wall_step = now.wall_ms - wall_seen_ms_;
  // A step of the wall clock that the monotonic clock did not make: nothing is deleted by age and
  // no missed tick is judged until people had time to see it.
  const bool stepped = started_ && wall_step - mono_step > base::limits::kForwardStepMs;
  started_ = true;
  wall_seen_ms_ = now.wall_ms;
  now_.mono_ms = std::max(now_.mono_ms, now.mono_ms);
  now_.wall_ms = std::max(now_.wall_ms, now.wall_ms);
  if (stepped) {
    if (!planted(Mistake::kRetireAfterJump)) {
      hold_deletions(now_.wall_ms, base::limits::kDeletionHoldMs);
    }
    hold_schedulers_until_mono_ms_ = now_.mono_ms + base::limits::kSchedulerHoldMs;
  }
}

// Since when is stored with the next batch, so that a restart does not end the hold.
void EngineImpl::hold_deletions(std::int64_t since_wall_ms, std::int64_t left_ms) {
  hold_deletions_until_mono_ms_ = now_.mono_ms + left_ms;
  if (meta_.deletions_held_ms == since_wall_ms) return;
  meta_.deletions_held_ms = since_wall_ms;
  meta_touched_ = true;
}

void EngineImpl::stalled(std::int64_t gap_ms, Stall what) {
  absl::btree_set<std::pair<std::int64_t, JobKey>> moved;
  for (auto& [key, lease] : leases_) {
    // A stall counts whole however long it was; only a row of them without a heartbeat in between
    // comes to an end, or a disk that stalls again and again would keep a dead worker's lease.
    if (lease.stall_credit_ms < lease.grant->ttl_ms) {
      lease.stall_credit_ms += gap_ms;
      lease.deadline_mono_ms += gap_ms;
      if (lease.cap_mono_ms != INT64_MAX) {
        std::int64_t cap_gap_ms = gap_ms;
        if (what == Stall::kCommit) {
          cap_gap_ms = std::min(gap_ms, lease.grant->ttl_ms - lease.cap_credit_ms);
          lease.cap_credit_ms += cap_gap_ms;
        }
        lease.cap_mono_ms += cap_gap_ms;
        lease.deadline_mono_ms = std::min(lease.deadline_mono_ms, lease.cap_mono_ms);
      }
    }
    lease.watched_mono_ms = lease.deadline_mono_ms;
    moved.emplace(lease.watched_mono_ms, key);
  }
  lease_deadlines_ = std::move(moved);
}

void EngineImpl::committed(CommitSeq seq, Now now) {
  advance_time(now);
  const std::int64_t took = std::max<std::int64_t>(0, now.mono_ms - sealed_mono_ms_);
  commit_latency_ms_ = (commit_latency_ms_ * 7 + took) / 8;
  durable_seq_ = seq;
  std::size_t done = 0;
  for (auto& [granted_seq, keys] : undurable_) {
    if (granted_seq > seq) break;
    ++done;
    for (const JobKey& key : keys) {
      auto it = leases_.find(key);
      if (it == leases_.end() || it->second.grant->granted_seq != granted_seq) continue;
      renew(it->second, it->second.grant->ttl_ms);
    }
  }
  undurable_.erase(undurable_.begin(), undurable_.begin() + static_cast<std::ptrdiff_t>(done));
}

void EngineImpl::hold_ticks(bool hold) { ticks_held_ = hold; }

void EngineImpl::drain() {
  draining_ = true;
  for (const auto& [call, poll] : polls_) polls_to_answer_.insert(call);
}

// ---- commands, tasks, reads

void EngineImpl::apply(Command command, Now now) {
  advance_time(now);
  dispatch(command);
}

void EngineImpl::dispatch(Command& command) {
  // A command that needs no rows, the usual case, is done here and never copied.
  const Fetched nothing;
  Lookup look(overlay_, nothing);
  if (run_command(command, look)) return;
  auto kept = std::make_shared<Command>(std::move(command));
  Task task;
  task.run = [this, kept](Lookup& l) { return run_command(*kept, l); };
  task.give_up = [this, kept](Error error) { reply(kept->call, std::move(error)); };
  task.is_command = true;
  task.bytes = kept->bytes;
  park_task(std::move(task), look.take_missing());
}

void EngineImpl::start_task(TaskFn run, std::function<void(Error)> give_up) {
  Task task;
  task.run = std::move(run);
  task.give_up = std::move(give_up);
  run_task(std::move(task));
}

void EngineImpl::run_task(Task task) {
  Lookup look(overlay_, task.fetched);
  const bool done = task.run(look);
  if (!done && task.give_up && task.rounds >= base::limits::kPrefetchRoundsMax) {
    Error e = base::make_error(Reason::kOverloaded,
                               "what this call needs to read was changed by others again and again "
                               "while it was read; it has changed nothing");
    e.retry_after_ms = kRoundsRetryAfterMs;
    task.give_up(std::move(e));
  } else if (!done) {  // the engine's own duties never give up: what they hold busy would stay so
    park_task(std::move(task), look.take_missing());
    return;
  }
  for (const CommitSeq point : task.fetched.points) overlay_.unpin(point);
}

void EngineImpl::park_task(Task task, std::vector<GetSpec> missing) {
  ++parked_tasks_;
  ++task.rounds;
  if (task.is_command) {
    ++waiting_commands_;
    waiting_bytes_ += task.bytes;
  }
  auto shared = std::make_shared<Task>(std::move(task));
  ReadSpec spec;
  spec.gets = missing;
  issue_read(std::move(spec), [this, shared, missing](ReadResult& result, CommitSeq point) {
    if (shared->is_command) {
      --waiting_commands_;
      waiting_bytes_ -= shared->bytes;
    }
    for (std::size_t i = 0; i < missing.size(); ++i) {
      if (result.values[i]) shared->bytes += result.values[i]->size();
      shared->fetched.rows.insert_or_assign({missing[i].keyspace, missing[i].key},
                                            std::move(result.values[i]));
    }
    shared->fetched.points.push_back(point);
    overlay_.pin(point);
    --parked_tasks_;
    run_task(std::move(*shared));
  });
}

void EngineImpl::issue_read(ReadSpec spec, PageFn done) {
  to_issue_.emplace_back(ReadIssue{next_read_++, std::move(spec)}, std::move(done));
}

void EngineImpl::apply(ReadDone read, Now now) {
  advance_time(now);
  auto it = reads_.find(read.id);
  if (it == reads_.end()) return;
  const CommitSeq point = it->second.first;
  const PageFn done = std::move(it->second.second);
  reads_.erase(it);
  done(read.result, point);
  overlay_.unpin(point);
}

bool EngineImpl::run_command(const Command& command, Lookup& look) {
  return std::visit([&](const auto& c) { return on(c, command, look); }, command.body);
}

bool EngineImpl::on(const UpsertScheduler& c, const Command& cmd, Lookup& look) {
  return book_.upsert(c, cmd, look);
}
bool EngineImpl::on(const PauseScheduler& c, const Command& cmd, Lookup& look) {
  return book_.pause(c, cmd, look);
}
bool EngineImpl::on(const ResumeScheduler& c, const Command& cmd, Lookup& look) {
  return book_.resume(c, cmd, look);
}
bool EngineImpl::on(const DeleteScheduler& c, const Command& cmd, Lookup& look) {
  return book_.remove(c, cmd, look);
}

void EngineImpl::reply(CallId call, ReplyBody body, CommitSeq first) {
  if (call == 0) return;
  Reply r;
  r.call = call;
  r.body = std::move(body);
  r.seq = first;
  r.immediate =
      planted(Mistake::kQuerySeesUncommitted) && std::holds_alternative<ExplainReply>(r.body);
  replies_.push_back(std::move(r));
}

void EngineImpl::reply_error(CallId call, Reason reason, std::string message, std::string field) {
  reply(call, base::make_error(reason, std::move(message), std::move(field)));
}

void EngineImpl::event(JobEvent e) {
  e.seq = building();
  e.at_ms = now_.wall_ms;
  events_.push_back(std::move(e));
}

bool EngineImpl::batch_full() const {
  return overlay_.open().bytes() >= static_cast<std::size_t>(kBatchBytesMax) ||
         overlay_.open().ops() >= static_cast<std::size_t>(kBatchOpsMax);
}

// Reads end by themselves, so this does too; until then the command queue fills and refuses.
bool EngineImpl::too_much_waits() const {
  return waiting_commands_ >= options_.max_waiting_commands ||
         waiting_bytes_ >= options_.max_waiting_bytes ||
         overlay_.kept_bytes() >= options_.max_kept_bytes;
}

// ---- the end of a turn

Turn EngineImpl::seal(Now now) {
  advance_time(now);
  Turn turn;
  turn.wake_mono_ms = now_.mono_ms + base::kMinuteMs;
  turn.wake_wall_ms = INT64_MAX;

  duty_limit_bytes_ = std::max<std::size_t>(kBatchBytesMax, batch().bytes() + kDutyBytesMin);
  expire_leases();
  if (!draining_) run_duties(&turn);
  match_all(&turn);
  answer_polls();
  write_touched();
  // Refills last: what is offered from here on is remembered by the open window.
  for (const std::uint32_t number : touched_) {
    if (draining_) break;
    if (auto it = queues_.find(number); it != queues_.end()) refill(*it->second);
  }
  touched_.clear();
  if (!draining_) refill_timers();

  const bool changed = !overlay_.open().empty();
  turn.seq = changed ? last_seq_ + 1 : last_seq_;
  turn.batch = overlay_.seal(turn.seq);
  last_seq_ = turn.seq;
  sealed_mono_ms_ = now_.mono_ms;

  turn.replies = std::move(replies_);
  replies_.clear();
  for (Reply& r : immediate_) turn.replies.push_back(std::move(r));
  immediate_.clear();
  for (Reply& r : turn.replies) {
    if (r.seq == 0) r.seq = turn.seq;
  }
  turn.events = std::move(events_);
  events_.clear();
  for (auto& [issue, done] : to_issue_) {
    overlay_.pin(turn.seq);
    reads_.emplace(issue.id, std::pair{turn.seq, std::move(done)});
    turn.reads.push_back(std::move(issue));
  }
  to_issue_.clear();
  plan_wake(&turn);
  return turn;
}

void EngineImpl::run_duties(Turn* turn) {
  fire_timers();
  if (book_.run_due()) turn->more = true;
  run_purges();
  run_retention();
}

// Duties stop when the batch is full; but in each turn there is room for some of them, or commands
// that fill every batch would keep them off for ever.
bool EngineImpl::room_for_duties() const {
  return overlay_.open().bytes() < duty_limit_bytes_ &&
         overlay_.open().ops() < 2 * static_cast<std::size_t>(kBatchOpsMax);
}

void EngineImpl::write_touched() {
  const std::int64_t now = now_.wall_ms;
  for (const auto& [group, keys] : ended_) {
    batch().put(Keyspace::kFinal,
                model::keys::final_index(group.queue, group.state, group.ended_ms, building()),
                model::encode_job_keys(keys));
    plan_retention(*queues_.at(group.queue), group.state, group.ended_ms);
  }
  ended_.clear();
  for (const auto& [expires_ms, ledger_keys] : ledger_expiries_) {
    batch().put(Keyspace::kLedger, model::keys::expiry(expires_ms, building()),
                model::encode_strings(ledger_keys));
    next_ledger_sweep_ms_ = std::min(next_ledger_sweep_ms_, expires_ms);
  }
  ledger_expiries_.clear();
  if (!spent_now_.empty()) {
    model::RequestRecord spent;
    spent.created_ms = now;
    spent.seq = building();
    spent.answer = model::encode_strings(spent_now_);
    spent_now_.clear();
    remembered_.push_back(model::keys::spent_requests(now, building()));
    batch().put(Keyspace::kRequest, remembered_.back(), model::encode(spent));
  }
  if (!remembered_.empty()) {
    const std::int64_t expires = now + options_.request_retention_ms;
    batch().put(Keyspace::kRequest, model::keys::expiry(expires, building()),
                model::encode_strings(remembered_));
    next_request_sweep_ms_ = std::min(next_request_sweep_ms_, expires);
    remembered_.clear();
  }
  book_.write_touched();
  for (const std::uint32_t number : touched_) {
    auto it = queues_.find(number);
    if (it == queues_.end() || !it->second->counters_touched) continue;
    QueueState& q = *it->second;
    q.counters_touched = false;
    advance_heads(q);
    batch().put(Keyspace::kQueueState, model::keys::queue_counters(number),
                model::encode(q.counters));
  }
  if (firing_.empty() && !timers_.covers_none() && !timers_.refill_open()) {
    // No timer row lies before the first known one: the next start scans from here.
    const std::int64_t first = !timers_.empty()       ? timers_.front_key().due_ms
                               : timers_.covers_all() ? now
                                                      : timers_.limit().due_ms;
    meta_.timers_swept_ms = std::min({first, now, held_deadlines_from_ms_});
  }
  if (!overlay_.open().empty() || meta_touched_) {
    meta_touched_ = false;
    if (!deletions_held()) meta_.deletions_held_ms = 0;
    meta_.now_ms = now;
    batch().put(Keyspace::kMeta, model::keys::engine_meta(), model::encode(meta_));
  }
}

void EngineImpl::plan_wake(Turn* turn) {
  const auto mono = [&](std::int64_t at) { turn->wake_mono_ms = std::min(turn->wake_mono_ms, at); };
  const auto wall = [&](std::int64_t at) { turn->wake_wall_ms = std::min(turn->wake_wall_ms, at); };
  if (!to_match_.empty()) turn->more = true;
  if (!lease_deadlines_.empty()) mono(lease_deadlines_.begin()->first);
  if (!poll_ends_.empty()) mono(poll_ends_.begin()->first);
  // A poll that may wait beyond its end only does so while a refill is open, which wakes us.
  if (turn->wake_mono_ms <= now_.mono_ms) turn->wake_mono_ms = now_.mono_ms + 1;
  if (draining_) return;  // nothing else is begun any more
  // The next timer, or how far timers are known at all: forgetting the second half is how delayed
  // jobs get stuck for ever.
  if (!timers_.empty()) {
    wall(timers_.front_key().due_ms);
  } else if (!timers_.covers_all() && !timers_.refill_open() &&
             !planted(Mistake::kNoWakeForEmptyTimers)) {
    wall(timers_.covers_none() ? now_.wall_ms : timers_.limit().due_ms);
  }
  wall(book_.next_due_ms());
  if (hold_schedulers_until_mono_ms_ > now_.mono_ms) mono(hold_schedulers_until_mono_ms_);
  const std::int64_t retention_ms = next_retention_ms();
  if (retention_ms <= now_.wall_ms) turn->more = true;
  wall(retention_ms);
  if (deletions_held()) mono(hold_deletions_until_mono_ms_);
  if (purging_.size() < std::min(open_operations_.size(), options_.max_operation_reads)) {
    turn->more = true;
  }
}

EngineStats EngineImpl::stats() const {
  EngineStats s;
  s.queues = queues_.size();
  s.schedulers = book_.size();
  s.scheduler_entries = book_.entries();
  s.live_leases = leases_.size();
  s.parked_polls = polls_.size();
  s.parked_commands = parked_tasks_;
  for (const auto& [number, q] : queues_) {
    s.window_rows += q->window.size();
    s.window_bytes += q->window.bytes();
  }
  s.timer_rows = timers_.size();
  s.kept_batches = overlay_.kept();
  s.now_ms = now_.wall_ms;
  s.behind_ms = std::max<std::int64_t>(0, now_.wall_ms - wall_seen_ms_);
  s.schedulers_held = now_.mono_ms < hold_schedulers_until_mono_ms_;
  s.ticks_held = ticks_held_;
  s.open_operations = open_operations_.size();
  s.sweeps = sweeps_;
  s.deletions_held = deletions_held();
  return s;
}

// ---- the public face

Engine::Engine(EngineOptions options, const TimeZoneSource& zones)
    : impl_(std::make_unique<EngineImpl>(options, zones)) {}
Engine::~Engine() = default;

// Runs `work` unless a damaged row has been met before, or meets one now.
template <class Work>
void Engine::guard(const Work& work) {
  if (!damage_.empty()) return;
  try {
    work();
  } catch (const DamagedRow& row) {
    damage_ = row.text;
  }
}

base::Result<bool> Engine::load(const ShardStore& store, Now now) {
  base::Result<bool> loaded = false;
  guard([&] { loaded = impl_->load(store, now); });
  if (!damage_.empty()) return base::make_error(Reason::kStoreFailed, damage_);
  return loaded;
}
void Engine::apply(Command command, Now now) {
  guard([&] { impl_->apply(std::move(command), now); });
}
void Engine::apply(ReadDone read, Now now) {
  guard([&] { impl_->apply(std::move(read), now); });
}
void Engine::drop_call(CallId call) {
  guard([&] { impl_->drop_call(call); });
}
void Engine::committed(CommitSeq seq, Now now) {
  guard([&] { impl_->committed(seq, now); });
}
void Engine::stalled(std::int64_t gap_ms, Stall what) { impl_->stalled(gap_ms, what); }
void Engine::hold_ticks(bool hold) { impl_->hold_ticks(hold); }
void Engine::drain() { impl_->drain(); }
std::vector<Reply> Engine::take_immediate() {
  // What was decided before the damage was met saw nothing of it.
  return impl_->take_immediate();
}
bool Engine::full() const { return impl_->full(); }
Turn Engine::seal(Now now) {
  Turn turn;
  guard([&] { turn = impl_->seal(now); });
  if (!damage_.empty()) {
    turn = Turn{};
    turn.damage = damage_;
  }
  return turn;
}
EngineStats Engine::stats() const { return impl_->stats(); }
std::vector<std::string> Engine::check(const ShardStore& store) const {
  return impl_->check(store);
}

}  // namespace rota::core
