// SPDX-License-Identifier: Apache-2.0
//
// Clients that ask and never read: what waits for them is bounded, others are served, and all is
// well again when they are gone.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>

#include "base/limits.h"
#include "blackbox/deaf_consumer.h"
#include "rpc_fixture.h"
#include "support/eventually.h"

namespace rota::testing {
namespace {

using base::kMiB;

constexpr std::int64_t kBudget = 16 * kMiB;
constexpr int kCalls = 200;  // of each client; every one of them asks for more than 2 MB

// What is being made by the reader threads when nothing more may begin.
constexpr std::int64_t kUnderWay = 2 * 4 * kMiB;

class RpcUnreadTest : public RpcTest {
 protected:
  RpcUnreadTest() : RpcTest([](app::ServerSetup& setup) { setup.options.reply_bytes = kBudget; }) {
    make_queue("q");
    v1::BulkEnqueueJobsRequest bulk;
    for (int i = 0; i < base::limits::kPageSizeMax; ++i) {
      auto* job = bulk.add_jobs();
      job->set_queue("q");
      job->set_kind("k");
      (*job->mutable_labels())["much"] = std::string(2'000, 'x');
    }
    ok(jobs(), &Jobs::BulkEnqueueJobs, bulk);
    listing_.mutable_filter()->set_queue("q");
    listing_.set_page_size(base::limits::kPageSizeMax);
    EXPECT_GT(ok(jobs(), &Jobs::ListJobs, listing_).ByteSizeLong(), 2'000'000);
  }

  template <std::size_t N>
  void begin(std::array<blackbox::DeafConsumer, N>& clients) {
    for (auto& client : clients) {
      ASSERT_TRUE(client.begin(server->address(), "/rota.v1.JobService/ListJobs",
                               listing_.SerializeAsString(), kCalls));
    }
  }
  std::int64_t unread() {
    return ok(admin(), &Admin::GetServerInfo, v1::GetServerInfoRequest())
        .server()
        .unread_reply_bytes();
  }
  grpc::Status list() {
    v1::ListJobsResponse page;
    return call(jobs(), &Jobs::ListJobs, listing_, &page);
  }
  // Of this process, which the server is a part of.
  static std::int64_t memory() {
    std::int64_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * sysconf(_SC_PAGESIZE);
  }

  v1::ListJobsRequest listing_;
};

TEST_F(RpcUnreadTest, OneConnectionGetsItsShareAndHurtsNobodyElse) {
  std::array<blackbox::DeafConsumer, 1> deaf;
  begin(deaf);
  ASSERT_TRUE(eventually([&] { return unread() >= kBudget / 4; })) << unread();
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(list().ok());
    EXPECT_LE(unread(), kBudget / 4 + kUnderWay);
  }
  enqueue("q");
  deaf[0].close();
  EXPECT_TRUE(eventually([&] { return unread() == 0; })) << unread();
}

TEST_F(RpcUnreadTest, SeveralAreRefusedWithAllOthersUntilTheyAreGone) {
  enqueue("q", "{}", 200);
  const auto leased = lease("q");
  ASSERT_EQ(leased.jobs_size(), 1);
  const std::int64_t memory_before = memory();
  std::array<blackbox::DeafConsumer, 8> deaf;
  begin(deaf);
  grpc::Status refusal;
  std::int64_t most = 0, most_memory = 0;
  ASSERT_TRUE(eventually([&] {
    most = std::max(most, unread());
    most_memory = std::max(most_memory, memory());
    refusal = list();
    return !refusal.ok() && most >= kBudget;
  }));
  EXPECT_EQ(refusal.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(reason_of(refusal), "OVERLOADED");
  const auto details = details_of(refusal);
  EXPECT_NE(std::find(details.begin(), details.end(), "RetryInfo"), details.end());
  v1::EnqueueJobRequest opening;
  opening.mutable_job()->set_queue("q");
  opening.mutable_job()->set_kind("k");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::EnqueueJob, opening)), "OVERLOADED");

  // What lets work end goes on, and so does who asks what is wrong.
  v1::HeartbeatRequest beat;
  beat.set_session_id(session);
  beat.add_leases()->set_job_id(leased.jobs(0).job_id());
  beat.mutable_leases(0)->set_fencing_token(leased.jobs(0).fencing_token());
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(ok(workers(), &Workers::Heartbeat, beat).results(0).status(),
              v1::HeartbeatResult::STATUS_RENEWED);
    most = std::max(most, unread());
    most_memory = std::max(most_memory, memory());
  }
  EXPECT_EQ(succeed(leased.jobs(0)).results(0).job().state(), v1::JOB_STATE_SUCCEEDED);
  v1::ExplainJobRequest why;
  why.set_job_id(leased.jobs(0).job_id());
  ok(jobs(), &Jobs::ExplainJob, why);

  EXPECT_LE(most, kBudget + kUnderWay);
  const std::int64_t grown = most_memory - memory_before;
  RecordProperty("unread_mib", static_cast<int>(most / kMiB));
  RecordProperty("memory_mib", static_cast<int>(grown / kMiB));
  printf("unread at most %lld MiB, memory grown by %lld MiB\n", static_cast<long long>(most / kMiB),
         static_cast<long long>(grown / kMiB));
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LE(grown, 3 * kBudget + kUnderWay + 64 * kMiB);
#endif

  for (auto& client : deaf) client.close();
  EXPECT_TRUE(eventually([&] { return list().ok(); }));
  EXPECT_TRUE(eventually([&] { return unread() == 0; })) << unread();
  enqueue("q");
}

}  // namespace
}  // namespace rota::testing
