// SPDX-License-Identifier: Apache-2.0
//
// Seeds of whole conversations with a server, and of bytes on its port.
#include <google/protobuf/text_format.h>

#include <initializer_list>

#include "fuzz/seeds.h"
#include "model/bytes.h"
#include "model/keys.h"
#include "rota/v1/admin_service.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rota/v1/worker_service.pb.h"
#include "rpc/call_guard.h"

namespace rota::fuzz {
namespace {

using rpc::Method;

template <class Request>
std::string call(Method method, const char* text, std::string_view position = {}) {
  Request request;
  if (!google::protobuf::TextFormat::ParseFromString(text, &request)) std::exit(1);
  const std::string bytes = request.SerializeAsString();
  model::Writer w;
  w.u8(static_cast<std::uint8_t>(method));
  w.u8(static_cast<std::uint8_t>(position.size()));
  w.raw(position);
  w.u8(static_cast<std::uint8_t>(bytes.size() / 256));
  w.u8(static_cast<std::uint8_t>(bytes.size() % 256));
  w.raw(bytes);
  return w.take();
}

void put(const Seeds& seeds, const char* name, std::initializer_list<std::string> calls) {
  std::string all;
  for (const std::string& one : calls) all += one;
  seeds.put("calls", name, all);
}

std::string set_queue(const char* text = R"(queue: "q")") {
  return call<v1::SetQueueRequest>(Method::kQueueServiceSetQueue, text);
}
std::string enqueue(const char* text = R"(job { queue: "q" kind: "k" payload { data: "p" } })") {
  return call<v1::EnqueueJobRequest>(Method::kJobServiceEnqueueJob, text);
}
std::string lease() {
  return call<v1::LeaseJobsRequest>(Method::kWorkerServiceLeaseJobs, R"(
    session_id: "s" worker { worker_id: "w" } queues: "q" max_jobs: 5)");
}
std::string finish(const char* outcome) {
  const std::string text = R"(session_id: "s" items { lease { job_id: "@job" fencing_token: -1 }
                              outcome { )" +
                           std::string(outcome) + " } }";
  return call<v1::FinishJobsRequest>(Method::kWorkerServiceFinishJobs, text.c_str());
}

void put_lives(const Seeds& seeds) {
  put(seeds, "success",
      {set_queue(), enqueue(), lease(), finish("success { result { data: \"r\" } }"),
       call<v1::GetJobRequest>(Method::kJobServiceGetJob,
                               R"(job_id: "@job" include_payload: true)"),
       call<v1::DeleteJobRequest>(Method::kJobServiceDeleteJob, R"(job_id: "@job")")});
  put(seeds, "failure-and-redrive",
      {set_queue(R"(queue: "q" settings { retry { max_attempts: 1 } })"), enqueue(), lease(),
       finish(R"(failure { failure { type: "T" message: "m" } })"),
       call<v1::RedriveJobRequest>(Method::kJobServiceRedriveJob,
                                   R"(job_id: "@job" request_id: "r")"),
       call<v1::ExplainJobRequest>(Method::kJobServiceExplainJob, R"(job_id: "@job")")});
  put(seeds, "change-and-cancel",
      {set_queue(), enqueue(R"(job { queue: "q" kind: "k" delay { seconds: 60 } })"),
       call<v1::UpdateJobRequest>(Method::kJobServiceUpdateJob, R"(
         job_id: "@job" changes { priority: 200 } update_mask { paths: "priority" })"),
       call<v1::CancelJobRequest>(Method::kJobServiceCancelJob, R"(job_id: "@job" reason: "why")"),
       call<v1::WaitJobRequest>(Method::kJobServiceWaitJob, R"(job_id: "@job")")});
  put(seeds, "heartbeat",
      {set_queue(), enqueue(), lease(),
       call<v1::HeartbeatRequest>(Method::kWorkerServiceHeartbeat, R"(
                             session_id: "s" leases { job_id: "@job" fencing_token: -1 })"),
       finish("snooze { delay { seconds: 1 } }")});
  put(seeds, "business-key",
      {set_queue(), enqueue(R"(request_id: "r" job { queue: "q" kind: "k" business_key: "b" })"),
       enqueue(R"(request_id: "r" job { queue: "q" kind: "k" business_key: "b" })"),
       call<v1::BulkEnqueueJobsRequest>(Method::kJobServiceBulkEnqueueJobs, R"(
         jobs { queue: "q" kind: "k" business_key: "b" } jobs { queue: "q" kind: "other"
         business_key: "b" } jobs { queue: "" })")});
  put(seeds, "queue",
      {set_queue(),
       call<v1::PauseQueueRequest>(Method::kQueueServicePauseQueue, R"(queue: "q" note: "n")"),
       call<v1::PurgeQueueRequest>(Method::kQueueServicePurgeQueue,
                                   R"(queue: "q" request_id: "r")"),
       call<v1::GetOperationRequest>(Method::kAdminServiceGetOperation,
                                     R"(operation_id: "@operation")"),
       call<v1::CancelOperationRequest>(Method::kAdminServiceCancelOperation,
                                        R"(operation_id: "@operation")"),
       call<v1::GetServerInfoRequest>(Method::kAdminServiceGetServerInfo, ""),
       call<v1::DeleteQueueRequest>(Method::kQueueServiceDeleteQueue, R"(queue: "q")")});
  put(seeds, "scheduler",
      {set_queue(), call<v1::UpsertSchedulerRequest>(Method::kSchedulerServiceUpsertScheduler, R"(
         scheduler { id: "n" spec { parts { interval { every { seconds: 1 } } } }
                     job { queue: "q" kind: "k" } })"),
       call<v1::PauseSchedulerRequest>(Method::kSchedulerServicePauseScheduler,
                                       R"(scheduler_id: "n" note: "x")"),
       call<v1::GetSchedulerRequest>(Method::kSchedulerServiceGetScheduler, R"(scheduler_id: "n")"),
       call<v1::PreviewSchedulerRequest>(Method::kSchedulerServicePreviewScheduler, R"(
         spec { parts { cron: "0 2 * * *" } time_zone: "Europe/Berlin" } count: 3)"),
       call<v1::DeleteSchedulerRequest>(Method::kSchedulerServiceDeleteScheduler,
                                        R"(scheduler_id: "n")")});
}

// ListJobs goes on in a section, at a key of it (rpc/job_list.cc).
std::string position(int section, std::string_view key) {
  model::Writer w;
  w.u8(static_cast<std::uint8_t>(section));
  w.u8(0);
  w.str(key);
  w.u32(0);
  return w.take();
}

void put_lists(const Seeds& seeds) {
  const auto list = [](std::string_view at) {
    return call<v1::ListJobsRequest>(Method::kJobServiceListJobs,
                                     R"(filter { queue: "q" } page_size: 2)", at);
  };
  const auto ended = [&] { return set_queue() + enqueue() + lease() + finish("success { }"); };
  put(seeds, "list-jobs", {ended(), enqueue(), enqueue(), list({})});
  put(seeds, "list-jobs-from-a-key",
      {ended(), enqueue(), list(position(2, model::keys::job({1, 100, 1}))),
       list(position(3, model::keys::final_index_begin(1, model::JobState::kSucceeded, 0)))});
  put(seeds, "list-jobs-from-another-range",
      {ended(), list(position(3, "j")), list(position(2, "")), list(position(2, "\xff\xff")),
       list(position(1, "\xff"))});
  put(seeds, "list-queues",
      {set_queue(),
       call<v1::ListQueuesRequest>(Method::kQueueServiceListQueues, "page_size: 1", "1")});
  put(seeds, "list-workers",
      {set_queue(), lease(),
       call<v1::ListWorkersRequest>(Method::kWorkerServiceListWorkers, "page_size: 1", "s")});
  put(seeds, "list-schedulers",
      {call<v1::ListSchedulersRequest>(Method::kSchedulerServiceListSchedulers, "page_size: 1",
                                       "n"),
       call<v1::ListRunsRequest>(Method::kSchedulerServiceListRuns,
                                 R"(scheduler_id: "n" page_size: 1)",
                                 model::keys::run("default", "n", 5, 1))});
}

void put_port_bytes(const Seeds& seeds) {
  using namespace std::string_view_literals;
  seeds.put("port", "http1", 0, "GET / HTTP/1.1\r\nHost: a\r\n\r\n");
  seeds.put("port", "silence", 1, "");
  seeds.put("port", "ping", 1,
            "\0\0\x08\x06\0\0\0\0\0"
            "12345678"sv);
  seeds.put("port", "reset-of-no-stream", 1, "\0\0\x04\x03\0\0\0\0\x01\0\0\0\x08"sv);
  seeds.put("port", "window-of-zero", 1, "\0\0\x04\x08\0\0\0\0\0\0\0\0\0"sv);
  seeds.put("port", "frame-too-long", 1, "\xff\xff\xff\0\0\0\0\0\x01"sv);
  seeds.put(
      "port", "headers-without-an-end", 1,
      "\0\0\x01\x01\0\0\0\0\x01\x82\0\0\x01\x09\0\0\0\0\x01\x84\0\0\x01\x09\0\0\0\0\x01\x86"sv);
  seeds.put("port", "hello-of-tls", 0, "\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03"sv);
}

}  // namespace

void put_call_seeds(const Seeds& seeds) {
  put_lives(seeds);
  put_lists(seeds);
  put_port_bytes(seeds);
}

}  // namespace rota::fuzz
