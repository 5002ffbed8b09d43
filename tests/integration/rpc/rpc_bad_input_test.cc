// SPDX-License-Identifier: Apache-2.0
//
// Bad input answers with its reason and changes nothing else; garbage on the port ends its own
// connection only.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <chrono>

#include "base/limits.h"
#include "rpc/convert_time.h"
#include "rpc/grpc_server.h"
#include "rpc_fixture.h"

namespace rota::testing {
namespace {

class RpcBadInputTest : public RpcTest {};

TEST_F(RpcBadInputTest, AnotherNamespaceIsNotFoundEverywhere) {
  v1::EnqueueJobRequest enqueue_request;
  enqueue_request.set_namespace_("other");
  v1::LeaseJobsRequest lease_call;
  lease_call.set_namespace_("other");
  v1::SetQueueRequest set;
  set.set_namespace_("other");
  v1::UpsertSchedulerRequest upsert;
  upsert.set_namespace_("other");
  v1::GetServerInfoRequest info;
  info.set_namespace_("other");
  for (const auto& status : {refused(jobs(), &Jobs::EnqueueJob, enqueue_request),
                             refused(workers(), &Workers::LeaseJobs, lease_call),
                             refused(queues(), &Queues::SetQueue, set),
                             refused(schedulers(), &Schedulers::UpsertScheduler, upsert),
                             refused(admin(), &Admin::GetServerInfo, info)}) {
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
    EXPECT_EQ(reason_of(status), "NAMESPACE_NOT_FOUND");
  }
}

TEST_F(RpcBadInputTest, UnknownQueueIsNamed) {
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue("nowhere");
  request.mutable_job()->set_kind("k");
  const auto status = refused(jobs(), &Jobs::EnqueueJob, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(reason_of(status), "QUEUE_NOT_FOUND");
  EXPECT_EQ(details_of(status), (std::vector<std::string>{"ErrorInfo", "ResourceInfo"}));
  EXPECT_NE(status.error_message().find("nowhere"), std::string::npos);
  EXPECT_EQ(reason_of(refused(workers(), &Workers::LeaseJobs, lease_request("nowhere"))),
            "QUEUE_NOT_FOUND");
}

TEST_F(RpcBadInputTest, OversizedPayloadSaysSizeAndLimit) {
  make_queue("q");
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("k");
  request.mutable_job()->mutable_payload()->set_data(std::string(312 * 1024, 'x'));
  const auto status = refused(jobs(), &Jobs::EnqueueJob, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(reason_of(status), "PAYLOAD_TOO_LARGE");
  EXPECT_NE(status.error_message().find("312 KiB"), std::string::npos);
  EXPECT_NE(status.error_message().find("256 KiB"), std::string::npos);
}

TEST_F(RpcBadInputTest, SchedulerFaultsComeWithTheirReason) {
  make_queue("q");
  const auto declare = [&](const std::string& cron, const std::string& zone) {
    v1::UpsertSchedulerRequest request;
    request.mutable_scheduler()->set_id("s");
    request.mutable_scheduler()->mutable_spec()->add_parts()->set_cron(cron);
    request.mutable_scheduler()->mutable_spec()->set_time_zone(zone);
    request.mutable_scheduler()->mutable_job()->set_queue("q");
    request.mutable_scheduler()->mutable_job()->set_kind("k");
    return reason_of(refused(schedulers(), &Schedulers::UpsertScheduler, request));
  };
  EXPECT_EQ(declare("0 0 31 4 *", "UTC"), "BAD_CRON");
  EXPECT_EQ(declare("*/0 * * * *", "UTC"), "BAD_CRON");
  EXPECT_EQ(declare("0 0 L * *", "UTC"), "BAD_CRON");
  EXPECT_EQ(declare("0 0 * * *", "Mars/Olympus"), "UNKNOWN_TIME_ZONE");
  v1::ListSchedulersResponse all;
  EXPECT_EQ(
      ok(schedulers(), &Schedulers::ListSchedulers, v1::ListSchedulersRequest()).schedulers_size(),
      0);
}

TEST_F(RpcBadInputTest, BadPageSizeAndIds) {
  make_queue("q");
  v1::ListJobsRequest listing;
  listing.mutable_filter()->set_queue("q");
  listing.set_page_size(-1);
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::ListJobs, listing)), "INVALID_FIELD");
  v1::GetJobRequest request;
  request.set_job_id("not/an/id");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::GetJob, request)), "BAD_JOB_ID");
  request.set_job_id("zzzzz");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::GetJob, request)), "JOB_NOT_FOUND");
}

TEST_F(RpcBadInputTest, TooManyItemsAreRefusedAsAWhole) {
  make_queue("q");
  v1::BulkEnqueueJobsRequest request;
  for (int i = 0; i < 1'001; ++i) {
    request.add_jobs()->set_queue("q");
    request.mutable_jobs(i)->set_kind("k");
  }
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::BulkEnqueueJobs, request)), "TOO_MANY_ITEMS");
  v1::GetQueueRequest queue;
  queue.set_queue("q");
  EXPECT_EQ(ok(queues(), &Queues::GetQueue, queue).queue().counters().created(), 0);
}

// Answered by its size, at once and not at the deadline of the call.
TEST_F(RpcBadInputTest, OversizedMessageEndsItsCallOnly) {
  make_queue("q");
  const auto began = std::chrono::steady_clock::now();
  for (const std::size_t bytes :
       {base::limits::kReceiveBytesMax, 9 * base::kMiB, 40 * base::kMiB}) {
    v1::EnqueueJobRequest request;
    request.mutable_job()->set_queue("q");
    request.mutable_job()->set_kind("k");
    request.mutable_job()->mutable_payload()->set_data(std::string(bytes, 'x'));
    EXPECT_EQ(refused(jobs(), &Jobs::EnqueueJob, request).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
    v1::FinishJobsRequest finish;
    finish.set_session_id(session);
    finish.add_items()->set_log_tail(std::string(bytes, 'x'));
    EXPECT_EQ(refused(workers(), &Workers::FinishJobs, finish).error_code(),
              grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30))
      << "each has a deadline of 40 s";
  enqueue("q");
}

TEST_F(RpcBadInputTest, GarbageOnThePortEndsThatConnectionOnly) {
  make_queue("q");
  int port = 0;
  const auto host = rpc::host_of(server->address(), &port);
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), std::string(4096, '\xff'),
        std::string("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") + std::string(64, '\x7f')}) {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_GE(fd, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    ASSERT_EQ(::inet_pton(AF_INET, host.c_str(), &address.sin_addr), 1);
    ASSERT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    (void)!::send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL);
    ::shutdown(fd, SHUT_WR);
    char byte = 0;
    while (::recv(fd, &byte, 1, 0) > 0) {
    }
    ::close(fd);
    enqueue("q");
  }
}

}  // namespace
}  // namespace rota::testing
