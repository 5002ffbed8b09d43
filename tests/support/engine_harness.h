// SPDX-License-Identifier: Apache-2.0
//
// Drives core::Engine over a store, on one thread and with a clock that only the test moves.
//
// Synchronous use: call() gives a command, runs turns until the engine is at rest, and returns the
// reply. settle() does the same without a command, advance() moves the clocks from one moment at
// which the engine wants to act to the next. After each settle the engine's memory is compared with
// the store, and a shadow that knows only the committed batches is asked whether the rules held:
// every grant the least READY key, limits kept, tokens growing, attempts without gaps.
//
// Step by step, for tests of interleavings: send(), seal(), step_store(), deliver_read(), crash().
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "conformance/held_executor.h"
#include "core/command_log.h"
#include "core/engine.h"
#include "model/keys.h"
#include "store/memory_store.h"
#include "support/shadow.h"

namespace rota::testing {

// The only zone is UTC.
class NoZones final : public core::TimeZoneSource {
 public:
  core::TimeZonePtr find(std::string_view) const override { return nullptr; }
};

// 2026-11-29T12:00:00Z, where the harness's wall clock begins.
inline constexpr std::int64_t kHarnessStartMs = 1'795'953'600'000;

// Sees what enters the engines of a harness and what leaves them, in order.
class EngineWatcher {
 public:
  virtual ~EngineWatcher() = default;
  // An engine was loaded from the store: the first, and another after each crash.
  virtual void opened(const core::ShardStore& store, core::Now now) = 0;
  virtual void entered(core::EngineInput what) = 0;
  // An answer taken before its turn was sealed.
  virtual void taken(const core::Reply& reply) = 0;
  virtual void sealed(const core::Turn& turn) = 0;
};

class EngineHarness {
 public:
  using Opener = std::function<std::unique_ptr<core::ShardStore>(core::Executor&)>;
  // Without an opener: a store in memory.
  explicit EngineHarness(core::EngineOptions options = {}, Opener opener = {});
  ~EngineHarness();
  EngineHarness(const EngineHarness&) = delete;
  EngineHarness& operator=(const EngineHarness&) = delete;

  core::Engine& engine() { return *engine_; }
  core::ShardStore& store() { return *store_; }
  store::MemoryDisk& disk() { return *disk_; }
  Shadow& shadow() { return shadow_; }
  const core::EngineOptions& options() const { return options_; }
  // From now on; nothing may have entered the engine before. It must outlive the harness.
  void watch(EngineWatcher* watcher);
  // Comparing memory with the store reads everything; tests with many rows switch it off.
  void set_checks(bool on) { checks_ = on; }

  // ---- the clocks
  core::Now now() const { return now_; }
  std::int64_t wall_ms() const { return now_.wall_ms; }
  // Moves both clocks, stopping wherever the engine wants to act.
  void advance(std::int64_t ms);
  // Moves both clocks at once, as if the process had been slow, then settles.
  void jump(std::int64_t ms);
  // Only the wall clock, either way; does not settle.
  void step_wall(std::int64_t ms) { now_.wall_ms += ms; }
  void move_clocks(std::int64_t ms) {
    now_.wall_ms += ms;
    now_.mono_ms += ms;
  }

  // ---- synchronous
  core::ReplyBody call(core::CommandBody body);
  // The reply must be of this type.
  template <class Reply>
  Reply expect(core::CommandBody body);
  core::Error refusal(core::CommandBody body) { return expect<core::Error>(std::move(body)); }
  // Runs turns, commits and reads until nothing is left to do at this moment.
  void settle();
  // The reply of a call that was sent or parked; nothing when it has none yet.
  std::optional<core::ReplyBody> take(core::CallId call);
  template <class Reply>
  Reply take_as(core::CallId call);

  // ---- step by step
  // A lease call without a time of receipt is received now.
  core::CallId send(core::CommandBody body);
  bool commit_in_flight() const { return in_flight_; }
  // Seals a turn and submits it; false when a commit is in flight.
  bool seal();
  // Runs one piece of the store's work; false when there is none.
  bool step_store() { return executor_.run_one(); }
  std::size_t reads_ready() const { return reads_.size(); }
  void deliver_read(std::size_t index);
  std::size_t reads_open() const { return reads_open_; }
  bool more() const { return more_; }
  void drop_call(core::CallId call);
  void stalled(std::int64_t gap_ms, core::Stall what = core::Stall::kLoop);
  void hold_ticks(bool hold);
  void drain();

  // The process dies and another starts on what the disk has. A batch that was submitted and not
  // committed is kept or not. The monotonic clock goes on.
  void crash(bool keep_pending = false);

  // ---- shortcuts; each fails the test when it is refused
  core::QueueReply queue(const std::string& name, core::QueuePatch patch = {});
  core::EnqueuedJob enqueue(core::JobRequest job, const std::string& request_id = {});
  core::Error enqueue_refused(core::JobRequest job, const std::string& request_id = {});
  core::LeaseReply lease(core::LeaseJobs request);
  // One job of the queue, which must have one.
  core::GrantedJob take_job(const std::string& queue, const std::string& session = "s1");
  bool nothing_to_lease(const std::string& queue);
  core::FinishedJob finish(const core::GrantedJob& job, core::WorkerOutcome outcome);
  core::Error finish_refused(const core::GrantedJob& job, core::WorkerOutcome outcome);
  core::HeartbeatReply::Item beat(const core::GrantedJob& job, const std::string& session = "s1");

  // ---- what is on the disk
  std::optional<std::string> row(core::Keyspace keyspace, const std::string& key) const;
  // kUnknown: nothing is kept of it.
  core::JobState state(const core::JobKey& key);
  std::optional<model::Side> side(const core::JobKey& key) const;
  std::optional<model::FinalRecord> final_record(const core::JobKey& key) const;
  std::vector<model::Attempt> history(const core::JobKey& key) const;
  model::QueueCounters counters(const std::string& queue);
  std::vector<model::RunRecord> runs(const std::string& scheduler) const;
  std::size_t rows(core::Keyspace keyspace) const;

  // The largest batch so far.
  std::size_t largest_batch_bytes = 0;
  std::size_t largest_batch_ops = 0;

  // The commit that the last answer named.
  core::CommitSeq named = 0;

  // Events of committed turns, in order.
  std::vector<core::JobEvent> events;

 private:
  void open();
  template <class Input>
  void tell(const Input& what) {
    if (watcher_ != nullptr) watcher_->entered(what);
  }
  void complete(core::CommitSeq seq, core::Outcome outcome);
  void release(core::Turn& turn);
  void check();

  core::EngineOptions options_;
  std::shared_ptr<store::MemoryDisk> disk_;
  Opener opener_;
  NoZones zones_;
  HeldExecutor executor_;
  std::unique_ptr<core::ShardStore> store_;
  std::unique_ptr<core::Engine> engine_;
  Shadow shadow_;
  EngineWatcher* watcher_ = nullptr;
  bool checks_ = true;
  core::Now now_{kHarnessStartMs, 1'000'000};
  core::CallId next_call_ = 1;

  bool in_flight_ = false;
  std::deque<core::Turn> held_;  // submitted and not durable; replies wait in them
  std::vector<core::ReadDone> reads_;
  std::size_t reads_open_ = 0;
  std::uint64_t life_ = 0;  // completions of an earlier life are dropped
  bool more_ = false;
  std::int64_t wake_mono_ms_ = 0;
  std::int64_t wake_wall_ms_ = 0;
  std::map<core::CallId, core::ReplyBody> replies_;
};

// ---- builders

core::JobRequest job(std::string queue = "q", std::string kind = "work");
core::EnqueueJobs enqueue(core::JobRequest job, std::string request_id = {});
core::EnqueueJobs enqueue(std::vector<core::JobRequest> jobs, std::string request_id = {});
core::LeaseJobs lease(std::vector<std::string> queues, std::uint32_t max_jobs = 1,
                      std::string session = "s1");
core::LeaseJobs poll(std::vector<std::string> queues, std::int64_t wait_ms = 20'000,
                     std::uint32_t max_jobs = 1, std::string session = "s1");
core::LeaseRef ref(const core::GrantedJob& job);
core::FinishJobs finish(const core::GrantedJob& job, core::WorkerOutcome outcome);
core::WorkerOutcome succeeded(std::string result = {});
core::WorkerOutcome failed(bool retryable = true, std::string message = "boom");
core::WorkerOutcome failed_retry_after(std::int64_t ms);
core::WorkerOutcome snoozed(std::optional<std::int64_t> after_ms = {});
core::WorkerOutcome released(std::string reason = {});
core::UpsertScheduler scheduler(std::string id, std::int64_t every_ms, std::string queue = "q");

// A patch with one field.
core::QueuePatch with_limit(std::optional<std::uint32_t> limit);
core::QueuePatch with_retry(model::RetryPolicy retry);
core::QueuePatch with_retention(model::Retention retention);
// So many attempts, with a fixed delay and no jitter.
model::RetryPolicy retries(std::uint32_t max_attempts, std::int64_t delay_ms = 1'000);

std::string describe(const core::ReplyBody& body);

// ---- templates

template <class Reply>
Reply EngineHarness::expect(core::CommandBody body) {
  return take_as<Reply>([&] {
    const core::CallId call = send(std::move(body));
    settle();
    return call;
  }());
}

void fail_reply(const std::optional<core::ReplyBody>& body);

template <class Reply>
Reply EngineHarness::take_as(core::CallId call) {
  std::optional<core::ReplyBody> body = take(call);
  if (body) {
    if (Reply* reply = std::get_if<Reply>(&*body)) return std::move(*reply);
  }
  fail_reply(body);
  return Reply{};
}

}  // namespace rota::testing
