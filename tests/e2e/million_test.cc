// SPDX-License-Identifier: Apache-2.0
//
// A million waiting jobs: a start reads what it needs and not what waits. A thousand parked calls:
// an end answers each of them.
#include <atomic>
#include <csignal>
#include <mutex>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

constexpr int kJobs = 1'000'000, kJobsOfACall = 1'000, kCallsInFlight = 4;
constexpr std::int64_t kSoonMs = 2'000;
constexpr int kPolls = 1'000, kPollsOfASession = 50;

class MillionTest : public LiveServerTest {
 protected:
  void load_jobs() {
    std::atomic<int> sent{0}, in_flight{0}, failed{0};
    while (sent.load() < kJobs && failed.load() == 0) {
      ASSERT_TRUE(wait_for(in_flight, kCallsInFlight - 1));
      v1::BulkEnqueueJobsRequest request;
      for (int i = 0; i < kJobsOfACall; ++i) {
        v1::JobSpec* spec = request.add_jobs();
        spec->set_queue("work");
        spec->set_kind("task");
        spec->set_priority((sent.load() + i) % 7 * 10);
        spec->mutable_payload()->set_data("{\"n\":" + std::to_string(sent.load() + i) + "}");
      }
      sent += kJobsOfACall;
      ++in_flight;
      client().bulk_enqueue_jobs_async(
          std::move(request), patient(), [&](Result<v1::BulkEnqueueJobsResponse> answer) {
            if (!answer || answer->results_size() != kJobsOfACall) ++failed;
            for (int i = 0; answer && i < answer->results_size(); ++i) {
              if (!answer->results(i).has_job()) ++failed;
            }
            --in_flight;
            in_flight.notify_all();
          });
    }
    ASSERT_TRUE(wait_for(in_flight, 0));
    ASSERT_EQ(failed.load(), 0);
  }

  // Calls answer or time out, so this ends.
  static bool wait_for(std::atomic<int>& number, int at_most) {
    for (int now = number.load(); now > at_most; now = number.load()) number.wait(now);
    return true;
  }

  // From the start of the process to the first lease in hand: the first start counts, there is no
  // second try.
  void expect_first_lease_soon() { EXPECT_LE(first_lease_ms(), kSoonMs); }

  std::int64_t first_lease_ms() {
    const std::int64_t begin_ms = mono_ms();
    start();
    if (HasFailure()) return 0;
    RawClient fresh = *RawClient::create({.address = server_.address()});
    const auto leased = must(fresh.lease_jobs(
        lease_request({.session = "at " + std::to_string(begin_ms), .max_jobs = 100}), once()));
    const std::int64_t took_ms = mono_ms() - begin_ms;
    EXPECT_GE(leased.jobs_size(), 1);
    for (const v1::LeasedJob& job : leased.jobs()) EXPECT_EQ(job.priority(), 60);
    std::printf("first lease %lld ms after the start\n", static_cast<long long>(took_ms));
    return took_ms;
  }

  void expect_scans_bounded() {
    const std::int64_t rows = info().largest_scan_rows();
    EXPECT_LE(rows, 10'000);
    std::printf("largest scan %lld rows\n", static_cast<long long>(rows));
  }
};

TEST_F(MillionTest, FirstLeaseAfterAStartAndBoundedScans) {
  start();
  make_queue("work");
  load_jobs();
  ASSERT_FALSE(HasFatalFailure());
  expect_scans_bounded();
  EXPECT_EQ(server_.stop(kPatienceMs), 0);

  expect_first_lease_soon();
  // Through many windows, so that they are filled again and again.
  for (int i = 0; i < 30; ++i) {
    const auto leased = lease({.session = "drain", .max_jobs = 1'000});
    v1::FinishJobsRequest request;
    for (const v1::LeasedJob& job : leased.jobs()) {
      *request.add_items() = success("drain", job).items(0);
    }
    request.set_session_id("drain");
    ASSERT_GT(request.items_size(), 0);
    must(client().finish_jobs(request, patient()));
  }
  expect_scans_bounded();
  EXPECT_EQ(counters().created(), kJobs);

  server_.kill();
  expect_first_lease_soon();
  expect_scans_bounded();
}

TEST_F(MillionTest, AThousandParkedPollsAreAnsweredAtTheEnd) {
  start();
  make_queue("empty");
  std::mutex mutex;
  std::vector<Result<v1::LeaseJobsResponse>> answers;
  std::atomic<int> open{kPolls};
  for (int i = 0; i < kPolls; ++i) {
    client().lease_jobs_async(
        lease_request({.queue = "empty",
                       .session = "session-" + std::to_string(i / kPollsOfASession),
                       .wait = Millis(30'000)}),
        once(), [&](Result<v1::LeaseJobsResponse> answer) {
          {
            const std::lock_guard lock(mutex);
            answers.push_back(std::move(answer));
          }
          --open;
          open.notify_all();
        });
  }
  // Asked over a connection of its own: the other one is at its limit of streams.
  RawClient looker = *RawClient::create({.address = server_.address()});
  EXPECT_TRUE(wait_until(
      [&] {
        const auto answer = looker.get_server_info({}, patient());
        return answer && answer->server().parked_poll_count() == kPolls;
      },
      25'000));

  const std::int64_t begin_ms = mono_ms();
  server_.process().signal(SIGTERM);
  const auto ended = server_.process().wait(kPatienceMs);
  const std::int64_t took_ms = mono_ms() - begin_ms;
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_LE(took_ms, 3'000);
  std::printf("ended %lld ms after SIGTERM\n", static_cast<long long>(took_ms));
  wait_for(open, 0);
  int without_answer = 0;
  for (const auto& answer : answers) {
    const bool spoken = answer ? answer->jobs_size() == 0 : answer.error().reason == "DRAINING";
    if (!spoken && without_answer++ == 0) ADD_FAILURE() << answer.error().message;
  }
  EXPECT_EQ(without_answer, 0);
}

}  // namespace
}  // namespace rota::e2e
