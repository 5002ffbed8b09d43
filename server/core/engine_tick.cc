// SPDX-License-Identifier: Apache-2.0
//
// What a due tick becomes: a job, or a run record that says why not. Cursor, record and job are in
// one batch.
#include <algorithm>
#include <memory>

#include "base/hash.h"
#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/schedule/template.h"
#include "model/blocker.h"

namespace rota::core {

namespace keys = model::keys;
using base::Mistake;

namespace {

constexpr std::uint32_t kRunRowsPerSweep = 256;
constexpr std::uint32_t kRestingPerWalk = 64;        // held in memory for it
constexpr std::size_t kTickBytesPerTurn = 1U << 20;  // of one scheduler

}  // namespace

std::int64_t SchedulerBook::next_due_ms() const {
  if (due_.empty() || held()) return INT64_MAX;
  return due_.begin()->at_ms;
}

bool SchedulerBook::held() const {
  return engine_.ticks_held_ || engine_.now_.mono_ms < engine_.hold_schedulers_until_mono_ms_;
}

bool SchedulerBook::run_due() {
  if (held()) return false;
  ++round_;
  std::uint32_t left = engine_.options_.max_ticks_per_turn;
  while (!due_.empty() && due_.begin()->at_ms <= engine_.now_.wall_ms) {
    // One that has had its turn in this batch stands behind all that have not.
    if (left == 0 || due_.begin()->round == round_ || !engine_.room_for_duties()) return true;
    const Name name = due_.begin()->name;
    Entry& entry = entries_.at(name);
    unplan(entry);
    left -= std::min(left, std::max(1U, process(name, entry)));
  }
  return false;
}

std::uint32_t SchedulerBook::process(const Name& name, Entry& entry) {
  auto planned = std::make_shared<Planned>();
  TickPlanInput input;
  input.cursor_ms = entry.state.cursor_ms;
  input.now_ms = engine_.now_.wall_ms;
  input.late_tolerance_ms = engine_.options_.late_tolerance_ms;
  const model::SchedulerSettings& settings = entry.scheduler.settings;
  // As many as their payloads leave room for in a batch; at least one.
  const std::size_t tick_bytes = settings.job.payload.size() + 1024;
  input.batch_cap = static_cast<int>(std::clamp<std::size_t>(
      kTickBytesPerTurn / tick_bytes, 1, engine_.options_.max_ticks_per_scheduler));
  planned->plan = plan_ticks(*entry.schedule, settings.catch_up, input);
  planned->generation = entry.scheduler.generation;
  planned->version = entry.scheduler.version;
  if (planted(Mistake::kCursorOutsideBatch)) {
    entry.state.cursor_ms = planned->plan.cursor_ms;
    touch(entry);
  }
  planned->cursor_ms = entry.state.cursor_ms;
  const model::JobTemplate& job = settings.job;
  for (const TickAction& action : planned->plan.actions) {
    const auto* fire = std::get_if<FireTick>(&action);
    if (fire == nullptr || job.business_key.empty()) {
      planned->ledger_keys.emplace_back();
      continue;
    }
    planned->ledger_keys.push_back(keys::ledger(
        name.first, job.key_scope.empty() ? job.queue : job.key_scope,
        render_template(job.business_key, entry.schedule->template_values(fire->nominal_ms))));
  }
  entry.busy = true;
  engine_.start_task(
      [this, name, planned](Lookup& look) { return apply_plan(name, *planned, look); });
  return static_cast<std::uint32_t>(planned->plan.actions.size());
}

bool SchedulerBook::apply_plan(const Name& name, const Planned& planned, Lookup& look) {
  std::vector<std::optional<model::LedgerEntry>> holders(planned.ledger_keys.size());
  for (std::size_t i = 0; i < planned.ledger_keys.size(); ++i) {
    if (planned.ledger_keys[i].empty()) continue;
    const std::string* row = nullptr;
    if (!look.get(Keyspace::kLedger, planned.ledger_keys[i], &row) || row == nullptr) continue;
    model::LedgerEntry holder;
    if (!model::decode(*row, &holder)) damaged_row(Keyspace::kLedger, planned.ledger_keys[i]);
    const bool expired = holder.state == model::LedgerState::kDone &&
                         holder.expires_ms <= engine_.now_.wall_ms && !engine_.deletions_held();
    if (expired) continue;
    // As for an enqueue: an entry whose job is gone with its queue holds nothing.
    bool missing = false;
    const bool held = engine_.existing_for_key(holder, look, &missing).has_value();
    if (held) holders[i] = std::move(holder);
  }
  if (!look.complete()) return false;

  auto it = entries_.find(name);
  if (it == entries_.end()) return true;
  Entry& entry = it->second;
  entry.busy = false;
  // Changed while the rows were read: what is due now is planned anew.
  const bool same = entry.declared && !entry.scheduler.paused &&
                    entry.scheduler.generation == planned.generation &&
                    entry.scheduler.version == planned.version &&
                    entry.state.cursor_ms == planned.cursor_ms;
  if (same) {
    std::set<std::string> created;
    for (std::size_t i = 0; i < planned.plan.actions.size(); ++i) {
      if (const auto* tick = std::get_if<FireTick>(&planned.plan.actions[i])) {
        fire(entry, *tick, holders[i] ? &*holders[i] : nullptr, &created, planned.ledger_keys[i]);
      } else {
        record_missed(entry, std::get<MissedRange>(planned.plan.actions[i]));
      }
    }
    entry.state.cursor_ms = planned.plan.cursor_ms;
    touch(entry);
  }
  plan_next(name, entry);
  if (!entry.declared) touch(entry);  // it was deleted meanwhile, and may rest now
  return true;
}

void SchedulerBook::fire(Entry& entry, const FireTick& tick, const model::LedgerEntry* holder,
                         std::set<std::string>* created, const std::string& ledger_key) {
  const model::Scheduler& s = entry.scheduler;
  const model::JobTemplate& t = s.settings.job;
  model::RunRecord run;
  run.generation = s.generation;
  run.first_nominal_ms = run.last_nominal_ms = tick.nominal_ms;
  run.business_date = entry.schedule->business_date(tick.nominal_ms);
  run.outcome = model::RunOutcome::kSkipped;

  QueueState* q = engine_.find_queue(s.name_space, t.queue);
  const bool busy = entry.state.unfinished > 0;
  bool blocked = false;
  if (q == nullptr) {
    run.reason = "QUEUE_NOT_FOUND";
  } else if (busy && s.settings.overlap == model::Overlap::kSkip) {
    run.reason = "PREVIOUS_RUN_UNFINISHED";
    run.job = entry.state.last_job;
  } else if (busy && s.settings.overlap == model::Overlap::kWaitOne &&
             entry.state.waiting.valid()) {
    run.reason = "WAITING_RUN_EXISTS";
    run.job = entry.state.waiting;
  } else if (!ledger_key.empty() && (holder != nullptr || created->contains(ledger_key))) {
    run.reason = "BUSINESS_KEY_EXISTS";
    if (holder != nullptr) run.job = holder->job;
  } else if (q->queue.settings.max_waiting &&
             q->counters.waiting() >= *q->queue.settings.max_waiting) {
    run.reason = "QUEUE_FULL";
  } else {
    run.outcome = model::RunOutcome::kFired;
    if (tick.late) run.reason = "CATCH_UP";
    blocked = busy && s.settings.overlap == model::Overlap::kWaitOne;
  }
  if (run.outcome != model::RunOutcome::kFired) return record(entry, std::move(run));

  const TemplateValues values = entry.schedule->template_values(tick.nominal_ms);
  EngineImpl::NewJob job;
  job.priority = t.priority;
  if (blocked && !planted(Mistake::kWaitOneReady)) {
    job.blocker = model::scheduler_blocker(s.name_space, s.id);
  }
  job.body.kind = t.kind;
  job.body.content_type = t.content_type;
  job.body.payload = render_template(t.payload, values);
  job.body.labels = t.labels;
  job.body.attempt_timeout_ms = t.attempt_timeout_ms;
  job.body.retry = t.retry;
  if (t.start_within_ms != 0) job.body.start_deadline_ms = tick.nominal_ms + t.start_within_ms;
  if (!t.business_key.empty()) {
    job.body.key_scope = t.key_scope.empty() ? t.queue : t.key_scope;
    job.body.business_key = render_template(t.business_key, values);
    job.payload_hash = std::string(base::as_bytes(base::hash_parts({job.body.payload})));
    created->insert(ledger_key);
  }
  job.body.scheduler_id = s.id;
  job.body.generation = s.generation;
  job.body.nominal_ms = {tick.nominal_ms};
  job.body.business_date = run.business_date;
  job.body.principal = "scheduler";
  run.job = engine_.insert_job(*q, std::move(job));
  ++entry.state.unfinished;
  entry.state.last_job = run.job;
  entry.state.last_nominal_ms = tick.nominal_ms;
  if (blocked) entry.state.waiting = run.job;
  record(entry, std::move(run));
}

// Neighbouring ticks that did not run for one reason share a record.
void SchedulerBook::record(Entry& entry, model::RunRecord run) {
  run.processed_ms = engine_.now_.wall_ms;
  run.seq = engine_.building();
  run.principal = "scheduler";
  std::optional<model::RunRecord>& open = entry.open_run;
  const bool ran = run.outcome == model::RunOutcome::kFired;
  if (!ran && open && open->outcome == run.outcome && open->reason == run.reason &&
      open->generation == run.generation && open->job == run.job) {
    open->last_nominal_ms = run.last_nominal_ms;
    open->count += run.count;
    open->count_is_lower_bound = open->count_is_lower_bound || run.count_is_lower_bound;
    open->processed_ms = run.processed_ms;
    open->seq = run.seq;
    run = *open;
  } else {
    ++entry.state.runs;
    plan_sweep(entry, run.last_nominal_ms);
    if (ran) {
      open.reset();
    } else {
      open = run;
    }
  }
  engine_.batch().put(Keyspace::kRun,
                      keys::run(entry.scheduler.name_space, entry.scheduler.id,
                                run.first_nominal_ms, run.generation),
                      model::encode(run));
  touch(entry);
}

void SchedulerBook::record_missed(Entry& entry, const MissedRange& range) {
  model::RunRecord run;
  run.generation = entry.scheduler.generation;
  run.first_nominal_ms = range.first_ms;
  run.last_nominal_ms = range.last_ms;
  run.count = range.count.count;
  run.count_is_lower_bound = range.count.is_lower_bound;
  run.outcome = model::RunOutcome::kMissed;
  run.reason = std::string(name_of(range.reason));
  run.business_date = entry.schedule->business_date(range.first_ms);
  record(entry, std::move(run));
}

// ---- the unfinished jobs of a scheduler

void SchedulerBook::job_ended(const std::string& name_space, const std::string& id,
                              const JobKey& key) {
  auto it = entries_.find({name_space, id});
  if (it == entries_.end()) return;
  Entry& entry = it->second;
  if (entry.state.unfinished > 0) --entry.state.unfinished;
  if (entry.state.waiting == key) entry.state.waiting = {};
  touch(entry);
  if (entry.state.waiting.valid() && entry.state.unfinished == 1) unblock(it->first);
}

void SchedulerBook::job_reopened(const std::string& name_space, const std::string& id,
                                 const JobKey& key, Lookup& look) {
  Entry& entry = enter({name_space, id}, look);
  ++entry.state.unfinished;
  entry.state.last_job = key;
  touch(entry);
}

// WAIT_ONE: the job that waited for the others is the only one left.
void SchedulerBook::unblock(const Name& name) {
  engine_.start_task([this, name](Lookup& look) {
    auto it = entries_.find(name);
    if (it == entries_.end() || !it->second.state.waiting.valid()) return true;
    Entry& entry = it->second;
    const JobKey key = entry.state.waiting;
    JobView view;
    if (!engine_.view_job(key, look, &view)) return false;
    if (entry.state.unfinished > 1) return true;  // a redriven run came in between
    entry.state.waiting = {};
    touch(entry);
    if (view.state != JobState::kBlocked) return true;
    JobRef job = engine_.take_job(key, view);
    engine_.out_of_waiting(job, JobState::kBlocked);
    engine_.to_ready(std::move(job), JobState::kBlocked);
    return true;
  });
}

// ---- retention of run records

// `oldest_ms`: a nominal time that the oldest record is not older than.
void SchedulerBook::plan_sweep(Entry& entry, std::int64_t oldest_ms) {
  const bool over = entry.state.runs > engine_.options_.max_scheduler_runs;
  if (over) entry.sweep_due = true;
  runs_plan_.plan({entry.scheduler.name_space, entry.scheduler.id},
                  over ? engine_.now_.wall_ms : oldest_ms + engine_.options_.run_retention_ms);
}

bool SchedulerBook::sweep_runs() {
  Name name;
  if (!runs_plan_.take_due(engine_.now_.wall_ms, &name)) return walk();
  const auto it = entries_.find(name);
  if (it == entries_.end()) return true;
  if (it->second.state.runs == 0) return swept(it), true;
  ScanSpec scan;
  scan.keyspace = Keyspace::kRun;
  scan.begin = keys::run_begin(name.first, name.second, it->second.state.runs_swept_ms);
  scan.end = keys::run_end(name.first, name.second);
  scan.max_rows = kRunRowsPerSweep;
  ReadSpec spec;
  spec.scans.push_back(std::move(scan));
  engine_.retention_busy_ = true;
  ++engine_.sweeps_;
  engine_.issue_read(std::move(spec), [this, name](ReadResult& result, CommitSeq) {
    engine_.retention_busy_ = false;
    sweep_runs_page(name, result.pages[0]);
  });
  return true;
}

void SchedulerBook::sweep_runs_page(const Name& name, const ScanPage& page) {
  auto found = entries_.find(name);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (engine_.deletions_held()) {  // the clock has jumped since the page was asked for
    return runs_plan_.plan(name, engine_.now_.wall_ms);
  }
  const std::int64_t age_limit = engine_.now_.wall_ms - engine_.options_.run_retention_ms;
  for (const auto& [key, value] : page.rows) {
    model::RunRecord run;
    if (!model::decode(value, &run)) damaged_row(Keyspace::kRun, key);
    const bool open = entry.open_run && entry.open_run->first_nominal_ms == run.first_nominal_ms &&
                      entry.open_run->generation == run.generation;
    if (open) run = *entry.open_run;  // it may have gone on since the page was asked for
    const bool over = entry.state.runs > engine_.options_.max_scheduler_runs;
    if (!over && run.last_nominal_ms > age_limit) {
      plan_sweep(entry, run.last_nominal_ms);  // the rest is younger
      return swept(found);
    }
    engine_.batch().del(Keyspace::kRun, key);
    if (open) entry.open_run.reset();  // the next tick begins a record of its own
    if (entry.state.runs > 0) --entry.state.runs;
    entry.state.runs_swept_ms = run.first_nominal_ms;
    touch(entry);
  }
  if (!page.more) return swept(found);
  if (page.rows.empty()) {
    // Deleted rows only: the next page goes on behind them.
    const auto seen = keys::time_after(page.next, keys::run_prefix(name.first, name.second));
    if (seen) entry.state.runs_swept_ms = std::max(entry.state.runs_swept_ms, *seen);
    touch(entry);
  }
  runs_plan_.plan(name, engine_.now_.wall_ms);
}

// For now there is nothing more to remove.
void SchedulerBook::swept(std::map<Name, Entry>::iterator at) {
  at->second.sweep_due = false;
  if (at->second.touched) return;  // what it becomes is decided when it is written
  if (may_rest(at->second)) rest(at);
}

// ---- schedulers that rest

// Run records are kept for days at least, whatever their age is now.
std::int64_t SchedulerBook::walk_every_ms() const {
  return std::min(base::kDayMs, engine_.options_.run_retention_ms);
}

// Some at a time are taken into memory, for a look at their run records; the next ones when these
// have gone back to rest.
bool SchedulerBook::walk() {
  if (next_walk_ms_ > engine_.now_.wall_ms) return false;
  ScanSpec scan;
  scan.keyspace = Keyspace::kScheduler;
  const std::string states = keys::scheduler_state({}, {}).substr(0, 1);
  scan.begin = walk_from_.empty() ? states : walk_from_;
  scan.end = keys::after_prefix(states);
  scan.max_rows = kRestingPerWalk;
  ReadSpec spec;
  spec.scans.push_back(std::move(scan));
  engine_.retention_busy_ = true;
  ++engine_.sweeps_;
  engine_.issue_read(std::move(spec),
                     [this](ReadResult& result, CommitSeq) { walk_page(result.pages[0]); });
  return true;
}

// The page says who rests; what is kept of them may have changed since it was asked for.
void SchedulerBook::walk_page(const ScanPage& page) {
  auto names = std::make_shared<std::vector<Name>>();
  for (const auto& [key, value] : page.rows) {
    const auto name = parse_state_key(key);
    if (!name) damaged_row(Keyspace::kScheduler, key);
    if (!entries_.contains(*name)) names->push_back(*name);
  }
  walk_found_ = walk_found_ || !names->empty();
  walk_from_ = page.more ? page.next : std::string();
  next_walk_ms_ = page.more     ? engine_.now_.wall_ms
                  : walk_found_ ? engine_.now_.wall_ms + walk_every_ms()
                                : INT64_MAX;
  if (!page.more) walk_found_ = false;
  engine_.start_task([this, names](Lookup& look) {
    for (const Name& name : *names) recall(name.first, name.second, look);
    if (!look.complete()) return false;
    for (const Name& name : *names) {
      const auto at = entries_.find(name);
      if (at != entries_.end()) continue;  // declared or redriven meanwhile
      if (enter(name, look).state.runs == 0) entries_.erase(name);
    }
    engine_.retention_busy_ = false;
    return true;
  });
}

}  // namespace rota::core
