// SPDX-License-Identifier: Apache-2.0
//
// Seeds of single messages: requests, and what a client reads.
#include <google/protobuf/any.pb.h>
#include <google/protobuf/text_format.h>

#include "fuzz/seeds.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"
#include "rota/v1/scheduler_service.pb.h"
#include "rota/v1/worker_service.pb.h"

namespace rota::fuzz {
namespace {

template <class Message>
Message parsed(const char* text) {
  Message message;
  if (!google::protobuf::TextFormat::ParseFromString(text, &message)) std::exit(1);
  return message;
}

constexpr const char* kJobId = "0cj4t5";  // of no job; the form is right

void put_job_requests(const Seeds& seeds) {
  const std::string target = "job_requests";
  seeds.message(target, "plain", 0, parsed<v1::JobSpec>(R"(
    queue: "q" kind: "k" payload { data: "{}" content_type: "application/json" })"));
  seeds.message(target, "full", 0, parsed<v1::JobSpec>(R"(
    queue: "a/b" kind: "k" payload { data: "text" content_type: "text/plain" } priority: 7
    delay { seconds: 30 } start_deadline { seconds: 1796050000 } attempt_timeout { seconds: 300 }
    retry { max_attempts: 3 give_up_after { seconds: 3600 }
            backoff { mode: MODE_EXPONENTIAL first { seconds: 1 } factor: 2 cap { seconds: 60 }
                      jitter: 0.2 } }
    business_key: "key" business_key_scope: "scope" labels { key: "a" value: "1" }
    dedup { on_dead: ON_DEAD_REDRIVE })"));
  seeds.message(target, "listed-pauses", 0, parsed<v1::JobSpec>(R"(
    queue: "q" kind: "k" run_at { seconds: 1796050000 nanos: 5000000 } no_attempt_timeout: true
    retry { backoff { mode: MODE_LISTED delays { seconds: 1 } delays { nanos: 500000000 } } })"));
  seeds.message(target, "no-number", 0, parsed<v1::JobSpec>(R"(
    queue: "q" kind: "k" retry { backoff { factor: nan jitter: inf } })"));
  seeds.message(target, "odd-times", 0, parsed<v1::JobSpec>(R"(
    queue: "q" kind: "k" run_at { seconds: 9223372036854775807 nanos: -1 })"));
  auto update = parsed<v1::UpdateJobRequest>(R"(
    changes { priority: 9 run_at { seconds: 1796050000 } }
    update_mask { paths: "priority" paths: "run_at" paths: "start_deadline" })");
  update.set_job_id(kJobId);
  seeds.message(target, "update", 1, update);
  seeds.put(target, "id", 2, kJobId);
  seeds.put(target, "bad-id", 2, "UPPER case");
}

void put_worker_requests(const Seeds& seeds) {
  const std::string target = "worker_requests";
  seeds.message(target, "lease", 0, parsed<v1::LeaseJobsRequest>(R"(
    request_id: "r" protocol: 1 session_id: "s" worker { worker_id: "w" host: "h" concurrency: 8
    labels { key: "a" value: "1" } } queues: "q" queues: "a/b" max_jobs: 10
    wait_duration { seconds: 20 } lease_ttl { seconds: 30 })"));
  seeds.message(target, "lease-with-outcomes", 0, parsed<v1::LeaseJobsRequest>(R"(
    session_id: "s" worker { worker_id: "w" } queues: "q" max_jobs: 1
    outcomes { lease { job_id: "0cj4t5" fencing_token: 7 } outcome { success {} } })"));
  seeds.message(target, "heartbeat", 1, parsed<v1::HeartbeatRequest>(R"(
    session_id: "s" leases { job_id: "0cj4t5" fencing_token: 7 })"));
  seeds.message(target, "finish", 2, parsed<v1::FinishJobsRequest>(R"(
    session_id: "s"
    items { lease { job_id: "0cj4t5" fencing_token: 7 } log_tail: "log"
            outcome { success { result { data: "r" } result_truncated: true } } }
    items { lease { job_id: "0cj4t5" fencing_token: 8 }
            outcome { failure { failure { type: "T" message: "m" detail: "d" } not_retryable: true
                                retry_after { seconds: 5 } } } }
    items { lease { job_id: "0cj4t5" fencing_token: 9 } outcome { snooze { delay { seconds: 5 } } } }
    items { lease { job_id: "?" } outcome { release { reason: REASON_NO_HANDLER } } })"));
}

void put_queue_requests(const Seeds& seeds) {
  const std::string target = "queue_requests";
  seeds.message(target, "settings", 0, parsed<v1::SetQueueRequest>(R"(
    queue: "q" settings { concurrency_limit: 3 max_waiting: 10 attempt_timeout { seconds: 60 }
    retry { max_attempts: 4 } retention { succeeded_age { seconds: 3600 } succeeded_count: 5
    ledger_forever: true } })"));
  seeds.message(target, "masked", 0, parsed<v1::SetQueueRequest>(R"(
    queue: "q" update_mask { paths: "concurrency_limit" paths: "retention" paths: "retry" })"));
  seeds.put(target, "operation", 1, "op7");
}

constexpr const char* kUpsert = R"(
  scheduler { id: "nightly" spec { parts { cron: "0 3 * * *" } time_zone: "Europe/Berlin"
              start_time { seconds: 1796040000 } }
              overlap { mode: MODE_WAIT_ONE }
              catch_up { mode: MODE_ALL window { seconds: 3600 } max_runs: 5 }
              business_day_offset: -1
              job { queue: "q" kind: "k" payload { data: "{{nominal_time}}" } priority: 5
                    business_key: "x-{{business_date}}" start_deadline_after { seconds: 60 } }
              owner: "team" revision: 3 })";
constexpr const char* kInterval = R"(
  scheduler { id: "often" spec { parts { interval { every { seconds: 90 } phase { seconds: 5 } } }
              time_zone: "+02:00" } job { queue: "q" kind: "k" no_attempt_timeout: true } })";

void put_scheduler_requests(const Seeds& seeds) {
  const std::string target = "scheduler_requests";
  const std::string mask = "spec\njob\nowner\n";
  const auto put = [&](const char* name, const char* text) {
    const auto request = parsed<v1::UpsertSchedulerRequest>(text);
    seeds.put(target, name, static_cast<std::uint8_t>(mask.size()),
              mask + request.SerializeAsString());
  };
  put("cron", kUpsert);
  put("interval", kInterval);
}

template <class Detail>
void pack(const Detail& detail, const std::string& name, google::rpc::Status* status) {
  auto* any = status->add_details();
  any->set_type_url("type.googleapis.com/google.rpc." + name);
  any->set_value(detail.SerializeAsString());
}

void put_client_messages(const Seeds& seeds) {
  google::rpc::ErrorInfo info;
  info.set_reason("ALREADY_FINAL");
  info.set_domain("rota");
  (*info.mutable_metadata())["state"] = "CANCELLED";
  google::rpc::BadRequest bad;
  bad.add_field_violations()->set_field("job.queue");
  google::rpc::RetryInfo retry;
  retry.mutable_retry_delay()->set_nanos(200'000'000);
  google::rpc::Status status;
  status.set_code(3);
  pack(info, "ErrorInfo", &status);
  pack(bad, "BadRequest", &status);
  pack(retry, "RetryInfo", &status);
  const std::string message =
      "\x05"
      "words";
  seeds.put("status_details", "of-the-server", 8, message + status.SerializeAsString());
  const std::string lost = "connection reset";
  seeds.put("status_details", "of-the-transport", 13, static_cast<char>(lost.size()) + lost);
  google::rpc::Status late;
  retry.mutable_retry_delay()->set_seconds(INT64_MAX);
  pack(retry, "RetryInfo", &late);
  seeds.put("status_details", "advice-of-an-age", 7, message + late.SerializeAsString());
  seeds.message("status_details", "item", 0x80, parsed<v1::ItemError>(R"(
    code: 8 reason: "QUEUE_FULL" field: "queue" message: "m" retry_after { seconds: 1 })"));

  seeds.message("status_details", "item-of-no-code", 0x80, parsed<v1::ItemError>("code: 49"));

  seeds.message("client_values", "job", 0, parsed<v1::Job>(R"(
    id: "0cj4t5" queue: "q" kind: "k" state: JOB_STATE_DEAD payload { data: "p" }
    attempt_timeout { seconds: 60 } labels { key: "a" value: "1" }
    retry { max_attempts: 3 backoff { mode: MODE_FIXED first { seconds: 1 } } }
    run_at { seconds: 1796050000 }
    attempts { number: 1 fencing_token: 7 outcome: ATTEMPT_OUTCOME_FAILED
               failure { message: "m" } start_time { seconds: 1796040000 } })"));
  seeds.message("client_values", "times-of-no-calendar", 0, parsed<v1::Job>(R"(
    run_at { seconds: -9223372036854775808 nanos: 2147483647 }
    attempt_timeout { seconds: 9223372036854775807 nanos: -2147483648 })"));
  seeds.message("client_values", "enqueued", 1, parsed<v1::EnqueuedJob>(R"(
    id: "0cj4t5" created: true state: JOB_STATE_SUCCEEDED result { data: "r" })"));
  seeds.message("client_values", "declared", 2, parsed<v1::UpsertSchedulerResponse>(R"(
    result: RESULT_CHANGED changed_fields: "job" next_ticks { nominal_time { seconds: 5 } })"));
  seeds.message("client_values", "span", 3,
                parsed<google::protobuf::Duration>("seconds: 3600 nanos: 5"));
}

}  // namespace

void put_request_seeds(const Seeds& seeds) {
  put_job_requests(seeds);
  put_worker_requests(seeds);
  put_queue_requests(seeds);
  put_scheduler_requests(seeds);
  put_client_messages(seeds);
}

}  // namespace rota::fuzz
