// SPDX-License-Identifier: Apache-2.0
//
// Random commands against tiny windows and pages, with reads that come late and out of order,
// commits that are slow, clocks that step, and crashes at any point. The same seed does the same.
// The harness judges every turn (order of grants, limits, tokens, attempts) and compares memory
// with the store; what is left is judged here: nothing lost, nothing twice, nobody left waiting.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "support/engine_harness.h"

namespace rota::testing {

class RandomRun {
 public:
  explicit RandomRun(std::uint64_t seed, EngineWatcher* watcher = nullptr)
      : rng_(seed), h_(options()) {
    h_.set_checks(true);
    h_.watch(watcher);
    for (const char* name : {"q0", "q1", "q2"}) set_queue(name);
    h_.settle();
    collect();
  }

  // Some more of it; stops at the first failure.
  void go_on(int actions) {
    for (int i = 0; i < actions && !::testing::Test::HasFailure(); ++i) {
      act();
      collect();
    }
  }

  // All of it: afterwards nothing waits, and what is left has been judged.
  void run(int actions) {
    go_on(actions);
    if (!::testing::Test::HasFailure()) finish_all();
  }

  EngineHarness& harness() { return h_; }

 private:
  static constexpr std::int64_t kMinute = 60'000;

  // ---- dice
  std::uint64_t dice(std::uint64_t n) {
    return std::uniform_int_distribution<std::uint64_t>(0, n - 1)(rng_);
  }
  bool chance(unsigned percent) { return dice(100) < percent; }
  template <class C>
  auto& any(C& c) {
    return c[dice(c.size())];
  }
  std::string any_queue() { return "q" + std::to_string(dice(20) == 0 ? 2 : dice(2)); }
  std::string any_session() { return "s" + std::to_string(dice(3)); }

  core::EngineOptions options() {
    core::EngineOptions o;
    o.window_rows = static_cast<std::uint32_t>(1 + dice(8));
    o.timer_window_rows = static_cast<std::uint32_t>(1 + dice(8));
    o.page_rows = static_cast<std::uint32_t>(1 + dice(8));
    o.max_grants_per_turn = static_cast<std::uint32_t>(1 + dice(8));
    o.max_timers_per_turn = static_cast<std::uint32_t>(1 + dice(8));
    o.max_expiries_per_turn = static_cast<std::uint32_t>(1 + dice(8));
    o.max_ticks_per_scheduler = static_cast<std::uint32_t>(1 + dice(4));
    o.max_scheduler_runs = 3 + dice(8);
    if (chance(30)) o.window_bytes = 1 + dice(8'000);
    o.request_retention_ms = kRequestsKeptMs;
    return o;
  }

  static constexpr std::int64_t kRequestsKeptMs = 20 * kMinute;
  struct Call {
    core::CommandBody body;
    std::string tag;
    std::int64_t first_ms = 0;  // when it was sent first
  };
  void send(core::CommandBody body, std::string tag = {}, std::int64_t first_ms = 0) {
    const core::CallId call = h_.send(body);
    open_[call] = Call{std::move(body), std::move(tag), first_ms != 0 ? first_ms : time_ms()};
  }
  std::int64_t time_ms() { return h_.engine().stats().now_ms; }
  // A repeat is the same call only as long as request ids are kept; after that nobody may send it.
  void repeat_one() {
    Call call = std::move(again_.back());
    again_.pop_back();
    if (time_ms() - call.first_ms >= kRequestsKeptMs - 3 * kMinute) return;
    send(std::move(call.body), std::move(call.tag), call.first_ms);
  }

  // ---- one action
  void act() {
    const std::uint64_t kind = dice(100);
    if (kind < 45) return command();
    if (kind < 62) return static_cast<void>(h_.seal());
    if (kind < 78) return static_cast<void>(h_.step_store());
    if (kind < 90) {
      if (h_.reads_ready() > 0) h_.deliver_read(dice(h_.reads_ready()));
      return;
    }
    if (kind < 96) return h_.move_clocks(static_cast<std::int64_t>(dice(1'500)));
    if (kind == 96) return h_.move_clocks(static_cast<std::int64_t>(dice(2 * kMinute)));
    if (kind == 97 && chance(20))
      return h_.step_wall(static_cast<std::int64_t>(dice(20 * kMinute)) - 8 * kMinute);
    if (kind == 98) return settle();
    if (kind == 99 && chance(50)) crash();
  }

  void settle() {
    h_.settle();
    collect();
    nobody_waits_for_nothing();
  }

  void crash() {
    for (auto& [call, c] : open_) {
      if (const auto* enqueue = std::get_if<core::EnqueueJobs>(&c.body)) {
        if (!enqueue->request.id.empty()) again_.push_back(std::move(c));
      } else if (std::holds_alternative<core::FinishJobs>(c.body)) {
        again_.push_back(std::move(c));
      }
    }
    open_.clear();
    h_.crash(chance(50));
    h_.settle();
  }

  // A parked call, an open gate and a READY job never stay together.
  void nobody_waits_for_nothing() {
    for (const auto& [call, c] : open_) {
      const auto* lease = std::get_if<core::LeaseJobs>(&c.body);
      if (lease == nullptr) continue;
      for (const std::string& name : lease->queues) {
        const model::Queue* queue = h_.shadow().find_queue(name);
        if (queue == nullptr || queue->paused) continue;
        const auto& limit = queue->settings.concurrency_limit;
        if (limit && h_.shadow().live(queue->number) >= *limit) continue;
        EXPECT_TRUE(h_.shadow().ready(queue->number).empty())
            << name << " has a READY job and the parked call " << call << "; parked "
            << h_.engine().stats().parked_polls << ", window " << h_.engine().stats().window_rows
            << ", first READY " << h_.shadow().ready(queue->number).begin()->seq;
      }
    }
  }

  // ---- commands
  void command() {
    if (!again_.empty() && chance(30)) {
      return repeat_one();
    }
    switch (dice(26)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
      case 5:
        return enqueue_some();
      case 6:
      case 7:
      case 8:
      case 9:
      case 10:
        return lease_some();
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
        return finish_some();
      case 16:
        return beat();
      case 17:
        return update();
      case 18:
        return cancel();
      case 19:
        return redrive();
      case 20:
        return remove();
      case 21:
        return set_queue(any_queue());
      case 22:
        return pause_or_resume();
      case 23:
        return scheduler_command();
      case 24:
        return rare();
      default:
        return drop_or_abandon();
    }
  }

  core::JobRequest random_job() {
    core::JobRequest r = job(any_queue(), "k");
    r.priority = static_cast<std::uint8_t>(chance(60) ? 100 : 98 + dice(5));
    r.labels["tag"] = std::to_string(next_tag_++);
    if (chance(20)) r.run_at_ms = h_.wall_ms() + static_cast<std::int64_t>(dice(3'000));
    if (chance(10)) r.start_deadline_ms = h_.wall_ms() + static_cast<std::int64_t>(dice(4'000));
    if (chance(15)) r.attempt_timeout_ms = 1'000 + static_cast<std::int64_t>(dice(8'000));
    if (chance(30)) {
      r.business_key = "key" + std::to_string(dice(6));
      r.payload = std::to_string(dice(8) == 0);
      if (chance(30)) r.on_dead = core::OnDead::kRedrive;
    }
    if (chance(3)) r.payload = std::string(5'000, 'x');
    if (chance(50))
      r.retry =
          retries(1 + static_cast<std::uint32_t>(dice(3)), static_cast<std::int64_t>(dice(2'000)));
    return r;
  }

  void enqueue_some() {
    std::vector<core::JobRequest> jobs;
    const std::uint64_t n = chance(70) ? 1 : 1 + dice(6);
    for (std::uint64_t i = 0; i < n; ++i) jobs.push_back(random_job());
    send(enqueue(std::move(jobs), chance(60) ? "r" + std::to_string(next_request_++) : ""));
  }

  void lease_some() {
    std::vector<std::string> queues{any_queue()};
    if (chance(30)) queues.push_back(any_queue());
    core::LeaseJobs c = poll(queues, chance(50) ? 0 : static_cast<std::int64_t>(dice(8'000)),
                             1 + static_cast<std::uint32_t>(dice(4)), any_session());
    c.lease_ttl_ms = 5'000 + static_cast<std::int64_t>(dice(10'000));
    c.received_mono_ms = h_.now().mono_ms;
    if (chance(50))
      c.request_id = "l" + std::to_string(chance(70) ? next_request_++ : dice(next_request_));
    if (chance(10)) c.max_bytes = 1'500;
    send(c);
  }

  core::WorkerOutcome random_outcome() {
    switch (dice(8)) {
      case 0:
        return failed(chance(80));
      case 1:
        return failed_retry_after(static_cast<std::int64_t>(dice(2'000)));
      case 2:
        return snoozed(static_cast<std::int64_t>(dice(2'000)));
      case 3:
        return released(chance(50) ? "NO_HANDLER" : "");
      default:
        return succeeded("done");
    }
  }

  void finish_some() {
    if (held_.empty()) return;
    core::FinishJobs c;
    c.session_id = "s1";
    const std::uint64_t n = 1 + dice(3);
    for (std::uint64_t i = 0; i < n; ++i) {
      const std::size_t at = dice(held_.size());
      core::LeaseRef lease = held_[at];
      if (chance(5)) lease.token += 1;  // never given, or somebody else's
      c.items.push_back({lease, random_outcome(), {}});
      if (chance(90)) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
      if (held_.empty()) break;
    }
    send(std::move(c));
  }

  void beat() {
    core::Heartbeat c;
    c.session_id = any_session();
    for (const core::LeaseRef& lease : held_) c.leases.push_back(lease);
    send(std::move(c));
  }

  std::optional<core::JobKey> some_job() {
    if (known_.empty()) return std::nullopt;
    const std::size_t from = known_.size() > 40 && chance(80) ? known_.size() - 40 : 0;
    return known_[from + dice(known_.size() - from)];
  }

  void update() {
    const auto key = some_job();
    if (!key) return;
    core::UpdateJob c;
    c.key = *key;
    if (chance(60)) c.priority = static_cast<std::uint8_t>(98 + dice(5));
    if (chance(30))
      c.run_at_ms = chance(30) ? 0 : h_.wall_ms() + static_cast<std::int64_t>(dice(3'000));
    if (chance(20))
      c.start_deadline_ms = chance(30) ? 0 : h_.wall_ms() + static_cast<std::int64_t>(dice(3'000));
    send(c);
  }
  void cancel() {
    if (const auto key = some_job()) send(core::CancelJob{*key, "why not"});
  }
  void redrive() {
    if (const auto key = some_job()) send(core::RedriveJob{*key});
  }
  void remove() {
    if (const auto key = some_job()) send(core::DeleteJob{*key});
  }

  void set_queue(const std::string& name) {
    core::SetQueue c;
    c.queue = name;
    if (chance(50))
      c.patch.concurrency_limit =
          chance(40) ? std::optional<std::uint32_t>()
                     : std::optional<std::uint32_t>(1 + static_cast<std::uint32_t>(dice(5)));
    if (chance(30))
      c.patch.max_waiting =
          chance(50) ? std::optional<std::uint64_t>() : std::optional<std::uint64_t>(5 + dice(40));
    model::Retention retention;
    if (name == "q1") {
      retention.succeeded_ms = retention.cancelled_ms = retention.dead_ms = 10 * kMinute;
      retention.ledger_ms = 10 * kMinute;
      retention.succeeded_count = dice(20);
    } else {
      retention.succeeded_ms = retention.cancelled_ms = retention.dead_ms = model::kForever;
    }
    c.patch.retention = retention;
    c.patch.retry =
        retries(1 + static_cast<std::uint32_t>(dice(4)), static_cast<std::int64_t>(dice(3'000)));
    c.patch.attempt_timeout_ms = chance(50) ? 20'000 : model::kNoTimeout;
    send(c);
  }

  void pause_or_resume() {
    if (chance(40)) return send(core::PauseQueue{any_queue(), "note"});
    send(core::ResumeQueue{any_queue()});
  }

  void scheduler_command() {
    const std::string id = "sched" + std::to_string(dice(2));
    switch (dice(6)) {
      case 0:
        return send(core::PauseScheduler{id, "note"});
      case 1:
        return send(core::ResumeScheduler{id});
      case 2:
        if (chance(40)) send(core::DeleteScheduler{id});
        return;
      default:
        break;
    }
    auto c = scheduler(id, 1'000 * static_cast<std::int64_t>(1 + dice(4)),
                       "q" + std::to_string(dice(2)));
    c.settings.overlap = static_cast<model::Overlap>(1 + dice(3));
    c.settings.catch_up.mode = static_cast<model::CatchUp>(1 + dice(3));
    c.settings.catch_up.max_runs = 5;
    c.revision = static_cast<std::int64_t>(dice(3));
    if (chance(30)) c.settings.job.business_key = "b{{nominal_time}}";
    if (chance(30)) c.settings.job.start_within_ms = 1'000;
    send(c);
  }

  void rare() {
    switch (dice(6)) {
      case 0:
        return send(core::PurgeQueue{any_queue(), {}});
      case 1:
        return send(core::CancelOperation{1 + dice(4)});
      case 2:
        return send(core::GetOperation{1 + dice(4)});
      case 3:
        return send(core::DeleteQueue{"q2"});
      case 4:
        return stall();
      default:
        if (const auto key = some_job()) send(core::ExplainJob{*key, 3});
    }
  }

  void stall() {
    const auto what = dice(2) == 0 ? core::Stall::kLoop : core::Stall::kCommit;
    h_.stalled(static_cast<std::int64_t>(dice(5'000)), what);
  }

  void drop_or_abandon() {
    for (auto& [call, c] : open_) {
      if (!std::holds_alternative<core::LeaseJobs>(c.body)) continue;
      h_.drop_call(call);
      dropped_.insert(call);
      open_.erase(call);
      return;
    }
  }

  // ---- answers
  void collect() {
    for (auto it = open_.begin(); it != open_.end();) {
      auto reply = h_.take(it->first);
      if (!reply) {
        ++it;
        continue;
      }
      const Call call = std::move(it->second);
      it = open_.erase(it);
      answered(call, *reply);
    }
    for (auto it = dropped_.begin(); it != dropped_.end();) {
      auto reply = h_.take(*it);
      if (!reply) {
        ++it;
        continue;
      }
      it = dropped_.erase(it);
      // Granted to a caller that is gone: given back, as the runtime does.
      const auto* lease = std::get_if<core::LeaseReply>(&*reply);
      if (lease == nullptr || lease->jobs.empty()) continue;
      core::AbandonGrant back;
      for (const core::GrantedJob& granted : lease->jobs) back.leases.push_back(ref(granted));
      h_.send(std::move(back));
    }
  }

  void answered(const Call& call, const core::ReplyBody& reply) {
    if (const auto* error = std::get_if<core::Error>(&reply)) {
      EXPECT_NE(error->reason, core::Reason::kInternal) << error->message;
      EXPECT_NE(error->reason, core::Reason::kRequestIdReused) << error->message;
      return;
    }
    if (const auto* done = std::get_if<core::EnqueueReply>(&reply)) {
      const auto& asked = std::get<core::EnqueueJobs>(call.body);
      ASSERT_EQ(done->items.size(), asked.jobs.size());
      for (std::size_t i = 0; i < done->items.size(); ++i) {
        const auto* item = std::get_if<core::EnqueuedJob>(&done->items[i]);
        if (item == nullptr) continue;
        known_.push_back(item->key);
        if (!item->created) continue;
        const std::string tag = asked.jobs[i].labels.at("tag");
        const auto [at, fresh] = acknowledged_.emplace(tag, item->key);
        EXPECT_TRUE(fresh || at->second == item->key) << "tag " << tag << " was created twice";
      }
    } else if (const auto* lease = std::get_if<core::LeaseReply>(&reply)) {
      const auto& asked = std::get<core::LeaseJobs>(call.body);
      EXPECT_LE(lease->jobs.size(),
                std::max<std::size_t>(asked.max_jobs, asked.request_id.empty() ? 1 : 4));
      for (const core::GrantedJob& granted : lease->jobs) {
        known_.push_back(granted.key);
        held_.push_back(ref(granted));
      }
      if (held_.size() > 30)
        held_.erase(held_.begin(), held_.begin() + 10);  // forgotten: they expire
    } else if (const auto* finish = std::get_if<core::FinishReply>(&reply)) {
      const auto& asked = std::get<core::FinishJobs>(call.body);
      ASSERT_EQ(finish->items.size(), asked.items.size());
      for (std::size_t i = 0; i < finish->items.size(); ++i) {
        const auto* item = std::get_if<core::FinishedJob>(&finish->items[i]);
        if (item == nullptr || item->already_ended) continue;
        const auto& lease_ref = asked.items[i].lease;
        EXPECT_TRUE(accepted_.insert({lease_ref.key, lease_ref.token}).second)
            << "two outcomes of one attempt were accepted";
        if (item->recorded == model::AttemptOutcome::kSucceeded) {
          EXPECT_TRUE(succeeded_.insert(lease_ref.key).second) << "a job succeeded twice";
        }
      }
    }
  }

  // ---- the end: everything runs, then every job is where it should be
  void finish_all() {
    while (!again_.empty()) repeat_one();
    for (const char* id : {"sched0", "sched1"}) send(core::DeleteScheduler{id});
    for (const char* name : {"q0", "q1", "q2"}) {
      core::SetQueue c;
      c.queue = name;
      c.patch.concurrency_limit = std::optional<std::uint32_t>();
      send(c);
      send(core::ResumeQueue{name});
    }
    settle();
    const auto left = [&] {
      std::uint64_t n = 0;
      for (const char* name : {"q0", "q1", "q2"}) {
        const auto counters = h_.counters(name);
        n += counters.waiting() + counters.of(core::JobState::kRunning);
      }
      return n;
    };
    for (int round = 0; left() > 0 && round < 2'000 && !::testing::Test::HasFailure(); ++round) {
      core::LeaseJobs c = lease({"q0", "q1", "q2"}, 50, "last");
      c.received_mono_ms = h_.now().mono_ms;
      send(c);
      settle();
      while (!held_.empty()) finish_some();
      settle();
      h_.jump(round % 20 == 19 ? 30'000 : 700);
      collect();
    }
    EXPECT_EQ(left(), 0U) << "jobs that never end";
    judge();
  }

  void judge() {
    std::map<std::string, int> tags;
    std::set<std::pair<std::string, std::int64_t>> ticks;
    std::set<std::string> keys;
    const auto count = [&](const model::Labels& labels, const std::string& scheduler,
                           std::uint64_t generation, const std::vector<std::int64_t>& nominal) {
      if (auto tag = labels.find("tag"); tag != labels.end()) ++tags[tag->second];
      for (const std::int64_t at : nominal) {
        EXPECT_TRUE(ticks.emplace(scheduler + "#" + std::to_string(generation), at).second)
            << "two jobs of one tick";
      }
    };
    std::string detail;
    h_.store().load(
        core::Keyspace::kJob,
        [&](std::string_view, std::string_view row) {
          model::JobBody body;
          if (model::is_pointer(row)) return true;
          EXPECT_TRUE(model::decode(row, &body));
          count(body.labels, body.scheduler_id, body.generation, body.nominal_ms);
          if (!body.business_key.empty()) {
            EXPECT_TRUE(keys.insert(body.key_scope + "/" + body.business_key).second)
                << "two live jobs hold one key";
          }
          return true;
        },
        &detail);
    h_.store().load(
        core::Keyspace::kFinal,
        [&](std::string_view key, std::string_view row) {
          model::FinalRecord record;
          if (key.front() != 'j') return true;
          EXPECT_TRUE(model::decode(row, &record));
          count(record.labels, record.scheduler_id, record.generation, record.nominal_ms);
          return true;
        },
        &detail);
    for (const auto& [tag, n] : tags)
      EXPECT_EQ(n, 1) << "tag " << tag << " exists " << n << " times";

    std::set<core::JobKey> removed;
    for (const core::JobEvent& event : h_.events) {
      if (event.kind == core::JobEvent::Kind::kRemoved) removed.insert(event.key);
    }
    const std::uint32_t q0 = h_.shadow().find_queue("q0")->number;
    for (const auto& [tag, key] : acknowledged_) {
      if (key.queue != q0 || removed.contains(key)) continue;
      const core::JobState state = h_.state(key);
      EXPECT_TRUE(model::is_final(state)) << "tag " << tag << " is lost";
      EXPECT_TRUE(!succeeded_.contains(key) || state == core::JobState::kSucceeded)
          << "an accepted success is " << model::name_of(state);
    }
    EXPECT_GT(h_.shadow().grants(), 0U);
    for (const core::Keyspace keyspace :
         {core::Keyspace::kTimer, core::Keyspace::kBlocked, core::Keyspace::kGrant}) {
      EXPECT_EQ(h_.rows(keyspace), 0U) << "keyspace " << static_cast<int>(keyspace);
    }
    h_.store().load(
        core::Keyspace::kLedger,
        [&](std::string_view key, std::string_view row) {
          model::LedgerEntry entry;
          if (key.front() != 'e') return true;
          EXPECT_TRUE(model::decode(row, &entry));
          if (entry.state == model::LedgerState::kHeld && entry.job.queue == q0) {
            EXPECT_TRUE(h_.shadow().has_body(entry.job)) << "a key held by nobody";
          }
          return true;
        },
        &detail);
    for (const auto& [key, side] : h_.shadow().sides()) {
      if (key.queue != q0) continue;
      EXPECT_EQ(h_.state(key), core::JobState::kDead) << "a side record of an ended job";
    }
  }

  std::mt19937_64 rng_;
  EngineHarness h_;
  std::map<core::CallId, Call> open_;
  std::set<core::CallId> dropped_;
  std::vector<Call> again_;  // unanswered when the server died
  std::vector<core::JobKey> known_;
  std::vector<core::LeaseRef> held_;
  std::map<std::string, core::JobKey> acknowledged_;
  std::set<std::pair<core::JobKey, std::uint64_t>> accepted_;
  std::set<core::JobKey> succeeded_;
  std::uint64_t next_tag_ = 1;
  std::uint64_t next_request_ = 1;
};

}  // namespace rota::testing
