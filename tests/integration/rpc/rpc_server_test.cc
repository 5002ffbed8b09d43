// SPDX-License-Identifier: Apache-2.0
//
// The server itself over the wire: info, health, unknown methods.
#include <future>

#include <grpcpp/generic/generic_stub.h>

#include "rpc_fixture.h"

namespace rota::testing {
namespace {

class RpcServerTest : public RpcTest {
 protected:
  // Calls the standard health service without its generated code: a request is field 1, a name; an
  // answer is field 1, a number.
  int health(const std::string& service) {
    std::string request;
    if (!service.empty())
      request = std::string("\x0a") + static_cast<char>(service.size()) + service;
    grpc::Slice slice(request);
    grpc::ByteBuffer sent(&slice, 1);
    grpc::ByteBuffer received;
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    grpc::GenericStub stub(channel);
    std::promise<grpc::Status> ended;
    stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", grpc::StubOptions(), &sent, &received,
                   [&](grpc::Status status) { ended.set_value(std::move(status)); });
    const auto status = ended.get_future().get();
    if (!status.ok()) return -static_cast<int>(status.error_code());
    grpc::Slice answer;
    EXPECT_TRUE(received.DumpToSingleSlice(&answer).ok());
    return answer.size() >= 2 ? answer.begin()[1] : 0;
  }
  static constexpr int kServing = 1;
};

TEST_F(RpcServerTest, InfoSaysWhatItIs) {
  make_queue("q");
  enqueue("q");
  const auto info = ok(admin(), &Admin::GetServerInfo, v1::GetServerInfoRequest()).server();
  EXPECT_FALSE(info.version().empty());
  EXPECT_GT(info.server_epoch(), 0);
  EXPECT_EQ(info.protocol(), 1);
  ASSERT_EQ(info.listen_addresses_size(), 1);
  EXPECT_EQ(info.listen_addresses(0), server->address());
  EXPECT_EQ(info.queue_count(), 1);
  EXPECT_GT(info.commit_seq(), 0);
  EXPECT_EQ(info.pressure(), v1::ServerInfo::PRESSURE_OK);
  EXPECT_EQ(info.clock_state(), v1::ServerInfo::CLOCK_STATE_OK);
  EXPECT_FALSE(info.draining());
}

TEST_F(RpcServerTest, HealthKnowsEachService) {
  for (const std::string name :
       {"", "rota.v1.JobService", "rota.v1.WorkerService", "rota.v1.QueueService",
        "rota.v1.SchedulerService", "rota.v1.AdminService"}) {
    EXPECT_EQ(health(name), kServing) << name;
  }
  EXPECT_EQ(health("rota.v1.Other"), -static_cast<int>(grpc::StatusCode::NOT_FOUND));
}

TEST_F(RpcServerTest, UnknownMethodIsUnimplemented) {
  grpc::GenericStub stub(channel);
  grpc::ClientContext context;
  grpc::ByteBuffer sent;
  grpc::Slice empty;
  sent = grpc::ByteBuffer(&empty, 1);
  grpc::ByteBuffer received;
  std::promise<grpc::Status> ended;
  stub.UnaryCall(&context, "/rota.v1.JobService/Later", grpc::StubOptions(), &sent, &received,
                 [&](grpc::Status status) { ended.set_value(std::move(status)); });
  EXPECT_EQ(ended.get_future().get().error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace rota::testing
