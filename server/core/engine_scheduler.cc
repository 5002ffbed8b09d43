// SPDX-License-Identifier: Apache-2.0
//
// Declarations of schedulers: upsert, pause, resume, delete, and reading them back at start.
#include <algorithm>

#include "base/limits.h"
#include "base/mutation.h"
#include "core/damage.h"
#include "core/engine_impl.h"
#include "core/request_answers.h"
#include "core/schedule/template.h"
#include "model/bytes.h"

namespace rota::core {

namespace keys = model::keys;

namespace {
constexpr std::int64_t kFirstSweepEveryMs = 100;
}  // namespace

SchedulerBook::SchedulerBook(EngineImpl& engine, const TimeZoneSource& zones)
    : engine_(engine), zones_(zones) {}

SchedulerBook::Entry* SchedulerBook::find(const Name& name) {
  auto it = entries_.find(name);
  return it == entries_.end() || !it->second.declared ? nullptr : &it->second;
}

bool SchedulerBook::recall(const std::string& name_space, const std::string& id,
                           Lookup& look) const {
  const std::string* row = nullptr;
  return entries_.contains({name_space, id}) ||
         look.get(Keyspace::kScheduler, keys::scheduler_state(name_space, id), &row);
}

// What the rows tell of it, or as if it had never been.
SchedulerBook::Entry& SchedulerBook::enter(const Name& name, Lookup& look) {
  const auto [it, fresh] = entries_.try_emplace(name);
  Entry& entry = it->second;
  if (!fresh) return entry;
  entry.scheduler.name_space = name.first;
  entry.scheduler.id = name.second;
  const std::string key = keys::scheduler_state(name.first, name.second);
  const std::string* row = nullptr;
  look.get(Keyspace::kScheduler, key, &row);
  if (row == nullptr) return entry;
  if (!model::decode(*row, &entry.state)) damaged_row(Keyspace::kScheduler, key);
  if (entry.state.runs > 0) {  // how old they are is not known
    entry.sweep_due = true;
    runs_plan_.plan(name, engine_.now_.wall_ms);
  }
  return entry;
}

bool SchedulerBook::may_rest(const Entry& entry) {
  return !entry.declared && entry.state.unfinished == 0 && !entry.busy && !entry.sweep_due;
}

void SchedulerBook::rest(std::map<Name, Entry>::iterator at) {
  runs_plan_.forget(at->first);
  entries_.erase(at);
  next_walk_ms_ = std::min(next_walk_ms_, engine_.now_.wall_ms + walk_every_ms());
}

Error SchedulerBook::not_found(const std::string& id) const {
  Error e = base::make_error(Reason::kSchedulerNotFound, "no scheduler \"" + id + "\"", "id");
  e.meta["schedulerId"] = id;
  return e;
}

SchedulerReply SchedulerBook::answer(const Entry& entry, std::uint32_t next_count) const {
  SchedulerReply r;
  r.scheduler = entry.scheduler;
  r.state = entry.state;
  if (entry.schedule && next_count > 0 && !entry.scheduler.paused) {
    r.next_ms = entry.schedule->next_times(engine_.now_.wall_ms, static_cast<int>(next_count));
  }
  return r;
}

void SchedulerBook::put_scheduler(const Entry& entry) {
  engine_.batch().put(Keyspace::kScheduler,
                      keys::scheduler(entry.scheduler.name_space, entry.scheduler.id),
                      model::encode(entry.scheduler));
}

void SchedulerBook::touch(Entry& entry) {
  entry.touched = true;
  touched_.insert({entry.scheduler.name_space, entry.scheduler.id});
}

void SchedulerBook::write_touched() {
  for (const Name& name : touched_) {
    auto it = entries_.find(name);
    if (it == entries_.end()) continue;
    Entry& entry = it->second;
    entry.touched = false;
    std::string key = keys::scheduler_state(name.first, name.second);
    if (may_rest(entry) && entry.state.runs == 0) {
      engine_.batch().del(Keyspace::kScheduler, std::move(key));
      runs_plan_.forget(name);
      entries_.erase(it);
    } else {
      engine_.batch().put(Keyspace::kScheduler, std::move(key), model::encode(entry.state));
      if (may_rest(entry)) rest(it);
    }
  }
  touched_.clear();
}

void SchedulerBook::unplan(Entry& entry) {
  if (entry.due) due_.erase(*entry.due);
  entry.due.reset();
}

void SchedulerBook::plan_next(const Name& name, Entry& entry) {
  unplan(entry);
  if (!entry.declared || entry.scheduler.paused || !entry.schedule || entry.busy) return;
  const bool from_clock = planted(base::Mistake::kTickFromClock);
  const auto next_ms =
      entry.schedule->next_after(from_clock ? engine_.now_.wall_ms : entry.state.cursor_ms);
  if (!next_ms) return;
  entry.due = Due{std::max(*next_ms, engine_.now_.wall_ms), round_, name};
  due_.insert(*entry.due);
}

// ---- upsert

base::Result<Schedule> SchedulerBook::validate(const UpsertScheduler& c, const Command& cmd) const {
  auto schedule = Schedule::compile(c.settings.spec, zones_);
  if (!schedule) return schedule.error();
  if (auto ok = check_catch_up(c.settings.catch_up); !ok) return ok.error();
  if (auto ok = check_key_template(c.settings.job.business_key, "job.business_key"); !ok) {
    return ok.error();
  }
  if (engine_.find_queue(cmd.name_space, c.settings.job.queue) == nullptr) {
    Error e = engine_.queue_not_found(c.settings.job.queue);
    e.field = "job.queue";
    return e;
  }
  return schedule;
}

namespace {

std::vector<std::string> changed_fields(const model::SchedulerSettings& a,
                                        const model::SchedulerSettings& b) {
  std::vector<std::string> out;
  const auto add = [&](bool same, const char* name) {
    if (!same) out.emplace_back(name);
  };
  add(a.spec.cron == b.spec.cron, "cron");
  add(a.spec.every_ms == b.spec.every_ms && a.spec.phase_ms == b.spec.phase_ms, "every");
  add(a.spec.time_zone == b.spec.time_zone, "time_zone");
  add(a.spec.start_ms == b.spec.start_ms, "start_time");
  add(a.spec.end_ms == b.spec.end_ms, "end_time");
  add(a.spec.business_day_offset == b.spec.business_day_offset, "business_day_offset");
  add(a.overlap == b.overlap, "overlap");
  add(a.catch_up == b.catch_up, "catch_up");
  add(a.job == b.job, "job");
  add(a.owner == b.owner, "owner");
  return out;
}

}  // namespace

bool SchedulerBook::upsert(const UpsertScheduler& c, const Command& cmd, Lookup& look) {
  std::string request;
  const std::string* row = nullptr;
  if (!c.request.id.empty()) {
    request = engine_.request_key(cmd, static_cast<std::uint8_t>(RequestMethod::kUpsertScheduler),
                                  c.request);
    look.get(Keyspace::kRequest, request, &row);
  }
  recall(cmd.name_space, c.id, look);
  if (!look.complete()) return false;
  const Name name{cmd.name_space, c.id};
  Entry* entry = find(name);
  if (row != nullptr) {
    auto record = repeated_request(request, *row, c.request);
    if (!record) return engine_.reply(cmd.call, record.error()), true;
    if (entry == nullptr) return engine_.reply(cmd.call, not_found(c.id)), true;
    DeclaredAnswer before;
    if (!decode_answer(record->answer, &before)) damaged_row(Keyspace::kRequest, request);
    SchedulerReply r = answer(*entry, c.next_count);
    r.declared = before.declared;
    r.changed = before.changed;
    return engine_.reply(cmd.call, std::move(r), record->seq), true;
  }
  auto schedule = validate(c, cmd);
  if (!schedule) return engine_.reply(cmd.call, schedule.error()), true;
  if (!c.etag.empty() && (entry == nullptr || c.etag != std::to_string(entry->scheduler.version))) {
    engine_.reply_error(cmd.call, Reason::kEtagMismatch,
                        entry == nullptr
                            ? "the scheduler does not exist"
                            : "the scheduler has been changed meanwhile; read it again",
                        "etag");
    return true;
  }
  if (entry == nullptr && declared_ >= engine_.options_.max_schedulers) {
    engine_.reply_error(cmd.call, Reason::kTooManySchedulers,
                        "the limit is " + std::to_string(engine_.options_.max_schedulers) +
                            " schedulers (server option limits.schedulers)",
                        "id");
    return true;
  }
  SchedulerReply r;
  if (entry != nullptr && c.revision < entry->scheduler.revision) {
    r = answer(*entry, c.next_count);
    r.declared = Declared::kOlderRevision;
  } else {
    declare(c, cmd, std::move(*schedule), look, &r);
  }
  if (!request.empty()) {
    DeclaredAnswer remembered{r.declared, r.changed};
    engine_.remember_request(request, c.request, encode_answer(remembered));
  }
  engine_.reply(cmd.call, std::move(r));
  return true;
}

void SchedulerBook::declare(const UpsertScheduler& c, const Command& cmd, Schedule schedule,
                            Lookup& look, SchedulerReply* r) {
  const Name name{cmd.name_space, c.id};
  const std::int64_t now = engine_.now_.wall_ms;
  Entry& entry = enter(name, look);
  model::Scheduler& s = entry.scheduler;
  Declared declared = Declared::kUnchanged;
  std::vector<std::string> changed;
  if (!entry.declared) {
    declared = Declared::kCreated;
    s = model::Scheduler{};
    s.name_space = cmd.name_space;
    s.id = c.id;
    s.generation = engine_.meta_.next_token++;
    s.created_ms = now;
    s.updated_ms = now;
    entry.declared = true;
    ++declared_;
    entry.open_run.reset();
    entry.state.cursor_ms = now;  // the first tick comes strictly after creation
  } else {
    changed = changed_fields(s.settings, c.settings);
    if (!changed.empty()) declared = Declared::kChanged;
  }
  if (declared == Declared::kChanged) {
    // An edit fires nothing by itself: ticks of the new specification begin now.
    if (!(s.settings.spec == c.settings.spec)) {
      // What the old one still owed is not forgotten without a trace.
      if (entry.schedule) {
        const auto owed = missed_range(*entry.schedule, entry.state.cursor_ms, now,
                                       s.paused ? MissReason::kPaused : MissReason::kSpecChanged);
        if (owed) record_missed(entry, *owed);
      }
      entry.state.cursor_ms = std::max(entry.state.cursor_ms, now);
      entry.open_run.reset();
    }
    s.updated_ms = now;
    ++s.version;
  } else if (declared == Declared::kUnchanged && c.revision != s.revision) {
    ++s.version;  // or an etag would let somebody who has not seen the revision put an older back
  }
  if (declared != Declared::kUnchanged || c.revision != s.revision) {
    s.revision = c.revision;
    s.settings = c.settings;
    put_scheduler(entry);
    touch(entry);
    entry.schedule = std::move(schedule);
    plan_next(name, entry);
  }
  *r = answer(entry, c.next_count);
  r->declared = declared;
  r->changed = std::move(changed);
}

// ---- pause, resume, delete

bool SchedulerBook::pause(const PauseScheduler& c, const Command& cmd, Lookup&) {
  const Name name{cmd.name_space, c.id};
  Entry* entry = find(name);
  if (entry == nullptr) return engine_.reply(cmd.call, not_found(c.id)), true;
  model::Scheduler& s = entry->scheduler;
  const bool new_note = !c.note.empty() && s.pause_note != c.note;
  const bool changed = !s.paused || new_note;
  if (changed) {
    if (!s.paused) s.paused_ms = engine_.now_.wall_ms;
    s.paused = true;
    if (new_note) s.pause_note = c.note;
    s.paused_by = cmd.principal;
    s.updated_ms = engine_.now_.wall_ms;
    ++s.version;
    put_scheduler(*entry);
    unplan(*entry);
  }
  SchedulerReply r = answer(*entry, 0);
  r.declared = changed ? Declared::kChanged : Declared::kUnchanged;
  engine_.reply(cmd.call, std::move(r));
  return true;
}

bool SchedulerBook::resume(const ResumeScheduler& c, const Command& cmd, Lookup&) {
  const Name name{cmd.name_space, c.id};
  Entry* entry = find(name);
  if (entry == nullptr) return engine_.reply(cmd.call, not_found(c.id)), true;
  model::Scheduler& s = entry->scheduler;
  const bool changed = s.paused;
  if (changed) {
    const std::int64_t now = engine_.now_.wall_ms;
    if (entry->schedule) {
      const auto missed =
          missed_range(*entry->schedule, entry->state.cursor_ms, now, MissReason::kPaused);
      if (missed) record_missed(*entry, *missed);
    }
    entry->state.cursor_ms = std::max(entry->state.cursor_ms, now);
    s.paused = false;
    s.pause_note.clear();
    s.paused_by.clear();
    s.paused_ms = 0;
    s.updated_ms = now;
    ++s.version;
    put_scheduler(*entry);
    touch(*entry);
    plan_next(name, *entry);
  }
  SchedulerReply r = answer(*entry, 3);
  r.declared = changed ? Declared::kChanged : Declared::kUnchanged;
  engine_.reply(cmd.call, std::move(r));
  return true;
}

bool SchedulerBook::remove(const DeleteScheduler& c, const Command& cmd, Lookup&) {
  const Name name{cmd.name_space, c.id};
  Entry* entry = find(name);
  if (entry == nullptr) return engine_.reply(cmd.call, not_found(c.id)), true;
  SchedulerReply r = answer(*entry, 0);
  r.declared = Declared::kChanged;
  // What it still owed is not forgotten without a trace.
  if (entry->schedule) {
    const model::Scheduler& s = entry->scheduler;
    const auto owed = missed_range(*entry->schedule, entry->state.cursor_ms, engine_.now_.wall_ms,
                                   s.paused ? MissReason::kPaused : MissReason::kSpecChanged);
    if (owed) record_missed(*entry, *owed);
  }
  unplan(*entry);
  entry->declared = false;
  --declared_;
  // What stays until its jobs have ended is small, however large its template was.
  entry->scheduler = {};
  entry->scheduler.name_space = name.first;
  entry->scheduler.id = name.second;
  entry->schedule.reset();
  entry->open_run.reset();
  engine_.batch().del(Keyspace::kScheduler, keys::scheduler(name.first, name.second));
  touch(*entry);  // its jobs are left alone, and so is the count of them
  engine_.reply(cmd.call, std::move(r));
  return true;
}

std::string SchedulerBook::scheduler_of_queue(const std::string& name_space,
                                              const std::string& queue) const {
  for (auto it = entries_.lower_bound({name_space, ""});
       it != entries_.end() && it->first.first == name_space; ++it) {
    if (it->second.declared && it->second.scheduler.settings.job.queue == queue) {
      return it->first.second;
    }
  }
  return {};
}

// ---- start

std::optional<SchedulerBook::Name> SchedulerBook::parse_state_key(std::string_view key) {
  if (key.empty()) return std::nullopt;
  model::Reader reader(key.substr(1));
  Name name;
  name.first = reader.str();
  name.second = reader.str();
  return reader.at_end() ? std::optional(std::move(name)) : std::nullopt;
}

bool SchedulerBook::load(std::string_view key, std::string_view value) {
  if (key.empty()) return false;
  if (key.front() == 's') {
    model::Scheduler scheduler;
    if (!model::decode(value, &scheduler)) return false;
    Entry& entry = entries_[{scheduler.name_space, scheduler.id}];
    entry.scheduler = std::move(scheduler);
    entry.declared = true;
    ++declared_;
    return true;
  }
  const auto name = parse_state_key(key);
  model::SchedulerState state;
  if (!name || !model::decode(value, &state)) return false;
  const bool declared = entries_.contains(*name);  // its own row came before all states
  if (!declared && state.unfinished == 0) {
    next_walk_ms_ = 0;
    return true;
  }
  Entry& entry = entries_[*name];
  entry.state = state;
  entry.scheduler.name_space = name->first;
  entry.scheduler.id = name->second;
  return true;
}

void SchedulerBook::start() {
  // How old their records are is not known here: each is looked at once, one after the other, so
  // that many schedulers do not all read at the start.
  std::int64_t look_ms = engine_.now_.wall_ms;
  for (auto& [name, entry] : entries_) {
    if (entry.state.runs > engine_.options_.max_scheduler_runs) {
      runs_plan_.plan(name, engine_.now_.wall_ms);
      entry.sweep_due = true;
    } else if (entry.state.runs > 0) {
      runs_plan_.plan(name, look_ms += kFirstSweepEveryMs);
    }
    if (entry.declared) {
      // A specification that no longer compiles (a zone that left the data) must not stop the
      // others: it is shown without next times.
      if (auto schedule = Schedule::compile(entry.scheduler.settings.spec, zones_)) {
        entry.schedule = std::move(*schedule);
      }
      plan_next(name, entry);
    }
    if (entry.state.waiting.valid() && entry.state.unfinished <= 1) unblock(name);
  }
}

}  // namespace rota::core
