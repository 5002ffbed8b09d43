// SPDX-License-Identifier: Apache-2.0
//
// Every RPC of every service goes through the guard before it does anything: asked for a namespace
// that does not exist, each answers NAMESPACE_NOT_FOUND and nothing else happens. The calls are
// made from the table of methods and not by name, so that a new RPC cannot be forgotten here.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <grpcpp/generic/generic_stub.h>
#include <gtest/gtest.h>

#include "rpc/call_guard.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::MethodDescriptor;

// The methods whose request names no namespace, "JobService/GetJob". A method that comes here is
// not kept apart by permissions later: have a reason.
const std::set<std::string> kWithoutNamespace = {};

std::string name_of(const rpc::MethodInfo& info) {
  return std::string(info.service) + "/" + std::string(info.name);
}

const MethodDescriptor* descriptor_of(const rpc::MethodInfo& info) {
  return DescriptorPool::generated_pool()->FindMethodByName("rota.v1." + std::string(info.service) +
                                                            "." + std::string(info.name));
}

class GuardOverTheWire : public ::testing::Test {
 protected:
  std::unique_ptr<Message> request_of(const rpc::MethodInfo& info, const std::string& name_space) {
    const auto* type = descriptor_of(info)->input_type();
    std::unique_ptr<Message> request(
        google::protobuf::MessageFactory::generated_factory()->GetPrototype(type)->New());
    const FieldDescriptor* field = type->FindFieldByName("namespace");
    if (field != nullptr) request->GetReflection()->SetString(request.get(), field, name_space);
    return request;
  }

  grpc::Status call(const rpc::MethodInfo& info, const Message& request) {
    const grpc::Slice slice(request.SerializeAsString());
    grpc::ByteBuffer bytes(&slice, 1), answer;
    CallContext context;
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<grpc::Status> status;
    grpc::GenericStub stub(server_.channel());
    stub.UnaryCall(&context, "/rota.v1." + name_of(info), grpc::StubOptions(), &bytes, &answer,
                   [&](grpc::Status said) {
                     const std::lock_guard lock(mutex);
                     status = std::move(said);
                     changed.notify_all();
                   });
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return status.has_value(); });  // the call has a deadline
    return *status;
  }

  InProcessServer server_{{.memory = true}};
};

TEST_F(GuardOverTheWire, EveryRpcRefusesANamespaceThatDoesNotExist) {
  server_.make_queue("q");
  server_.enqueue("q");
  const std::int64_t before = server_.info().commit_seq();
  std::set<std::string> without;
  int refused = 0;
  for (const rpc::MethodInfo& info : rpc::method_table()) {
    SCOPED_TRACE(name_of(info));
    ASSERT_NE(descriptor_of(info), nullptr);
    if (descriptor_of(info)->input_type()->FindFieldByName("namespace") == nullptr) {
      without.insert(name_of(info));
      continue;
    }
    const grpc::Status status = call(info, *request_of(info, "elsewhere"));
    EXPECT_EQ(status.error_code(), grpc::StatusCode::NOT_FOUND) << status.error_message();
    EXPECT_EQ(reason_of(status), "NAMESPACE_NOT_FOUND") << status.error_message();
    EXPECT_NE(status.error_message().find("elsewhere"), std::string::npos)
        << status.error_message();
    refused += reason_of(status) == "NAMESPACE_NOT_FOUND" ? 1 : 0;
  }
  EXPECT_EQ(without, kWithoutNamespace);
  EXPECT_EQ(refused + without.size(), rpc::method_table().size());
  EXPECT_EQ(server_.info().commit_seq(), before) << "a refused call changed something";
}

// The same calls for the namespace that exists get past the guard, so that it was the guard which
// refused them: with nothing else in the request each is answered, or refused for another reason.
TEST_F(GuardOverTheWire, EveryRpcIsLetThroughToTheNamespaceThatExists) {
  for (const rpc::MethodInfo& info : rpc::method_table()) {
    SCOPED_TRACE(name_of(info));
    for (const char* name_space : {"", "default"}) {
      const grpc::Status status = call(info, *request_of(info, name_space));
      EXPECT_NE(reason_of(status), "NAMESPACE_NOT_FOUND");
      EXPECT_TRUE(status.ok() || !reason_of(status).empty())
          << status.error_code() << " " << status.error_message();
    }
  }
}

// Reflection and health, which are not ours, are all that is served beside the table.
TEST_F(GuardOverTheWire, AMethodThatIsNotInTheTableIsNotServed) {
  const rpc::MethodInfo unknown{rpc::Method::kJobServiceGetJob, "JobService", "ForgetJob",
                                rpc::MethodClass::kQuery};
  EXPECT_EQ(call(unknown, v1::GetJobRequest()).error_code(), grpc::StatusCode::UNIMPLEMENTED);
}

}  // namespace
}  // namespace rota::testing
