// SPDX-License-Identifier: Apache-2.0
//
// The table of methods covers every RPC of every service, and the guard refuses what it must.
#include "rpc/call_guard.h"

#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <string_view>

#include "rota/v1/admin_service.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rota/v1/worker_service.pb.h"

namespace rota::rpc {
namespace {

std::set<std::string> rpcs_of(const google::protobuf::FileDescriptor* file) {
  std::set<std::string> names;
  for (int s = 0; s < file->service_count(); ++s) {
    for (int m = 0; m < file->service(s)->method_count(); ++m) {
      names.insert(file->service(s)->name() + "/" + file->service(s)->method(m)->name());
    }
  }
  return names;
}

TEST(MethodTable, CoversEveryRpcOfTheServices) {
  std::set<std::string> served;
  for (const auto* file :
       {v1::EnqueueJobRequest::descriptor()->file(), v1::LeaseJobsRequest::descriptor()->file(),
        v1::SetQueueRequest::descriptor()->file(), v1::UpsertSchedulerRequest::descriptor()->file(),
        v1::GetServerInfoRequest::descriptor()->file()}) {
    served.merge(rpcs_of(file));
  }
  std::set<std::string> listed;
  for (const auto& info : method_table()) {
    listed.insert(std::string(info.service) + "/" + std::string(info.name));
  }
  EXPECT_EQ(listed, served);
  EXPECT_EQ(method_table().size(), served.size()) << "a line stands twice";
}

TEST(MethodTable, EveryRequestNamesItsNamespace) {
  for (const auto* file :
       {v1::EnqueueJobRequest::descriptor()->file(), v1::LeaseJobsRequest::descriptor()->file(),
        v1::SetQueueRequest::descriptor()->file(), v1::UpsertSchedulerRequest::descriptor()->file(),
        v1::GetServerInfoRequest::descriptor()->file()}) {
    for (int s = 0; s < file->service_count(); ++s) {
      for (int m = 0; m < file->service(s)->method_count(); ++m) {
        const auto* request = file->service(s)->method(m)->input_type();
        const auto* field = request->FindFieldByName("namespace");
        ASSERT_NE(field, nullptr) << request->full_name();
        EXPECT_EQ(field->number(), 1) << request->full_name();
      }
    }
  }
}

std::string source_of(std::string_view service) {
  std::string file;  // "JobService" is in job_service.cc
  for (const char c : service) {
    if (c >= 'A' && c <= 'Z' && !file.empty()) file += '_';
    file += static_cast<char>(std::tolower(c));
  }
  std::ifstream in(std::string(ROTA_RPC_SOURCES) + "/" + file + ".cc");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Which line of the table a handler shows to the guard cannot be seen from outside while both lines
// are of one class. So the text of the handlers is read: the first thing each does is to ask the
// guard, for itself.
TEST(MethodTable, EveryHandlerAsksTheGuardForItself) {
  const std::string admit = "context_.guard.admit(*call, Method::k";
  for (const auto& info : method_table()) {
    SCOPED_TRACE(std::string(info.service) + "/" + std::string(info.name));
    const std::string source = source_of(info.service);
    const auto handler = source.find("Reactor* " + std::string(info.name) + "(");
    ASSERT_NE(handler, std::string::npos);
    const auto asked = source.find(admit, handler);
    ASSERT_NE(asked, std::string::npos);
    EXPECT_GT(source.find("Reactor* ", handler + 1), asked) << "another handler's";
    const std::string own = std::string(info.service) + std::string(info.name) + ",";
    EXPECT_EQ(source.substr(asked + admit.size(), own.size()), own);
    // Nothing but the name of the result stands before it.
    const auto body = source.find("{", handler);
    const std::string before = source.substr(body + 1, asked - body - 1);
    EXPECT_EQ(before.find(';'), std::string::npos) << before;
  }
}

class GuardTest : public testing::Test {
 protected:
  base::SystemClock clock;
  ReplyBudget replies{100};
  CallGuard guard{clock, replies};
  grpc::CallbackServerContext call;
};

TEST_F(GuardTest, EmptyAndDefaultNamespaceAreTheSame) {
  for (const std::string name : {"", "default"}) {
    const auto caller = guard.admit(call, Method::kJobServiceGetJob, name);
    ASSERT_TRUE(caller);
    EXPECT_EQ(caller->name_space, "default");
    EXPECT_EQ(caller->principal, "local");
  }
}

TEST_F(GuardTest, AnotherNamespaceIsNotFound) {
  const auto caller = guard.admit(call, Method::kJobServiceEnqueueJob, "other");
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().reason, base::Reason::kNamespaceNotFound);
  EXPECT_EQ(caller.error().meta.at("namespace"), "other");
}

TEST_F(GuardTest, TextThatIsNoNameIsABadField) {
  const auto caller = guard.admit(call, Method::kJobServiceEnqueueJob, "no spaces allowed");
  ASSERT_FALSE(caller);
  EXPECT_EQ(caller.error().reason, base::Reason::kInvalidField);
  EXPECT_EQ(caller.error().field, "namespace");
}

TEST_F(GuardTest, DrainingRefusesOnlyWhatBeginsWork) {
  guard.drain();
  for (const auto& info : method_table()) {
    const auto caller = guard.admit(call, info.method, "");
    if (info.method_class == MethodClass::kOpening) {
      ASSERT_FALSE(caller) << info.name;
      EXPECT_EQ(caller.error().reason, base::Reason::kDraining) << info.name;
      EXPECT_GT(caller.error().retry_after_ms, 0);
    } else {
      EXPECT_TRUE(caller) << info.name;
    }
  }
}

TEST_F(GuardTest, AnswersThatNobodyReadsRefuseNeitherWhatLetsWorkEndNorWhoAsksWhatIsWrong) {
  const auto contexts = replies.contexts();
  auto* unread = contexts->NewCallbackServerContext();
  v1::GetJobRequest answer;
  answer.set_job_id(std::string(200, 'x'));
  replies.hand_over(unread, answer);
  for (const auto& info : method_table()) {
    const auto caller = guard.admit(call, info.method, "");
    if (info.method_class == MethodClass::kClosing || info.method_class == MethodClass::kBrief) {
      EXPECT_TRUE(caller) << info.name;
      continue;
    }
    ASSERT_FALSE(caller) << info.name;
    EXPECT_EQ(caller.error().reason, base::Reason::kOverloaded) << info.name;
    EXPECT_GT(caller.error().retry_after_ms, 0);
  }
  for (const Method method : {Method::kWorkerServiceHeartbeat, Method::kWorkerServiceFinishJobs,
                              Method::kAdminServiceGetServerInfo}) {
    EXPECT_TRUE(guard.admit(call, method, ""));
  }
  contexts->Release(unread);
  for (const auto& info : method_table()) EXPECT_TRUE(guard.admit(call, info.method, ""));
}

}  // namespace
}  // namespace rota::rpc
