// SPDX-License-Identifier: Apache-2.0
//
// A store that fails while the server runs: nothing is acknowledged any more.
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/accepted_loss.h"
#include "app/exit_code.h"
#include "model/job_id.h"
#include "model/keys.h"
#include "store/open.h"
#include "support/eventually.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

grpc::Status try_enqueue(InProcessServer& server) {
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("work");
  v1::EnqueueJobResponse response;
  CallContext context;
  return server.jobs()->EnqueueJob(&context, request, &response);
}

TEST(Failure, AnUnknownOutcomeIsNeverAnsweredAsSuccess) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.disk().fail_commit(server.disk().last_committed() + 1,
                            store::CommitFault::kUnknownApplied);
  const grpc::Status status = try_enqueue(server);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_EQ(reason_of(status), "STORE_FAILED");
  ASSERT_TRUE(server.failure());
  EXPECT_EQ(server.failure()->exit_code, app::kExitIo);
  EXPECT_EQ(reason_of(try_enqueue(server)), "STORE_FAILED");
}

TEST(Failure, AnotherOwnerOfTheDataEndsThisOne) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.disk().fail_commit(server.disk().last_committed() + 1, store::CommitFault::kNotOwner);
  EXPECT_FALSE(try_enqueue(server).ok());
  ASSERT_TRUE(server.failure());
  EXPECT_THAT(server.failure()->text, ::testing::HasSubstr("another server owns the data"));
}

// The exit code of the process, and a sentence that names the row.
TEST(Failure, ADamagedRowStopsTheServerWithItsOwnCode) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  const auto key = model::parse_job_id(id);
  ASSERT_TRUE(key);
  server.disk().damage(core::Keyspace::kSide, model::keys::job(*key), "damage");
  v1::CancelJobRequest request;
  request.set_job_id(id);
  v1::CancelJobResponse response;
  CallContext context;
  const grpc::Status status = server.jobs()->CancelJob(&context, request, &response);
  EXPECT_EQ(reason_of(status), "STORE_FAILED") << "nothing is answered as if all were well";
  ASSERT_TRUE(server.failure());
  EXPECT_EQ(server.failure()->exit_code, app::kExitDamage);
  EXPECT_THAT(server.failure()->text,
              ::testing::AllOf(::testing::HasSubstr("keyspace side"), ::testing::HasSubstr(id)));
  EXPECT_EQ(reason_of(try_enqueue(server)), "STORE_FAILED");
}

// Changes what the real store of a stopped server holds.
void commit_to_the_disk(const InProcessServer& server,
                        const std::function<void(core::Batch&)>& fill) {
  core::InlineExecutor executor;
  store::OpenOptions options;
  options.directory = server.server_options().data;
  auto opened = store::open_store(options, executor);
  ASSERT_FALSE(opened.failure);
  auto batch = std::make_shared<core::Batch>();
  fill(*batch);
  auto outcome = core::Outcome::kUnknown;
  opened.store->commit(batch, opened.store->last_committed() + 1,
                       [&](core::CommitSeq, core::Outcome o, const std::string&) { outcome = o; });
  ASSERT_EQ(outcome, core::Outcome::kCommitted);
  opened.store->close();
}

// The same for a row that only a listing meets, beside the engine, over the real store.
TEST(Failure, ADamagedRowMetByAListingStopsTheServerToo) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  const auto key = model::parse_job_id(id);
  ASSERT_TRUE(key);
  server.stop();
  commit_to_the_disk(server, [&](core::Batch& batch) {
    batch.put(core::Keyspace::kJob, model::keys::job(*key), "damage");
  });
  server.start();
  ASSERT_FALSE(server.failure());
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue("q");
  v1::ListJobsResponse response;
  CallContext context;
  const grpc::Status status = server.jobs()->ListJobs(&context, request, &response);
  EXPECT_EQ(reason_of(status), "STORE_FAILED");
  EXPECT_EQ(response.jobs_size(), 0);
  ASSERT_TRUE(server.failure());
  EXPECT_EQ(server.failure()->exit_code, app::kExitDamage);
  EXPECT_THAT(server.failure()->text,
              ::testing::AllOf(::testing::HasSubstr("keyspace job"), ::testing::HasSubstr(id)));
}

// The payload of a job that is granted is read apart; that it is gone must not look like a job that
// has ended.
TEST(Failure, AMissingPayloadStopsTheServerToo) {
  InProcessServer server;
  server.make_queue("q");
  const std::string id = server.enqueue("q", std::string(10'000, 'p'));
  const auto key = model::parse_job_id(id);
  ASSERT_TRUE(key);
  server.stop();
  commit_to_the_disk(server, [&](core::Batch& batch) {
    batch.del(core::Keyspace::kPayload, model::keys::job(*key));
  });
  server.start();
  ASSERT_FALSE(server.failure());
  v1::LeaseJobsResponse response;
  CallContext context;
  const grpc::Status status = server.workers()->LeaseJobs(&context, lease_request("q"), &response);
  EXPECT_EQ(reason_of(status), "STORE_FAILED");
  ASSERT_TRUE(eventually([&] { return server.failure().has_value(); }));
  EXPECT_EQ(server.failure()->exit_code, app::kExitDamage);
  EXPECT_THAT(server.failure()->text,
              ::testing::AllOf(::testing::HasSubstr("keyspace payload"), ::testing::HasSubstr(id)));
}

// The operator's choice after damage: what came before it is there, and a worker of the lost time
// is refused for good.
TEST(Failure, AnAcceptedLossKeepsWhatCameBeforeAndNeverRepeatsAToken) {
  std::int64_t accept = 0;
  InProcessServer server(
      {.adjust = [&](base::ServerOptions& options) { options.accept_loss_after = accept; }});
  server.make_queue("q");
  const std::string before = server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.finish("s1", leased.jobs(0));
  for (int i = 0; i < 40; ++i) server.enqueue("q", std::string(3'000, 'p'));
  server.stop();

  namespace fs = std::filesystem;
  fs::path log;
  for (const auto& entry : fs::directory_iterator(server.server_options().data + "/db")) {
    if (entry.path().extension() == ".log") log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
  const auto middle = static_cast<std::streamoff>(fs::file_size(log) / 2);
  file.seekp(middle);
  file << "damage";
  file.close();
  std::string refusal;
  {
    core::InlineExecutor executor;
    store::OpenOptions options;
    options.directory = server.server_options().data;
    const auto opened = store::open_store(options, executor);
    ASSERT_TRUE(opened.failure);
    refusal = opened.failure->describe();
  }
  const std::string flag = "--accept-loss-after=";
  ASSERT_THAT(refusal, ::testing::HasSubstr(flag));
  accept = std::stoll(refusal.substr(refusal.find(flag) + flag.size()));

  server.start();
  EXPECT_EQ(server.get(before).state(), v1::JOB_STATE_SUCCEEDED);
  const auto left = server.counters("q").ready();
  EXPECT_GT(left, 5);
  EXPECT_LT(left, 35);
  const auto again = server.lease(lease_request("q", "s2"));
  ASSERT_EQ(again.jobs_size(), 1);
  EXPECT_GT(again.jobs(0).fencing_token(),
            leased.jobs(0).fencing_token() + static_cast<std::int64_t>(app::kTokenJump) - 1);
  accept = 0;
  server.restart();
  EXPECT_EQ(server.counters("q").ready(), left - 1) << "accepted for good";
}

TEST(Failure, AFullDiskRefusesNewWorkAndLetsWorkEnd) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  server.enqueue("q");
  const auto leased = server.lease(lease_request("q"));
  ASSERT_EQ(leased.jobs_size(), 1);
  server.disk().set_pressure(core::Pressure::kRefuseNew);
  server.enqueue("q");  // its commit tells the loop
  const grpc::Status refused = try_enqueue(server);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.info().pressure(), v1::ServerInfo::PRESSURE_REFUSE_NEW);
  EXPECT_EQ(server.info().clock_state(), v1::ServerInfo::CLOCK_STATE_OK)
      << "schedulers wait for it";
  EXPECT_EQ(server.finish("s1", leased.jobs(0)).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(server.stop_wanted());
  server.disk().set_pressure(core::Pressure::kOk);
  EXPECT_TRUE(eventually([&] { return try_enqueue(server).ok(); }));
}

// At the hard limit nothing may be written: it stops by itself, in an orderly way and with a code
// and a sentence that say why.
TEST(Failure, ADiskWithoutRoomStopsTheServerInAnOrderlyWay) {
  InProcessServer server({.memory = true});
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  server.disk().set_pressure(core::Pressure::kReadOnly);
  ASSERT_TRUE(eventually([&] { return server.stop_wanted().has_value(); }));
  EXPECT_EQ(server.stop_wanted()->exit_code, app::kExitDiskFull);
  EXPECT_THAT(server.stop_wanted()->text, ::testing::HasSubstr("free space on this file system"));
  EXPECT_FALSE(server.failure()) << "this is no failure of the store";
  EXPECT_EQ(try_enqueue(server).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_READY) << "reads go on";
  const std::uint64_t commits = server.server().store().stats().commits;
  server.stop();
  server.disk().set_pressure(core::Pressure::kOk);
  server.start();
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_READY);
  EXPECT_LE(commits, 4U) << "nothing was written for it";
}

}  // namespace
}  // namespace rota::testing
