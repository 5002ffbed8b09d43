// SPDX-License-Identifier: Apache-2.0
//
// Calls of every method against a server: whatever comes, each is answered with success or with a
// reason of the table, and what the server stored still adds up in the end (live_server.h).
//
// Input: up to kCallsMax calls, each of one byte for the method (a line of rpc/methods.inc), a
// position with its length, two bytes for the length of the request, and the request. In it the
// text
// "@job" stands for the id of the last job that was seen, "@operation" for the last operation, and
// the token -1 for the last fencing token. A position that is not empty makes a list go on from it,
// with a page token that is right in all else: anybody can make one.
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "base/error.h"
#include "fuzz/live_server.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rota/v1/admin_service.grpc.pb.h"
#include "rota/v1/job_service.grpc.pb.h"
#include "rota/v1/queue_service.grpc.pb.h"
#include "rota/v1/scheduler_service.grpc.pb.h"
#include "rota/v1/worker_service.grpc.pb.h"
#include "rpc/call_guard.h"
#include "rpc/page_token.h"

namespace {

using namespace rota;
namespace pb = google::protobuf;

constexpr int kCallsMax = 8;

// What earlier calls of the same input have shown.
struct Seen {
  std::string job;
  std::string operation;
  std::int64_t token = 0;
};

const pb::MethodDescriptor* method_of(const rpc::MethodInfo& info) {
  const std::string name = "rota.v1." + std::string(info.service) + "." + std::string(info.name);
  const auto* method = pb::DescriptorPool::generated_pool()->FindMethodByName(name);
  FUZZ_CHECK(method != nullptr, "no method " + name);
  return method;
}

std::unique_ptr<pb::Message> message_of(const pb::Descriptor* type) {
  const auto* prototype = pb::MessageFactory::generated_factory()->GetPrototype(type);
  return std::unique_ptr<pb::Message>(prototype->New());
}

// ---- what stands for something else

void put_seen(const Seen& seen, std::string* text) {
  if (*text == "@job") *text = seen.job;
  if (*text == "@operation") *text = seen.operation;
}

void fill_in(const Seen& seen, pb::Message* message);

void fill_in(const Seen& seen, const pb::FieldDescriptor* field, pb::Message* message) {
  const auto* reflection = message->GetReflection();
  if (field->is_repeated()) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE || field->is_map()) return;
    for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
      fill_in(seen, reflection->MutableRepeatedMessage(message, field, i));
    }
  } else if (field->cpp_type() == pb::FieldDescriptor::CPPTYPE_MESSAGE) {
    fill_in(seen, reflection->MutableMessage(message, field));
  } else if (field->type() == pb::FieldDescriptor::TYPE_STRING) {
    std::string text = reflection->GetString(*message, field);
    put_seen(seen, &text);
    reflection->SetString(message, field, std::move(text));
  } else if (field->name() == "fencing_token" && reflection->GetInt64(*message, field) == -1) {
    reflection->SetInt64(message, field, seen.token);
  }
}

void fill_in(const Seen& seen, pb::Message* message) {
  std::vector<const pb::FieldDescriptor*> fields;
  message->GetReflection()->ListFields(*message, &fields);
  for (const auto* field : fields) fill_in(seen, field, message);
}

template <class Request>
bool go_on_from(const char* listing, std::string_view position, pb::Message* message) {
  auto* request = dynamic_cast<Request*>(message);
  if (request == nullptr) return false;
  request->set_page_token(
      rpc::make_page_token(rpc::request_fingerprint(listing, *request), position));
  return true;
}

void put_position(std::string_view position, pb::Message* message) {
  if (position.empty()) return;
  go_on_from<v1::ListJobsRequest>("ListJobs", position, message) ||
      go_on_from<v1::ListQueuesRequest>("ListQueues", position, message) ||
      go_on_from<v1::ListSchedulersRequest>("ListSchedulers", position, message) ||
      go_on_from<v1::ListRunsRequest>("ListRuns", position, message) ||
      go_on_from<v1::ListWorkersRequest>("ListWorkers", position, message);
}

// The fuzzer's time is not spent in long polls.
void shorten_wait(pb::Message* message) {
  if (auto* lease = dynamic_cast<v1::LeaseJobsRequest*>(message)) {
    lease->mutable_wait_duration()->Clear();
  } else if (auto* wait = dynamic_cast<v1::WaitJobRequest*>(message)) {
    wait->mutable_wait_duration()->Clear();
  }
}

// ---- answers

void learn(const pb::Message& response, Seen* seen) {
  if (const auto* enqueued = dynamic_cast<const v1::EnqueueJobResponse*>(&response)) {
    seen->job = enqueued->job().id();
  } else if (const auto* bulk = dynamic_cast<const v1::BulkEnqueueJobsResponse*>(&response)) {
    for (const auto& result : bulk->results()) {
      if (result.has_job()) seen->job = result.job().id();
    }
  } else if (const auto* leased = dynamic_cast<const v1::LeaseJobsResponse*>(&response)) {
    for (const auto& job : leased->jobs()) {
      seen->job = job.job_id();
      seen->token = job.fencing_token();
    }
  } else if (const auto* purge = dynamic_cast<const v1::PurgeQueueResponse*>(&response)) {
    seen->operation = purge->operation().id();
  }
}

// Success, or a reason of the table with its code and, where the request is at fault, its field.
void check_refusal(const std::string& name, const grpc::Status& status) {
  const std::string words =
      name + ": " + std::to_string(status.error_code()) + " " + status.error_message();
  google::rpc::Status details;
  FUZZ_CHECK(details.ParseFromString(status.error_details()), words);
  bool has_reason = false;
  bool has_field = false;
  for (const auto& detail : details.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    if (detail.UnpackTo(&info)) {
      const auto reason = base::find_reason(info.reason());
      FUZZ_CHECK(reason, words);
      FUZZ_CHECK(*reason != base::Reason::kInternal && *reason != base::Reason::kStoreFailed,
                 words);
      FUZZ_CHECK(static_cast<int>(base::reason_info(*reason).code) == status.error_code(), words);
      has_reason = true;
    } else if (detail.UnpackTo(&bad)) {
      has_field = bad.field_violations_size() == 1 && !bad.field_violations(0).field().empty();
    }
  }
  FUZZ_CHECK(has_reason, words);
  FUZZ_CHECK(has_field || status.error_code() != grpc::StatusCode::INVALID_ARGUMENT, words);
}

// Wherever a page begins, it holds what was asked for and no more.
void check_page(const pb::Message& request, const pb::Message& response) {
  if (const auto* jobs = dynamic_cast<const v1::ListJobsResponse*>(&response)) {
    const auto& asked = dynamic_cast<const v1::ListJobsRequest&>(request);
    for (const auto& job : jobs->jobs()) {
      FUZZ_CHECK(job.queue() == asked.filter().queue(), "a job of queue " + job.queue());
    }
  } else if (const auto* queues = dynamic_cast<const v1::ListQueuesResponse*>(&response)) {
    const auto& asked = dynamic_cast<const v1::ListQueuesRequest&>(request);
    for (const auto& queue : queues->queues()) {
      FUZZ_CHECK(queue.name().starts_with(asked.name_prefix()), "queue " + queue.name());
    }
  }
}

void make_call(fuzz::Input& input, Seen* seen) {
  const auto& table = rpc::method_table();
  const auto* method = method_of(table[input.byte() % table.size()]);
  const std::string_view position = input.text();
  const std::size_t length = static_cast<std::size_t>(input.byte()) * 256;
  const std::string_view bytes = input.take(length + input.byte());

  const auto request = message_of(method->input_type());
  const bool readable = request->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
  std::string sent(bytes);
  if (readable) {
    fill_in(*seen, request.get());
    put_position(position, request.get());
    shorten_wait(request.get());
    sent = request->SerializeAsString();
  }
  const std::string name = "/" + method->service()->full_name() + "/" + method->name();
  const auto answer = fuzz::LiveServer::instance().call(name, sent);
  if (answer.status.ok()) {
    const auto response = message_of(method->output_type());
    FUZZ_CHECK(readable, name + " took what is no message");
    FUZZ_CHECK(response->ParseFromString(answer.bytes), name + " answered what is no message");
    learn(*response, seen);
    check_page(*request, *response);
  } else if (readable) {
    check_refusal(name, answer.status);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::LiveServer::instance().next_input();
  fuzz::Input input(data, size);
  Seen seen;
  for (int i = 0; i < kCallsMax && !input.empty(); ++i) make_call(input, &seen);
  return 0;
}
