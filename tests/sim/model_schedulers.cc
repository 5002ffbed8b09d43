// SPDX-License-Identifier: Apache-2.0
//
// Schedulers in the model: declarations, and what their ticks became. A tick is a multiple of the
// interval, shifted by the phase; the model counts them one by one.
#include <algorithm>

#include "base/time_format.h"
#include "model/records.h"
#include "sim/model.h"

namespace rota::sim {

namespace keys = model::keys;
using base::Reason;
using core::Declared;
using core::Keyspace;

namespace {

constexpr std::int64_t kLateMs = 10'000;  // a tick no later than this is not a missed one

struct Ticks {
  std::int64_t every_ms;
  std::int64_t phase_ms;

  explicit Ticks(const model::ScheduleSpec& spec)
      : every_ms(spec.cron.empty() ? spec.every_ms : 60'000), phase_ms(spec.phase_ms) {}
  std::int64_t after(std::int64_t ms) const {           // the first one strictly after
    const std::int64_t k = (ms - phase_ms) / every_ms;  // times here are long after the epoch
    return phase_ms + (k + 1) * every_ms;
  }
  std::uint64_t in(std::int64_t after_ms, std::int64_t until_ms) const {
    if (until_ms <= after_ms) return 0;
    return static_cast<std::uint64_t>((until_ms - phase_ms) / every_ms -
                                      (after_ms - phase_ms) / every_ms);
  }
};

std::string with_time(std::string text, std::int64_t nominal_ms) {
  constexpr std::string_view kMark = "{{nominal_time}}";
  if (const auto place = text.find(kMark); place != std::string::npos) {
    text.replace(place, kMark.size(), base::format_time(nominal_ms));
  }
  return text;
}

}  // namespace

Model::Scheduler* Model::declared(const std::string& id) {
  const auto it = schedulers_.find(id);
  return it == schedulers_.end() || !it->second.declared ? nullptr : &it->second;
}

std::int64_t Model::next_tick_ms(const Scheduler& s) const {
  return Ticks(s.settings.spec).after(s.cursor_ms);
}

std::vector<Model::DueTick> Model::due_ticks(std::int64_t by_ms) const {
  std::vector<DueTick> out;
  for (const auto& [id, s] : schedulers_) {
    if (!s.declared || s.paused || next_tick_ms(s) > by_ms) continue;
    out.push_back({id, next_tick_ms(s), s.cursor_ms, s.version});
  }
  return out;
}

std::uint64_t Model::unfinished_of(const std::string& id) const {
  return static_cast<std::uint64_t>(std::count_if(jobs_.begin(), jobs_.end(), [&](const auto& e) {
    return e.second.scheduler == id && e.second.unfinished();
  }));
}

// How many runs of it, `without` one, were unfinished before each event of the turn, and after the
// last: what has no event came at one of these times. A run that was DEAD is unfinished again once
// it is redriven. Those that the turn made are not among them.
std::vector<std::uint64_t> Model::busy_in_turn(const std::string& id, const JobKey& without) const {
  const auto known = step_.runs_before.find(id);
  const std::map<JobKey, bool> none;
  const std::map<JobKey, bool>& runs = known == step_.runs_before.end() ? none : known->second;
  std::set<JobKey> open;
  for (const auto& [key, unfinished] : runs) {
    if (unfinished && key != without) open.insert(key);
  }
  std::vector<std::uint64_t> out{open.size()};
  for (const Event& event : step_.turn->turn.events) {
    if (event.kind == Kind::kFinal || event.kind == Kind::kRemoved) {
      open.erase(event.key);
    } else if (event.kind == Kind::kChanged && event.state == JobState::kReady &&
               event.key != without && runs.contains(event.key)) {
      open.insert(event.key);
    }
    out.push_back(open.size());
  }
  return out;
}

void Model::edited(const std::string& id, const Scheduler& s) {
  step_.edits.insert(id);
  if (s.declared) step_.settings[id].push_back(s.settings);
}

// ---- declarations

void Model::on(const core::UpsertScheduler& c, const core::ReplyBody& r) {
  const auto* answer = std::get_if<core::SchedulerReply>(&r);
  const auto answers = [&](const Request& call) {
    return answer != nullptr && answer->declared == call.declared;
  };
  bool refused = false;
  const Request* before = repeated(5, c.request, r, answers, &refused);
  if (refused || !ok()) return;
  Scheduler* s = declared(c.id);
  const auto refusal = [&](Reason reason) {
    const std::string wrong = differs(r, reason);
    if (!wrong.empty()) fail(28, "the declaration of " + c.id + " was " + wrong);
  };
  if (before != nullptr) {
    if (s == nullptr) return refusal(Reason::kSchedulerNotFound);
    if (!answers(*before)) {
      fail(5, "a repeated declaration of " + c.id + " was answered otherwise");
    }
    return;
  }
  if (c.settings.spec.time_zone != "UTC") return refusal(Reason::kUnknownTimeZone);
  if (queue(c.settings.job.queue) == nullptr) return refusal(Reason::kQueueNotFound);
  if (!c.etag.empty() && (s == nullptr || c.etag != std::to_string(s->version))) {
    return refusal(Reason::kEtagMismatch);
  }
  if (answer == nullptr) return fail(28, "the declaration of " + c.id + " was " + differs(r, {}));
  Declared expected = Declared::kUnchanged;
  if (s == nullptr) {
    expected = Declared::kCreated;
  } else if (c.revision < s->revision) {
    expected = Declared::kOlderRevision;
  } else if (!(s->settings == c.settings)) {
    expected = Declared::kChanged;
  }
  if (answer->declared != expected) {
    return fail(23, "the declaration of " + c.id + " is answered as " +
                        std::to_string(static_cast<int>(answer->declared)) + " instead of " +
                        std::to_string(static_cast<int>(expected)));
  }
  Scheduler& scheduler = schedulers_[c.id];
  if (expected == Declared::kCreated) {
    edited(c.id, scheduler);
    scheduler.declared = true;
    scheduler.paused = false;
    scheduler.note.clear();
    scheduler.version = 1;
    scheduler.generation = answer->scheduler.generation;
    if (scheduler.generation <= max_token_) {
      return fail(10, "the generation of " + c.id + " is not larger than every number before");
    }
    max_token_ = scheduler.generation;
    scheduler.cursor_ms = answer->state.cursor_ms;
    if (scheduler.cursor_ms < step_.lo || scheduler.cursor_ms > step_.hi) {
      return fail(23, c.id + " does not begin with its creation");
    }
  } else if (expected == Declared::kChanged) {
    edited(c.id, scheduler);
    if (!(scheduler.settings.spec == c.settings.spec)) {
      if (answer->state.cursor_ms < scheduler.cursor_ms) {
        return fail(25, "an edit took the cursor of " + c.id + " back");
      }
      scheduler.cursor_ms = answer->state.cursor_ms;
    }
    ++scheduler.version;
  } else if (expected == Declared::kUnchanged && c.revision != scheduler.revision) {
    ++scheduler.version;
  }
  if (expected != Declared::kOlderRevision) {
    scheduler.settings = c.settings;
    scheduler.revision = c.revision;
  }
  if (!(answer->scheduler.settings == scheduler.settings) ||
      answer->scheduler.version != scheduler.version ||
      answer->scheduler.revision != scheduler.revision ||
      answer->scheduler.generation != scheduler.generation ||
      answer->scheduler.paused != scheduler.paused) {
    return fail(23, "the answer about " + c.id + " is not what it is");
  }
  const Ticks ticks(scheduler.settings.spec);
  for (std::size_t i = 0; i < answer->next_ms.size(); ++i) {
    const std::int64_t next = answer->next_ms[i];
    const bool first = i == 0 && next > step_.lo && ticks.in(next - 1, next) == 1;
    if (!first && (i == 0 || next != ticks.after(answer->next_ms[i - 1]))) {
      return fail(24, "the next times of " + c.id + " are wrong");
    }
  }
  Request remembered;
  remembered.declared = expected;
  remember(5, c.request, std::move(remembered));
}

void Model::on(const core::PauseScheduler& c, const core::ReplyBody& r) {
  Scheduler* s = declared(c.id);
  const std::string wrong =
      differs(r, s == nullptr ? std::optional(Reason::kSchedulerNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(24, "the pause of " + c.id + " was " + wrong);
  if (s == nullptr) return;
  if (!s->paused || (!c.note.empty() && s->note != c.note)) ++s->version;
  if (!s->paused) step_.pauses.insert(c.id);
  s->paused = true;
  if (!c.note.empty()) s->note = c.note;
  if (!std::get<core::SchedulerReply>(r).scheduler.paused) fail(24, c.id + " is not paused");
}

void Model::on(const core::ResumeScheduler& c, const core::ReplyBody& r) {
  Scheduler* s = declared(c.id);
  const std::string wrong =
      differs(r, s == nullptr ? std::optional(Reason::kSchedulerNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(24, "the resume of " + c.id + " was " + wrong);
  if (s == nullptr || !s->paused) return;
  edited(c.id, *s);
  s->paused = false;
  s->note.clear();
  ++s->version;
  const std::int64_t cursor = std::get<core::SchedulerReply>(r).state.cursor_ms;
  if (cursor < s->cursor_ms || cursor > std::max(step_.hi, s->cursor_ms) || cursor < step_.lo) {
    return fail(24, "a resume fires what was due while " + c.id + " was paused");
  }
  s->cursor_ms = cursor;
}

void Model::on(const core::DeleteScheduler& c, const core::ReplyBody& r) {
  Scheduler* s = declared(c.id);
  const std::string wrong =
      differs(r, s == nullptr ? std::optional(Reason::kSchedulerNotFound) : std::nullopt);
  if (!wrong.empty()) return fail(24, "the deletion of " + c.id + " was " + wrong);
  if (s == nullptr) return;
  edited(c.id, *s);
  s->declared = false;
}

// ---- ticks

void Model::see_runs() {
  for (auto& [id, s] : schedulers_) {
    if (ok()) see_runs_of(id, s);
  }
  judge_key_skips();
}

// Every tick between the cursor before and the cursor now is covered by exactly one record.
void Model::see_runs_of(const std::string& id, Scheduler& s) {
  const std::string prefix = keys::run_prefix("default", id);
  struct News {
    std::int64_t first_ms;
    model::RunRecord run;
    std::uint64_t count;
    bool fresh;
  };
  std::vector<News> news;
  std::vector<std::string> removed;
  for (const auto& [row_key, value] : step_.turn->turn.batch->changes()) {
    if (row_key.first != Keyspace::kRun || row_key.second.compare(0, prefix.size(), prefix) != 0) {
      continue;
    }
    if (!value) {
      removed.push_back(row_key.second);
      continue;
    }
    model::RunRecord run;
    if (!model::decode(*value, &run)) return fail(2, "a run record is damaged");
    const std::pair key{run.first_nominal_ms, run.generation};
    News one{run.first_nominal_ms, run, run.count, true};
    if (const auto known = s.runs.find(key); known != s.runs.end()) {
      const model::RunRecord& before = known->second;
      if (before.outcome != run.outcome || before.reason != run.reason ||
          run.outcome == model::RunOutcome::kFired || run.count <= before.count) {
        return fail(23, "a run record of " + id + " was rewritten");
      }
      one.first_ms = before.last_nominal_ms + 1;
      one.count = run.count - before.count;
      one.fresh = false;
    }
    s.runs[key] = run;
    news.push_back(std::move(one));
  }
  // The oldest first. By then the new ones of this turn may have been there.
  for (const std::string& row_key : removed) {
    const auto it = std::find_if(s.runs.begin(), s.runs.end(), [&](const auto& known) {
      return keys::run("default", id, known.first.first, known.first.second) == row_key;
    });
    if (it == s.runs.end()) continue;
    const bool old = it->second.last_nominal_ms + base::limits::kRunsKeptMsDefault <= step_.hi;
    if ((!old && s.runs.size() <= context_.profile.max_scheduler_runs) || held()) {
      return fail(24, "a run record of " + id + " was removed before its time");
    }
    s.runs.erase(it);
  }
  std::sort(news.begin(), news.end(), [](const News& a, const News& b) {
    return a.run.last_nominal_ms < b.run.last_nominal_ms;
  });
  const bool was_edited = step_.edits.contains(id);
  if (s.paused && !news.empty() && !was_edited && !step_.pauses.contains(id)) {
    return fail(24, id + " is paused and ticks");
  }
  std::vector<std::uint64_t> busy = busy_in_turn(id);
  std::int64_t from = s.cursor_ms;
  for (News& one : news) {
    const model::RunRecord& run = one.run;
    const Ticks ticks(s.settings.spec);
    const auto all = settings_in_turn(id, s);
    const bool counted = std::any_of(all.begin(), all.end(), [&](const auto* settings) {
      const Ticks t(settings->spec);
      return one.count == t.in(one.first_ms - 1, run.last_nominal_ms) &&
             t.in(run.last_nominal_ms - 1, run.last_nominal_ms) == 1 && !run.count_is_lower_bound;
    });
    if (!counted) return fail(24, "a run record of " + id + " does not count its ticks");
    if (run.last_nominal_ms > step_.hi) return fail(24, id + " ticked before its time");
    const HoldClock::Turn& hold = step_.turn->hold;
    const bool by_command = run.reason == "PAUSED" || run.reason == "SPEC_CHANGED";
    if (hold.ticks && !by_command && run.last_nominal_ms > hold.ticks_after_ms) {
      return fail(24, id + " ticks while schedulers are held back");
    }
    if (!was_edited) {
      if (run.generation != s.generation) return fail(23, id + " ticks in an old generation");
      const std::int64_t next = ticks.after(from);
      const bool joined = one.fresh ? one.first_ms == next : ticks.in(from, one.first_ms - 1) == 0;
      if (!joined) {
        return fail(24, "ticks of " + id + " after " + std::to_string(from) +
                            " are covered by no record, or by two");
      }
      from = run.last_nominal_ms;
    }
    if (run.outcome == model::RunOutcome::kFired) {
      fired(id, s, run, &busy);
    } else {
      skipped(id, s, run, one.first_ms, *std::max_element(busy.begin(), busy.end()) > 0);
    }
    if (!was_edited && ok()) check_catch_up(id, s, run, one.first_ms);
    if (!ok()) return;
  }
  if (const auto* stored = change(Keyspace::kScheduler, keys::scheduler_state("default", id));
      stored != nullptr && *stored) {
    model::SchedulerState state;
    if (!model::decode(**stored, &state)) return fail(2, "the state of a scheduler is damaged");
    const Ticks ticks(s.settings.spec);
    if (!was_edited && s.declared && ticks.in(from, state.cursor_ms) != 0) {
      return fail(24, "the cursor of " + id + " passed a tick that has no record");
    }
    if (state.cursor_ms < s.cursor_ms) return fail(25, "the cursor of " + id + " went back");
    s.cursor_ms = state.cursor_ms;
  }
}

// Those that a run may have been made by: where a command changed them in this turn, the ones
// before, or after.
std::vector<const model::SchedulerSettings*> Model::settings_in_turn(const std::string& id,
                                                                     const Scheduler& s) const {
  std::vector<const model::SchedulerSettings*> all{&s.settings};
  if (const auto before = step_.settings.find(id); before != step_.settings.end()) {
    for (const model::SchedulerSettings& one : before->second) all.push_back(&one);
  }
  return all;
}

// The settings in which a run's job is made like this; when several are, those whose overlap policy
// allows it.
const model::SchedulerSettings* Model::settings_of_run(
    const std::string& id, const Scheduler& s, const JobKey& key,
    const std::function<std::string(const model::SchedulerSettings&)>& broken) {
  model::JobBody body;
  const std::string* stored = row(Keyspace::kJob, keys::job(key));
  const bool known = stored != nullptr && model::decode(*stored, &body);
  const model::SchedulerSettings* found = nullptr;
  for (const model::SchedulerSettings* one : settings_in_turn(id, s)) {
    const model::JobTemplate& t = one->job;
    const Queue* q = queue(t.queue);
    const bool made_by = q != nullptr && key.queue == q->number && key.priority == t.priority &&
                         (!known || (body.kind == t.kind && body.content_type == t.content_type &&
                                     body.attempt_timeout_ms == t.attempt_timeout_ms &&
                                     body.business_key.empty() == t.business_key.empty()));
    if (made_by && (found == nullptr || !broken(*found).empty())) found = one;
  }
  return found;
}

// `busy`: as busy_in_turn(), with the runs that earlier ticks of the turn have made.
void Model::fired(const std::string& id, Scheduler& s, const model::RunRecord& run,
                  std::vector<std::uint64_t>* busy) {
  if (!s.fired.insert({run.generation, run.first_nominal_ms}).second) {
    return fail(23, id + " fired twice for " + std::to_string(run.first_nominal_ms));
  }
  const JobKey& key = run.job;
  bool waits = false;
  if (const std::string* stored = row(Keyspace::kSide, keys::job(key))) {
    model::Side side;
    if (!model::decode(*stored, &side)) return fail(2, "a side record is damaged");
    waits = side.claim == model::Claim::kBlocked;
  }
  const auto [least, most] = std::minmax_element(busy->begin(), busy->end());
  const std::uint64_t busy_lo = *least;
  const std::uint64_t busy_hi = *most;
  const auto overlap_broken = [&](const model::SchedulerSettings& settings) -> std::string {
    if (settings.overlap == model::Overlap::kSkip && busy_lo > 0) {
      return "fired while " + std::to_string(busy_lo) + " runs of it are unfinished";
    }
    const bool wait_one = settings.overlap == model::Overlap::kWaitOne;
    if (wait_one && busy_lo > 0 && !waits) return "does not wait";
    return waits && !(wait_one && busy_hi > 0) ? "waits for nobody" : "";
  };
  const model::SchedulerSettings* settings = settings_of_run(id, s, key, overlap_broken);
  if (settings == nullptr || jobs_.contains(key) || gone_.contains(key) || run.count != 1) {
    return fail(23, "a run of " + id + " has no fresh job");
  }
  if (const std::string broken = overlap_broken(*settings); !broken.empty()) {
    return fail(26, at(key) + ", a run of " + id + ", " + broken);
  }
  const model::JobTemplate& t = settings->job;
  Queue* q = queue(t.queue);
  Job job;
  job.key = key;
  job.priority = t.priority;
  job.kind = t.kind;
  job.content_type = t.content_type;
  job.attempt_timeout = t.attempt_timeout_ms;
  job.retry = t.retry;
  job.deadline_ms = t.start_within_ms == 0 ? 0 : run.first_nominal_ms + t.start_within_ms;
  job.scheduler = id;
  job.generation = run.generation;
  job.nominal_ms = run.first_nominal_ms;
  job.waiting_seq = step_.turn->turn.seq;
  job.state = waits ? JobState::kBlocked : JobState::kReady;
  if (waits && std::any_of(jobs_.begin(), jobs_.end(), [&](const auto& entry) {
        return entry.second.scheduler == id && entry.second.state == JobState::kBlocked &&
               !ends_later(entry.first);
      })) {
    return fail(26, "a second run of " + id + " waits");
  }
  if (!t.business_key.empty()) {
    job.key_scope = t.key_scope.empty() ? t.queue : t.key_scope;
    job.business_key = with_time(t.business_key, run.first_nominal_ms);
    if (const std::string* stored =
            row(Keyspace::kLedger, keys::ledger("default", job.key_scope, job.business_key))) {
      model::LedgerEntry entry;
      if (!model::decode(*stored, &entry)) return fail(2, "a ledger entry is damaged");
      job.payload_hash = entry.payload_hash;
    }
    const auto holder = ledger_.find({job.key_scope, job.business_key});
    if (holder != ledger_.end() && (holder->second.done ? holder->second.expires_ms > step_.hi
                                                        : jobs_.contains(holder->second.job) &&
                                                              !ends_later(holder->second.job))) {
      return fail(5, at(key) + " takes the business key of " + at(holder->second.job));
    }
    ledger_[{job.key_scope, job.business_key}] =
        Entry{false, key, job.kind, job.content_type, job.payload_hash, "", 0};
  }
  step_.taken.insert(q->name);
  ++q->created;
  q->next_seq = std::max(q->next_seq, key.seq + 1);
  // Whatever ticks after it sees it, until it ends.
  const std::size_t end = end_of(key, 0);
  for (std::size_t i = 0; i < busy->size() && i <= end; ++i) ++(*busy)[i];
  step_.touched.insert(key);
  jobs_.emplace(key, std::move(job));
}

void Model::skipped(const std::string& id, const Scheduler& s, const model::RunRecord& run,
                    std::int64_t first_ms, bool ever_busy) {
  if (run.reason == "BUSINESS_KEY_EXISTS") {  // judged when all ticks of the turn are known
    for (std::int64_t at = first_ms; at <= run.last_nominal_ms;
         at = Ticks(s.settings.spec).after(at)) {
      Step::KeySkip skip{id, {}, run.job};
      for (const model::SchedulerSettings* settings : settings_in_turn(id, s)) {
        const model::JobTemplate& t = settings->job;
        if (t.business_key.empty()) continue;
        skip.names.emplace_back(t.key_scope.empty() ? t.queue : t.key_scope,
                                with_time(t.business_key, at));
      }
      step_.key_skips.push_back(std::move(skip));
    }
    return;
  }
  const auto allowed = [&](const model::SchedulerSettings& settings) {
    if (run.reason == "PREVIOUS_RUN_UNFINISHED") {
      return settings.overlap == model::Overlap::kSkip && ever_busy;
    }
    if (run.reason == "WAITING_RUN_EXISTS") {
      // The waiting run itself is unfinished, and may be the only one until it is let go.
      return settings.overlap == model::Overlap::kWaitOne && ever_busy;
    }
    const Queue* q = queue(settings.job.queue);
    return run.reason == "QUEUE_FULL" && q != nullptr &&
           some_settings(*q,
                         [](const model::QueueSettings& of) { return of.max_waiting.has_value(); });
  };
  if (run.outcome == model::RunOutcome::kMissed) return;  // check_catch_up()
  std::set<std::string> queues;
  for (const model::SchedulerSettings* settings : settings_in_turn(id, s)) {
    if (allowed(*settings)) queues.insert(settings->job.queue);
  }
  if (run.reason == "QUEUE_FULL" && !queues.empty()) step_.full.insert(queues);
  if (!queues.empty()) return;
  fail(run.reason.ends_with("KEY_EXISTS") ? 5 : 26,
       "a tick of " + id + " did not run for the reason " + run.reason + ", which is not so");
}

// At some time of the turn somebody had the key, and it is the one that is told.
bool Model::key_is_taken(const std::pair<std::string, std::string>& name,
                         const JobKey& holder) const {
  if (step_.keys_lost.contains({name, holder})) return true;
  const auto it = ledger_.find(name);
  if (it == ledger_.end() || it->second.job != holder) return false;
  const Entry& entry = it->second;
  if (!entry.done) return jobs_.contains(holder);
  return entry.expires_ms > step_.lo || step_.turn->hold.deletions_once;
}

void Model::judge_key_skips() {
  for (const Step::KeySkip& skip : step_.key_skips) {
    const bool taken = std::any_of(skip.names.begin(), skip.names.end(), [&](const auto& name) {
      return key_is_taken(name, skip.holder);
    });
    if (ok() && !taken) {
      fail(5, "a tick of " + skip.scheduler + " did not run because " + at(skip.holder) +
                  " has its business key, which is not so");
    }
  }
}

// Late ticks against the policy. A plan that had to read keys was made a while ago.
void Model::check_catch_up(const std::string& id, const Scheduler& s, const model::RunRecord& run,
                           std::int64_t first_ms) {
  const model::CatchUpPolicy& policy = s.settings.catch_up;
  const Ticks ticks(s.settings.spec);
  const bool planned_now = s.settings.job.business_key.empty();
  const std::int64_t hi = step_.hi;
  const auto wrong = [&](const char* why) {
    fail(24, "a tick of " + id + " at " + std::to_string(first_ms) + ", " +
                 std::to_string(hi - first_ms) + " ms ago: " + why);
  };
  if (run.outcome != model::RunOutcome::kMissed) {
    const bool late = run.reason == "CATCH_UP";
    if (late && first_ms >= hi - kLateMs) return wrong("it is not late");
    if (!late && run.reason.empty() && planned_now && first_ms < step_.lo - kLateMs) {
      return wrong("it is late and was fired as if it were not");
    }
    if (!late) return;
    if (policy.mode == model::CatchUp::kNone) return wrong("the policy fires no late tick");
    if (!planned_now) return;
    if (first_ms < step_.lo - policy.window_ms) return wrong("it lies outside the window");
    if (policy.mode == model::CatchUp::kLatest && ticks.after(first_ms) < step_.lo - kLateMs) {
      return wrong("a later one is late too");
    }
    if (policy.mode == model::CatchUp::kAll &&
        ticks.in(first_ms - 1, step_.lo - kLateMs - 1) > policy.max_runs) {
      return wrong("more than the policy's cap are late");
    }
    return;
  }
  if (run.reason == "PAUSED" || run.reason == "SPEC_CHANGED") {
    return wrong("nothing was changed in this turn");
  }
  if (run.last_nominal_ms >= hi - kLateMs) return wrong("it is not late and was missed");
  if (run.reason == "CATCH_UP_NONE") {
    if (policy.mode != model::CatchUp::kNone) wrong("the policy is another");
  } else if (run.reason == "OUTSIDE_WINDOW") {
    if (run.last_nominal_ms >= hi - policy.window_ms) wrong("it lies in the window");
  } else if (run.reason == "SUPERSEDED_BY_LATER") {
    if (policy.mode != model::CatchUp::kLatest ||
        ticks.after(run.last_nominal_ms) >= hi - kLateMs) {
      wrong("no later one is late");
    }
  } else if (run.reason == "OVER_CAP") {
    if (policy.mode != model::CatchUp::kAll ||
        ticks.in(run.last_nominal_ms, hi - kLateMs - 1) < policy.max_runs) {
      wrong("it is under the cap");
    }
  } else {
    wrong("the reason is unknown");
  }
}

}  // namespace rota::sim
