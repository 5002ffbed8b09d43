// SPDX-License-Identifier: Apache-2.0
//
// The engine loop around a scripted engine, a memory store whose commits end when the test says so,
// and clocks that the test moves.
#pragma once

#include <atomic>
#include <climits>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "runtime/engine_loop.h"
#include "store/memory_store.h"

namespace rota::runtime {

using namespace std::chrono_literals;

class TestClock final : public base::Clock {
 public:
  std::int64_t wall_ms() const override { return wall_; }
  std::int64_t mono_ms() const override { return mono_; }
  std::int64_t boot_ms() const override { return mono_; }
  void advance(std::int64_t ms) {
    wall_ += ms;
    mono_ += ms;
  }
  void step_wall(std::int64_t ms) { wall_ += ms; }

 private:
  std::atomic<std::int64_t> wall_{1'700'000'000'000};
  std::atomic<std::int64_t> mono_{1'000'000};
};

// Keeps the store's work until the test runs it.
class HeldExecutor final : public core::Executor {
 public:
  void execute(std::function<void()> work) override {
    std::unique_lock lock(mutex_);
    if (through_) {
      lock.unlock();
      work();
      return;
    }
    work_.push_back(std::move(work));
    arrived_.notify_all();
  }
  // Waits until `n` pieces are there.
  bool wait_for(std::size_t n) {
    std::unique_lock lock(mutex_);
    return arrived_.wait_for(lock, 10s, [&] { return work_.size() >= n; });
  }
  std::size_t size() {
    std::lock_guard lock(mutex_);
    return work_.size();
  }
  void run_one() {
    std::function<void()> work;
    {
      std::lock_guard lock(mutex_);
      ASSERT_FALSE(work_.empty());
      work = std::move(work_.front());
      work_.pop_front();
    }
    work();
  }
  // From now on on the caller's thread, at once.
  void let_through() {
    std::deque<std::function<void()>> left;
    {
      std::lock_guard lock(mutex_);
      through_ = true;
      left.swap(work_);
    }
    for (auto& work : left) work();
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> work_;
  bool through_ = false;
};

// Answers each kind of command in a fixed way: an enqueue writes one row, a heartbeat is answered
// at once, an explanation changes nothing, a lease call is parked until grant().
class FakeEngine final : public EnginePort {
 public:
  void apply(core::Command command, core::Now) override {
    std::lock_guard lock(mutex_);
    applied_.push_back(static_cast<int>(command.body.index()));
    if (!std::holds_alternative<core::Heartbeat>(command.body)) ++in_turn_;
    changed_.notify_all();
    if (std::holds_alternative<core::EnqueueJobs>(command.body)) {
      if (!batch_) batch_ = std::make_shared<core::Batch>();
      batch_->put(core::Keyspace::kMeta, "row" + std::to_string(command.call), "value");
      replies_.push_back({.call = command.call, .body = core::EnqueueReply{}});
    } else if (std::holds_alternative<core::Heartbeat>(command.body)) {
      immediate_.push_back(
          {.call = command.call, .body = core::HeartbeatReply{}, .immediate = true});
    } else if (std::holds_alternative<core::LeaseJobs>(command.body)) {
      if (drained_) {
        replies_.push_back({.call = command.call, .body = core::LeaseReply{}});
      } else {
        parked_.push_back(command.call);
      }
    } else if (const auto* abandon = std::get_if<core::AbandonGrant>(&command.body)) {
      abandoned_.push_back(*abandon);
    } else {
      replies_.push_back({.call = command.call, .body = core::ExplainReply{}});
    }
  }
  void apply(core::ReadDone, core::Now) override {}
  void drop_call(core::CallId call) override {
    std::lock_guard lock(mutex_);
    std::erase(parked_, call);
    dropped_.push_back(call);
    changed_.notify_all();
  }
  void committed(core::CommitSeq, core::Now) override {}
  void stalled(std::int64_t gap_ms, core::Stall what) override {
    std::lock_guard lock(mutex_);
    stalls_.push_back(gap_ms);
    stalled_.push_back(what);
    changed_.notify_all();
  }
  void hold_ticks(bool hold) override {
    std::lock_guard lock(mutex_);
    ticks_held_.push_back(hold);
    changed_.notify_all();
  }
  void drain() override {
    std::lock_guard lock(mutex_);
    for (const core::CallId call : parked_) {
      replies_.push_back({.call = call, .body = core::LeaseReply{}});
    }
    parked_.clear();
    drained_ = true;
  }
  std::vector<core::Reply> take_immediate() override {
    std::lock_guard lock(mutex_);
    return std::exchange(immediate_, {});
  }
  bool full() const override { return full_ || in_turn_ >= full_at_; }
  core::Turn seal(core::Now now) override {
    std::lock_guard lock(mutex_);
    if (expect_stall_before_seal_ && stalls_.empty()) sealed_before_stall_ = true;
    core::Turn turn;
    if (batch_) ++seq_;
    turns_.push_back(in_turn_.exchange(0));
    turn.batch = std::exchange(batch_, nullptr);
    turn.seq = seq_;
    turn.replies = std::exchange(replies_, {});
    for (core::Reply& reply : turn.replies) reply.seq = seq_;
    turn.events = std::exchange(events_, {});
    for (core::JobEvent& event : turn.events) event.seq = seq_;
    turn.wake_mono_ms = now.mono_ms + 3'600'000;
    turn.wake_wall_ms = INT64_MAX;
    ++seals_;
    changed_.notify_all();
    return turn;
  }
  core::EngineStats stats() const override {
    ++stats_asked_;
    core::EngineStats stats;
    stats.now_ms = stored_ms_;
    return stats;
  }

  // Decides a parked call: a grant in the turn being built. On the loop thread.
  void grant(core::CallId call, core::GrantedJob job) {
    grant(call, std::vector<core::GrantedJob>{std::move(job)});
  }
  void grant(core::CallId call, std::vector<core::GrantedJob> jobs) {
    std::lock_guard lock(mutex_);
    std::erase(parked_, call);
    if (!batch_) batch_ = std::make_shared<core::Batch>();
    batch_->put(core::Keyspace::kGrant, "grant" + std::to_string(call), "value");
    core::LeaseReply reply;
    for (core::GrantedJob& job : jobs) {
      events_.push_back(
          {.kind = core::JobEvent::Kind::kGranted, .key = job.key, .token = job.token});
      reply.jobs.push_back(std::move(job));
    }
    replies_.push_back({.call = call, .body = std::move(reply)});
  }
  // Another row of the turn being built.
  void put(core::Keyspace keyspace, std::string key, std::string value) {
    std::lock_guard lock(mutex_);
    if (!batch_) batch_ = std::make_shared<core::Batch>();
    batch_->put(keyspace, std::move(key), std::move(value));
  }
  template <class Predicate>
  bool wait(Predicate predicate) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, predicate);
  }

  // Guarded by the lock of wait().
  std::vector<int> applied_;
  std::vector<core::CallId> parked_;
  std::vector<core::CallId> dropped_;
  std::vector<core::AbandonGrant> abandoned_;
  std::vector<std::int64_t> stalls_;
  std::vector<core::Stall> stalled_;
  std::vector<bool> ticks_held_;
  bool expect_stall_before_seal_ = false;  // set on the loop thread
  bool sealed_before_stall_ = false;
  int seals_ = 0;
  std::vector<int> turns_;  // commands of each, heartbeats not counted

  std::atomic<bool> full_{false};
  std::atomic<int> full_at_{INT_MAX};  // commands of a turn
  mutable std::atomic<int> stats_asked_{0};
  std::atomic<std::int64_t> stored_ms_{0};  // the time of the newest stored batch

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<core::Batch> batch_;
  std::vector<core::Reply> replies_;
  std::vector<core::Reply> immediate_;
  std::vector<core::JobEvent> events_;
  core::CommitSeq seq_ = 0;
  bool drained_ = false;
  std::atomic<int> in_turn_{0};
};

class EngineLoopTest : public testing::Test {
 protected:
  void make(EngineLoopOptions options = {}) {
    loop_ = std::make_unique<EngineLoop>(
        engine_, *store_, nullptr, readers_, clock_, options,
        [this](const std::vector<core::JobEvent>& events) {
          std::lock_guard lock(mutex_);
          for (const core::JobEvent& event : events) log_.push_back("event " + number(event.token));
        },
        [this](const store::Failure& failure) {
          std::lock_guard lock(mutex_);
          log_.push_back("fatal " + failure.text);
          changed_.notify_all();
        });
  }
  void start(EngineLoopOptions options = {}) {
    make(options);
    loop_->start();
  }
  void TearDown() override {
    executor_.let_through();
    if (loop_) loop_->stop();
    loop_.reset();
  }

  static std::string number(std::uint64_t n) { return std::to_string(n); }

  // An answer is logged as "<name> ok", "<name> leased n" or "<name> <REASON>".
  ReplyFn logged(std::string name, Delivery delivery = Delivery::kTaken) {
    return [this, name = std::move(name), delivery](core::Reply reply) {
      std::string text = name + " ok";
      if (const auto* error = std::get_if<base::Error>(&reply.body)) {
        text = name + " " + std::string(base::reason_name(error->reason));
      } else if (const auto* lease = std::get_if<core::LeaseReply>(&reply.body)) {
        text = name + " leased " + number(lease->jobs.size());
      }
      std::lock_guard lock(mutex_);
      log_.push_back(text);
      changed_.notify_all();
      return delivery;
    };
  }
  base::Result<core::CallId> submit(core::CommandBody body, std::string name,
                                    Delivery delivery = Delivery::kTaken) {
    core::Command command;
    command.body = std::move(body);
    return loop_->submit(std::move(command), logged(std::move(name), delivery));
  }
  bool logged_within(std::size_t n) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 10s, [&] { return log_.size() >= n; });
  }
  std::vector<std::string> log() {
    std::lock_guard lock(mutex_);
    return log_;
  }
  // Runs on the loop thread and returns when it has.
  void on_loop(std::function<void()> work) {
    std::promise<void> done;
    ASSERT_TRUE(loop_->post([&] {
      work();
      done.set_value();
    }));
    ASSERT_EQ(done.get_future().wait_for(10s), std::future_status::ready);
  }

  // The loop is busy, so that what arrives stays in its queue, until the result is called.
  std::function<void()> hold_loop() {
    auto busy = std::make_shared<std::promise<void>>();
    auto go_on = std::make_shared<std::promise<void>>();
    EXPECT_TRUE(loop_->post([busy, held = go_on->get_future().share()] {
      busy->set_value();
      held.wait();
    }));
    busy->get_future().wait();
    return [go_on] { go_on->set_value(); };
  }

  TestClock clock_;
  HeldExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
  FakeEngine engine_;
  ReaderPool readers_{1};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> log_;
  std::unique_ptr<EngineLoop> loop_;
};

}  // namespace rota::runtime
