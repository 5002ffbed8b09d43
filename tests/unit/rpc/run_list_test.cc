// SPDX-License-Identifier: Apache-2.0
//
// Listings of run records against a plain search through all of them, for schedules of every
// density; and what a page costs.
#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "counting_store.h"
#include "model/keys.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rpc/scheduler_reader.h"
#include "store/memory_store.h"

namespace rota::rpc {
namespace {

namespace keys = model::keys;
namespace limits = base::limits;
using core::Keyspace;
using model::RunRecord;

constexpr std::int64_t kStartMs = 1'700'000'000'000;
constexpr std::int64_t kHourMs = 60 * base::kMinuteMs;

// A store with the run records of the scheduler "s", and a reader of it.
class World {
 public:
  // Makes the records what is stored of the scheduler "s", and its neighbours' some of their own.
  void store(std::vector<RunRecord> runs, std::int64_t swept_ms = 0) {
    runs_ = std::move(runs);
    auto batch = std::make_shared<core::Batch>();
    for (const RunRecord& run : runs_) put(*batch, "s", run);
    for (const char* other : {"r", "t", "ss"}) {
      RunRecord run;
      run.first_nominal_ms = run.last_nominal_ms = kStartMs;
      put(*batch, other, run);
    }
    model::SchedulerState state;
    state.cursor_ms = runs_.empty() ? kStartMs : runs_.back().last_nominal_ms;
    state.runs = runs_.size();
    state.runs_swept_ms = swept_ms;
    batch->put(Keyspace::kScheduler, keys::scheduler_state("default", "s"), model::encode(state));
    commit(std::move(batch));
  }
  // Deletes the oldest ones, without a word of it in the scheduler's state.
  void remove(std::size_t count) {
    auto batch = std::make_shared<core::Batch>();
    for (std::size_t i = 0; i < count; ++i) {
      batch->del(Keyspace::kRun,
                 keys::run("default", "s", runs_[i].first_nominal_ms, runs_[i].generation));
    }
    commit(std::move(batch));
    runs_.erase(runs_.begin(), runs_.begin() + static_cast<std::ptrdiff_t>(count));
  }
  void end_pages_after(std::uint32_t rows) { disk_->set_page_rows(rows); }
  const std::vector<RunRecord>& runs() const { return runs_; }

  struct Listed {
    std::vector<std::uint64_t> seqs;  // of the records, in the order of the listing
    int pages = 0;
    std::size_t most_rows = 0;  // read for one page
    std::size_t first_page_rows = 0;
    std::size_t first_page_reads = 0;
  };
  // All pages. With `random` a page takes only so many records, as if the bytes were used up.
  Listed list(const RunFilter& filter, int page_size, std::mt19937_64* random = nullptr) {
    Listed listed;
    std::string position;
    do {
      const std::size_t takes = random == nullptr ? SIZE_MAX : 1 + (*random)() % 9;
      std::size_t taken = 0;
      counting_.rows = counting_.reads = 0;
      const auto page = reader_.runs("default", filter, position, page_size, [&](const auto& run) {
        if (taken == takes) return false;
        ++taken;
        listed.seqs.push_back(run.seq);
        return true;
      });
      EXPECT_TRUE(page) << page.error().message;
      if (!page) return listed;
      EXPECT_LE(taken, static_cast<std::size_t>(page_size));
      if (listed.pages == 0) {
        listed.first_page_rows = counting_.rows;
        listed.first_page_reads = counting_.reads;
      }
      listed.most_rows = std::max(listed.most_rows, counting_.rows);
      position = page->position;
      EXPECT_LT(++listed.pages, 100'000) << "the listing does not end";
    } while (!position.empty() && listed.pages < 100'000);
    return listed;
  }
  std::vector<std::uint64_t> expected(const RunFilter& filter) const {
    std::vector<std::uint64_t> seqs;
    for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
      const bool outcome =
          filter.outcomes.empty() || (run->outcome == model::RunOutcome::kFired) ==
                                         (filter.outcomes[0] == v1::Run::OUTCOME_FIRED);
      if (run->last_nominal_ms >= filter.from_ms && run->first_nominal_ms < filter.to_ms &&
          outcome && (filter.business_date.empty() || filter.business_date == run->business_date)) {
        seqs.push_back(run->seq);
      }
    }
    return seqs;
  }

 private:
  static void put(core::Batch& batch, const std::string& id, const RunRecord& run) {
    batch.put(Keyspace::kRun, keys::run("default", id, run.first_nominal_ms, run.generation),
              model::encode(run));
  }
  void commit(std::shared_ptr<const core::Batch> batch) {
    store_->commit(std::move(batch), store_->last_committed() + 1,
                   [](core::CommitSeq, core::Outcome outcome, const std::string&) {
                     EXPECT_EQ(outcome, core::Outcome::kCommitted);
                   });
  }

  std::vector<RunRecord> runs_;
  core::InlineExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
  CountingStore counting_{*store_};
  SchedulerReader reader_{counting_};
};

RunFilter all() { return {.scheduler_id = "s"}; }

// One record after the other, `step_ms` apart.
void add(std::vector<RunRecord>* runs, int count, std::int64_t step_ms) {
  for (int i = 0; i < count; ++i) {
    RunRecord run;
    run.generation = 1;
    run.first_nominal_ms = run.last_nominal_ms =
        (runs->empty() ? kStartMs : runs->back().last_nominal_ms) + step_ms;
    run.seq = runs->size() + 1;
    run.business_date = run.seq % 5 == 0 ? "2026-11-30" : "2026-11-29";
    runs->push_back(run);
  }
}

std::vector<RunRecord> random_runs(std::mt19937_64& random) {
  const std::int64_t steps[] = {1'000, 1'000, 60'000, kHourMs, base::kDayMs, 40 * base::kDayMs};
  std::vector<RunRecord> runs;
  const int stretches = 1 + static_cast<int>(random() % 6);
  std::uint64_t generation = 1;
  for (int i = 0; i < stretches; ++i) {
    const std::size_t first = runs.size();
    const int most = random() % 4 == 0 ? 3'000 : 40;
    add(&runs, 1 + static_cast<int>(random() % static_cast<std::uint64_t>(most)),
        steps[random() % std::size(steps)]);
    if (random() % 3 == 0) ++generation;  // deleted and made again
    for (std::size_t j = first; j < runs.size(); ++j) runs[j].generation = generation;
    if (random() % 2 == 0) {  // and then ticks that did not run, in one record
      add(&runs, 1, 1'000);
      runs.back().last_nominal_ms += static_cast<std::int64_t>(random() % (3 * base::kDayMs));
      runs.back().outcome = model::RunOutcome::kMissed;
      runs.back().generation = generation;
    }
  }
  return runs;
}

RunFilter random_filter(std::mt19937_64& random, const std::vector<RunRecord>& runs) {
  RunFilter filter = all();
  const auto some_time = [&] {
    const RunRecord& run = runs[random() % runs.size()];
    return run.first_nominal_ms + static_cast<std::int64_t>(random() % 3) * 500;
  };
  if (random() % 3 == 0) filter.from_ms = some_time();
  if (random() % 3 == 0) filter.to_ms = some_time();
  if (random() % 3 == 0) {
    filter.outcomes.push_back(random() % 2 == 0 ? v1::Run::OUTCOME_FIRED : v1::Run::OUTCOME_MISSED);
  }
  if (random() % 4 == 0) filter.business_date = "2026-11-30";
  return filter;
}

TEST(RunListTest, EveryRecordOnceNewestFirstWhateverTheScheduleAndThePage) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    World world;
    world.store(random_runs(random));
    if (random() % 2 == 0) world.remove(random() % world.runs().size());
    if (random() % 3 == 0) world.end_pages_after(1 + static_cast<std::uint32_t>(random() % 9));
    for (const int size : {1, 7, 100, 1'000}) {
      const RunFilter filter = random_filter(random, world.runs());
      const auto wanted = world.expected(filter);
      if (size == 1 && wanted.size() > 200) continue;
      EXPECT_EQ(world.list(filter, size).seqs, wanted) << "page size " << size;
      EXPECT_EQ(world.list(filter, size, &random).seqs, wanted)
          << "page size " << size << ", bytes";
    }
  }
}

TEST(RunListTest, APageCostsAboutItsOwnRows) {
  const std::int64_t steps[] = {1'000, base::kMinuteMs, kHourMs, base::kDayMs};
  for (const std::int64_t step_ms : steps) {
    World world;
    std::vector<RunRecord> runs;
    add(&runs, 10'000, step_ms);
    world.store(std::move(runs));
    const auto listed = world.list(all(), 10);
    EXPECT_EQ(listed.pages, 1'000) << "and none empty";
    EXPECT_LE(listed.most_rows, 1'000U) << "a record every " << step_ms << " ms";
    EXPECT_LE(listed.first_page_rows, 700U);
    EXPECT_LE(listed.first_page_reads, 15U);
  }
}

TEST(RunListTest, RecordsThatAreNotWantedAreExaminedUpToABoundForEachPage) {
  World world;
  std::vector<RunRecord> runs;
  add(&runs, 35'000, 1'000);
  for (RunRecord& run : runs) run.outcome = model::RunOutcome::kSkipped;
  runs[5].outcome = model::RunOutcome::kFired;
  world.store(std::move(runs));
  RunFilter filter = all();
  filter.outcomes = {v1::Run::OUTCOME_FIRED};
  const auto listed = world.list(filter, 10);
  EXPECT_EQ(listed.seqs, std::vector<std::uint64_t>{6});
  EXPECT_GE(listed.pages, 3);
  EXPECT_LE(listed.most_rows, std::size_t{limits::kPageRowsExaminedMax + limits::kReadRowsMax});
}

TEST(RunListTest, APastStretchIsNotReadThroughFromTheNewest) {
  World world;
  std::vector<RunRecord> runs;
  add(&runs, 10'000, 1'000);
  RunFilter filter = all();
  filter.from_ms = runs[100].first_nominal_ms;
  filter.to_ms = runs[110].first_nominal_ms;
  world.store(std::move(runs));
  const auto listed = world.list(filter, 100);
  EXPECT_EQ(listed.seqs.size(), 10U);
  EXPECT_EQ(listed.pages, 1);
  EXPECT_LE(listed.most_rows, 700U);
}

TEST(RunListTest, WhatIsSweptIsNotLookedThrough) {
  World world;
  std::vector<RunRecord> runs;
  add(&runs, 3, base::kDayMs);
  const std::int64_t swept_ms = runs.front().first_nominal_ms - 1;
  world.store(std::move(runs), swept_ms);
  const auto listed = world.list(all(), 100);
  EXPECT_EQ(listed.seqs, (std::vector<std::uint64_t>{3, 2, 1}));
  EXPECT_LE(listed.first_page_reads, 10U);
}

}  // namespace
}  // namespace rota::rpc
