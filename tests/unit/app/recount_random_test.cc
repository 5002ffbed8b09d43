// SPDX-License-Identifier: Apache-2.0
//
// Random histories with crashes, over small windows: whatever the engine wrote, an independent
// recount agrees with its counters, and every claim, timer, key and index is where it should be.
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/recount.h"
#include "support/engine_harness.h"

namespace rota::app {
namespace {

using rota::testing::EngineHarness;
using ::testing::IsEmpty;

core::EngineOptions small_engine() {
  core::EngineOptions options;
  options.window_rows = 8;
  options.timer_window_rows = 8;
  options.page_rows = 3;
  return options;
}

class RandomHistory {
 public:
  explicit RandomHistory(std::uint32_t seed) : random_(seed), h_(small_engine()) {
    h_.set_checks(false);
    for (const char* name : kQueues) {
      model::Retention retention;
      retention.succeeded_count = 20;
      retention.ledger_ms = 700'000;
      h_.queue(name, rota::testing::with_retention(retention));
      h_.queue(name, rota::testing::with_retry(rota::testing::retries(3, 5'000)));
    }
  }

  void step() {
    switch (below(14)) {
      case 0:
      case 1:
      case 2:
        return enqueue();
      case 3:
      case 4:
        return lease();
      case 5:
      case 6:
        return finish();
      case 7:
        h_.call(core::CancelJob{any_job(), "no more"});
        return;
      case 8:
        h_.call(core::UpdateJob{any_job(),
                                static_cast<std::uint8_t>(below(4) * 50),
                                below(2) == 0 ? std::optional<std::int64_t>() : later(),
                                {}});
        return;
      case 9:
        h_.call(core::RedriveJob{any_job()});
        return;
      case 10:
        h_.call(core::DeleteJob{any_job()});
        return;
      case 11:
        return rare();
      default:
        h_.advance(below(20'000));
    }
  }

  EngineHarness& harness() { return h_; }

 private:
  static constexpr const char* kQueues[] = {"a", "b"};

  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  std::string queue() { return kQueues[below(2)]; }
  std::int64_t later() { return h_.wall_ms() + 1 + below(60'000); }
  core::JobKey any_job() {
    return jobs_.empty() ? core::JobKey{1, 100, 999'999} : jobs_[below(jobs_.size())];
  }

  void enqueue() {
    std::vector<core::JobRequest> jobs(1 + below(4), rota::testing::job(queue()));
    for (core::JobRequest& job : jobs) {
      job.priority = static_cast<std::uint8_t>(100 + below(3));
      if (below(3) == 0) job.run_at_ms = later();
      if (below(4) == 0) job.start_deadline_ms = later();
      if (below(4) == 0) job.business_key = "key-" + std::to_string(below(20));
      if (below(6) == 0) job.payload = std::string(5'000 + below(5'000), 'p');
      if (below(5) == 0) job.on_dead = core::OnDead::kRedrive;
    }
    const std::string request = below(4) == 0 ? "r-" + std::to_string(below(1'000'000)) : "";
    const auto reply = h_.call(rota::testing::enqueue(std::move(jobs), request));
    if (const auto* enqueued = std::get_if<core::EnqueueReply>(&reply)) {
      for (const core::EnqueueItem& item : enqueued->items) {
        if (const auto* job = std::get_if<core::EnqueuedJob>(&item)) jobs_.push_back(job->key);
      }
    }
  }

  void lease() {
    const auto reply = h_.call(rota::testing::lease({queue()}, 1 + below(5)));
    if (const auto* leased = std::get_if<core::LeaseReply>(&reply)) {
      granted_.insert(granted_.end(), leased->jobs.begin(), leased->jobs.end());
    }
  }

  void finish() {
    if (granted_.empty()) return;
    const std::size_t at = below(granted_.size());
    const core::GrantedJob job = granted_[at];
    if (below(5) != 0) granted_.erase(granted_.begin() + static_cast<std::ptrdiff_t>(at));
    core::WorkerOutcome outcome = rota::testing::succeeded("done");
    switch (below(8)) {
      case 0:
        outcome = rota::testing::failed(false);
        break;
      case 1:
        outcome = rota::testing::failed();
        break;
      case 2:
        outcome = rota::testing::snoozed(3'000);
        break;
      case 3:
        outcome = rota::testing::released();
        break;
      case 4:
        h_.send(core::AbandonGrant{"s1", {rota::testing::ref(job)}});  // has no reply
        return h_.settle();
      default:
        break;
    }
    h_.call(rota::testing::finish(job, outcome));
  }

  void rare() {
    switch (below(8)) {
      case 0:
        h_.call(core::PurgeQueue{queue(), {}});
        return;
      case 1:
        return h_.crash(below(2) == 0);
      case 2:
      case 3: {
        core::UpsertScheduler upsert =
            rota::testing::scheduler("s" + std::to_string(below(3)), 5'000, queue());
        upsert.settings.overlap = static_cast<model::Overlap>(1 + below(3));
        upsert.revision = ++revision_;
        h_.call(upsert);
        return;
      }
      case 4:
        h_.call(core::DeleteScheduler{"s" + std::to_string(below(3))});
        return;
      case 5:
        h_.call(core::PauseQueue{queue(), "stop"});
        h_.advance(5'000);
        h_.call(core::ResumeQueue{"a"});
        h_.call(core::ResumeQueue{"b"});
        return;
      case 6:
        h_.jump(700'000);
        return;
      default:
        h_.jump(below(100'000));
    }
  }

  std::mt19937 random_;
  EngineHarness h_;
  std::vector<core::JobKey> jobs_;
  std::vector<core::GrantedJob> granted_;
  std::int64_t revision_ = 0;
};

class RecountRandomTest : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(RecountRandomTest, EveryStateOnDiskIsConsistent) {
  RandomHistory history(GetParam());
  for (int i = 1; i <= 600; ++i) {
    history.step();
    if (i % 20 != 0) continue;
    const auto counted = recount(history.harness().store());
    ASSERT_TRUE(counted) << base::to_string(counted.error());
    ASSERT_THAT(counted->contradictions, IsEmpty()) << "seed " << GetParam() << " step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RecountRandomTest, ::testing::Range(1U, 21U));

}  // namespace
}  // namespace rota::app
