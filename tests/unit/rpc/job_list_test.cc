// SPDX-License-Identifier: Apache-2.0
//
// What a listing of jobs holds in memory: the reads it makes are of bounded size, and each job is
// handed over before further ones are read. (Order and states: the tests over the wire.)
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/limits.h"
#include "counting_store.h"
#include "model/job.h"
#include "model/keys.h"
#include "model/queue.h"
#include "rpc/job_reader.h"
#include "store/memory_store.h"

namespace rota::rpc {
namespace {

namespace keys = model::keys;
using core::Keyspace;
using model::JobKey;

constexpr std::uint32_t kQueue = 1;
constexpr std::size_t kJobs = 120;

// Jobs that ended in one commit, each with the largest result; and as many that wait for a retry,
// each with long texts of all its attempts.
class JobListTest : public ::testing::Test {
 protected:
  JobListTest() {
    auto batch = std::make_shared<core::Batch>();
    model::Queue queue;
    queue.number = kQueue;
    queue.name_space = "default";
    queue.name = "q";
    batch->put(Keyspace::kQueueState, keys::queue_settings(kQueue), model::encode(queue));
    model::JobBody body;
    body.kind = "k";
    const std::string result(base::limits::kResultBytesMax, 'r');
    std::vector<JobKey> ended;
    for (std::uint64_t seq = 1; seq <= kJobs; ++seq) {
      ended.push_back({kQueue, 100, seq});
      batch->put(
          Keyspace::kFinal, keys::final_record(ended.back()),
          model::encode_final(body, {}, {.state = model::JobState::kSucceeded, .result = result}));
    }
    batch->put(Keyspace::kFinal, keys::final_index(kQueue, model::JobState::kSucceeded, 1, 1),
               model::encode_job_keys(ended));
    model::Side side;
    side.claim = model::Claim::kScheduled;
    side.retry_wait = true;
    for (std::uint32_t number = 1; number <= base::limits::kAttemptHistoryMax; ++number) {
      model::Attempt attempt;
      attempt.number = attempt.token = number;
      attempt.outcome = model::AttemptOutcome::kFailed;
      attempt.failure.detail = std::string(base::limits::kFailureDetailBytesMax, 'd');
      side.remember(std::move(attempt));
    }
    for (std::uint64_t seq = 1; seq <= kJobs; ++seq) {
      const JobKey waits{kQueue, 100, kJobs + seq};
      batch->put(Keyspace::kJob, keys::job(waits), model::encode(body));
      batch->put(Keyspace::kSide, keys::job(waits), model::encode(side));
    }
    store_->commit(std::move(batch), 1,
                   [](core::CommitSeq, core::Outcome outcome, const std::string&) {
                     EXPECT_EQ(outcome, core::Outcome::kCommitted);
                   });
    filter_.set_queue("q");
  }

  core::InlineExecutor executor_;
  std::shared_ptr<store::MemoryDisk> disk_ = store::MemoryDisk::create();
  std::unique_ptr<core::ShardStore> store_ = disk_->open(executor_);
  CountingStore counting_{*store_};
  runtime::LeaseBoard leases_;
  QueueDirectory queues_{counting_};
  JobReader reader_{counting_, leases_, queues_};
  v1::JobFilter filter_;
  JobKey refused_;  // by the page before
};

TEST_F(JobListTest, ReadsAreOfBoundedSizeHoweverLargeTheJobsAre) {
  std::set<JobKey> seen;
  const auto page = reader_.list("default", filter_, "", 1'000, [&](const JobRead& job) {
    EXPECT_TRUE(seen.insert(job.rows.key).second);
    return true;
  });
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(page->position, "");
  EXPECT_EQ(seen.size(), 2 * kJobs);
  EXPECT_LE(counting_.most_bytes, 3U << 20U);
}

TEST_F(JobListTest, AJobThatIsNotTakenIsTheFirstOfTheNextPage) {
  std::vector<JobKey> seen;
  std::string position;
  std::size_t pages = 0;
  do {
    const std::size_t takes = 1 + pages % 7;
    std::size_t taken = 0;
    JobKey refused;
    const auto page = reader_.list("default", filter_, position, 1'000, [&](const JobRead& job) {
      if (taken == 0 && pages > 0) {
        EXPECT_EQ(job.rows.key, refused_);
      }
      if (taken == takes) {
        refused = job.rows.key;
        return false;
      }
      ++taken;
      seen.push_back(job.rows.key);
      return true;
    });
    ASSERT_TRUE(page) << page.error().message;
    refused_ = refused;
    position = page->position;
  } while (!position.empty() && ++pages < 1'000);
  EXPECT_EQ(seen.size(), 2 * kJobs);
  EXPECT_EQ(std::set<JobKey>(seen.begin(), seen.end()).size(), 2 * kJobs) << "none twice";
}

}  // namespace
}  // namespace rota::rpc
