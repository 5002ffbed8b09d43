// SPDX-License-Identifier: Apache-2.0
//
// Seeds of what is stored: one plain and one full value of every record, key and log entry.
#include "core/command_log.h"
#include "core/request_answers.h"
#include "fuzz/seeds.h"
#include "model/bytes.h"
#include "model/job_id.h"
#include "model/keys.h"
#include "model/queue.h"
#include "model/records.h"
#include "model/scheduler.h"
#include "rpc/page_token.h"
#include "store/store_record.h"

namespace rota::fuzz {
namespace {

namespace keys = model::keys;

constexpr std::int64_t kNowMs = 1'796'040'000'000;
constexpr model::JobKey kJob{.queue = 3, .priority = 100, .seq = 77};

model::RetryPolicy some_retry() {
  model::RetryPolicy retry;
  retry.max_attempts = 9;
  retry.delays_ms = {1'000, 5'000};
  retry.give_up_after_ms = 3'600'000;
  return retry;
}

model::Attempt some_attempt() {
  model::Attempt attempt;
  attempt.number = 1;
  attempt.token = 41;
  attempt.worker_id = "w";
  attempt.session_id = "s";
  attempt.granted_ms = kNowMs;
  attempt.ended_ms = kNowMs + 5;
  attempt.outcome = model::AttemptOutcome::kFailed;
  attempt.by_finish = true;
  attempt.failure = {"Timeout", "no answer", "at line 7"};
  attempt.log_tail = "tail";
  return attempt;
}

model::JobBody full_body() {
  model::JobBody body;
  body.kind = "invoice";
  body.content_type = "application/json";
  body.payload = "{}";
  body.payload_bytes = 2;
  body.labels = {{"a", "1"}, {"b", "2"}};
  body.key_scope = "q";
  body.business_key = "invoice-7";
  body.payload_hash = std::string(32, '\x7f');
  body.attempt_timeout_ms = model::kNoTimeout;
  body.retry = some_retry();
  body.run_at_ms = kNowMs;
  body.start_deadline_ms = kNowMs + 1;
  body.scheduler_id = "nightly";
  body.generation = 5;
  body.nominal_ms = {kNowMs};
  body.business_date = "2026-11-29";
  body.created_ms = kNowMs;
  body.created_seq = 12;
  body.principal = "local";
  return body;
}

model::Side full_side() {
  model::Side side;
  side.claim = model::Claim::kBlocked;
  side.retry_wait = true;
  side.blocker = {1, "who"};
  side.waiting_seq = 9;
  side.priority = 200;
  side.priority_changed = true;
  side.run_at_ms = 0;
  side.start_deadline_ms = kNowMs;
  side.attempts = 3;
  side.last_token = 1ULL << 52U;
  side.cancel_requested = true;
  side.cancel_reason = "why";
  side.history = {some_attempt()};
  return side;
}

void put_jobs(const Seeds& seeds) {
  const std::string target = "job_records";
  model::JobBody plain;
  plain.kind = "k";
  plain.payload = "p";
  plain.payload_bytes = 1;
  seeds.record(target, "body-plain", 0, encode(plain));
  seeds.record(target, "body-full", 0, encode(full_body()));
  seeds.record(target, "side-plain", 1, encode(model::Side{}));
  seeds.record(target, "side-full", 1, encode(full_side()));
  seeds.record(target, "final", 2,
               encode_final(full_body(), full_side(),
                            {.state = model::JobState::kSucceeded,
                             .priority = 3,
                             .ended_ms = kNowMs,
                             .ended_seq = 5,
                             .reason = "r",
                             .result = "result"}));
  seeds.record(target, "pointer", 3,
               encode(model::Pointer{7, encode(model::Side{}), encode(plain)}));
}

void put_queues(const Seeds& seeds) {
  const std::string target = "queue_records";
  model::Queue queue;
  queue.number = 7;
  queue.name_space = "default";
  queue.name = "a/b";
  seeds.record(target, "queue-plain", 0, encode(queue));
  queue.settings.concurrency_limit = 3;
  queue.settings.max_waiting = 1'000;
  queue.settings.retry = some_retry();
  queue.settings.retention.ledger_ms = model::kForever;
  queue.paused = true;
  queue.pause_note = "note";
  seeds.record(target, "queue-full", 0, encode(queue));
  model::QueueCounters counters;
  counters.created = 10;
  counters.removed = 2;
  counters.of(model::JobState::kReady) = 8;
  counters.levels[200] = {2, 5};
  counters.levels[100] = {6, 1};
  counters.swept_ms[5] = kNowMs;
  seeds.record(target, "counters", 1, encode(counters));
}

model::SchedulerSettings some_settings() {
  model::SchedulerSettings settings;
  settings.spec.cron = "0 3 * * *";
  settings.spec.time_zone = "Europe/Berlin";
  settings.spec.start_ms = kNowMs;
  settings.spec.business_day_offset = -1;
  settings.overlap = model::Overlap::kWaitOne;
  settings.catch_up = {model::CatchUp::kAll, 60'000, 6};
  settings.job.queue = "q";
  settings.job.kind = "k";
  settings.job.retry = some_retry();
  settings.job.labels = {{"x", "y"}};
  settings.owner = "team";
  return settings;
}

void put_schedulers(const Seeds& seeds) {
  const std::string target = "scheduler_records";
  model::Scheduler scheduler;
  scheduler.name_space = "default";
  scheduler.id = "nightly";
  scheduler.generation = 5;
  scheduler.settings = some_settings();
  seeds.record(target, "scheduler", 0, encode(scheduler));
  model::SchedulerState state;
  state.cursor_ms = kNowMs;
  state.unfinished = 2;
  state.waiting = kJob;
  seeds.record(target, "state", 1, encode(state));
  model::RunRecord run;
  run.generation = 1;
  run.count = 100'000;
  run.count_is_lower_bound = true;
  run.outcome = model::RunOutcome::kMissed;
  run.reason = "PAUSED";
  seeds.record(target, "run", 2, encode(run));
}

void put_small_ones(const Seeds& seeds) {
  const std::string target = "engine_records";
  model::EngineMeta meta;
  meta.next_token = model::kMaxToken;
  meta.now_ms = kNowMs;
  meta.deletions_held_ms = 77;
  seeds.record(target, "meta", 0, encode(meta));
  model::Writer first_format(1);
  for (const std::uint64_t v : {9, 3, 4}) first_format.varint(v);
  for (int i = 0; i < 4; ++i) first_format.svarint(kNowMs);
  seeds.record(target, "meta-of-format-1", 0, first_format.seal());
  model::Grant grant;
  grant.session_id = "s";
  grant.worker_id = "w";
  grant.request_hash = std::string(16, '\xff');
  grant.entries = {{kJob, 3, 4, model::kPermitQueue, 60'000},
                   {kJob, 1, 5, model::kPermitQueue, model::kNoTimeout}};
  seeds.record(target, "grant", 1, encode(grant));
  model::Writer grant_of_format_1(1);
  for (const char* text : {"s", "w", "local", ""}) grant_of_format_1.str(text);
  grant_of_format_1.svarint(30'000);
  grant_of_format_1.svarint(kNowMs);
  grant_of_format_1.varint(3);
  grant_of_format_1.varint(0);
  seeds.record(target, "grant-of-format-1", 1, grant_of_format_1.seal());
  model::LedgerEntry entry;
  entry.state = model::LedgerState::kDone;
  entry.job = kJob;
  entry.result = "r";
  entry.expires_ms = model::kForever;
  seeds.record(target, "ledger", 2, encode(entry));
  model::RequestRecord request;
  request.body_hash = "h";
  request.answer = std::string("\0\1", 2);
  seeds.record(target, "request", 3, encode(request));
  model::Operation operation;
  operation.number = 3;
  operation.cursor = keys::job(kJob);
  operation.cancelled = true;
  seeds.record(target, "operation", 4, encode(operation));
  seeds.record(target, "job-keys", 5, model::encode_job_keys({kJob, {4, 5, 6}}));
  seeds.record(target, "strings", 6, model::encode_strings({"", "a", std::string("\0", 1)}));

  seeds.record(target, "overdue", 7, encode(model::OverdueGrant{kNowMs}));

  seeds.record("store_records", "store", 0, store::encode(store::StoreRecord{1, "id", 1}));
  seeds.record("store_records", "commit", 1, store::encode(store::CommitRecord{9, 2}));

  // Both copies with their checksum, format 1, the numbers 3 and 4; and an identity.
  const std::string copy = std::string(1, '\x01') + std::string(7, '\0');
  seeds.put("store_files", "witness", 0, '\x0a' + copy + '\x03' + copy + '\x04');
  seeds.put("store_files", "witness-of-one-copy", 0, '\x02' + copy + '\x03');
  seeds.put("store_files", "identity", 1, "rota store\nformat 1\nid 12\n");
  seeds.put("store_files", "identity-torn", 1, "rota store\nformat 1\n");
  // Number of batches less one, size and new log for each; then flip or cut, place, mask.
  const std::string batches = std::string("\x02\x40\x00\xf0\x00\x40\x01", 7);
  seeds.put("log_scan", "flip-in-the-middle", 1,
            batches + std::string("\x01\x00\x00\x40\x02\x01", 6));
  seeds.put("log_scan", "flip-in-the-last", 1,
            batches + std::string("\x01\x00\x00\x40\x03\x01", 6));
  seeds.put("log_scan", "cut", 1, batches + std::string("\x00\x00\x00\x00\x20\x00", 6));
  seeds.put("log_scan", "any-bytes", 0, std::string(40, '\0') + "rota");
}

void put_answers(const Seeds& seeds) {
  const std::string target = "request_answers";
  core::EnqueueReply reply;
  core::EnqueuedJob job;
  job.key = kJob;
  job.created = true;
  job.state = model::JobState::kReady;
  reply.items.emplace_back(job);
  base::Error full = base::make_error(base::Reason::kQueueFull, "10 wait, limit 10", "queue");
  full.meta = {{"queue", "q"}};
  full.retry_after_ms = 500;
  reply.items.emplace_back(full);
  seeds.put(target, "enqueued", 0, core::encode_answer(reply));
  seeds.put(target, "declared", 1,
            core::encode_answer(core::DeclaredAnswer{core::Declared::kChanged, {"retry", "a"}}));
  seeds.put(target, "operation", 2, core::encode_answer(std::uint64_t{300}));
}

void put_keys(const Seeds& seeds) {
  const keys::TimerKey timer{kNowMs, keys::TimerKind::kPromote, kJob};
  seeds.put("keys", "job", 0, keys::job(kJob));
  seeds.put("keys", "timer", 0, keys::timer(timer));
  seeds.put("keys", "final", 0, keys::final_record(kJob));
  seeds.put("keys", "final-index", 0, keys::final_index(3, model::JobState::kDead, kNowMs, 9));
  seeds.put("keys", "expiry", 0, keys::expiry(kNowMs, 9));
  seeds.put("keys", "blocker", 0,
            "\x07"
            "default\x07"
            "nightly");
  seeds.put("keys", "end-of-a-page", 1,
            std::string(1, 11) + keys::timer(timer).substr(0, 11) + keys::timer(timer));
  model::Writer jobs;
  for (const std::uint64_t seq : {77, 78}) {
    jobs.u32(3);
    jobs.u8(100);
    jobs.u64(seq);
  }
  jobs.u64(static_cast<std::uint64_t>(kNowMs));
  jobs.u64(static_cast<std::uint64_t>(-1));
  seeds.put("keys", "two-jobs", 2, jobs.take());
  model::Writer names;
  for (const char* name : {"default", "a", "bc", "default", "ab", "c"}) names.str(name);
  names.u64(7);
  seeds.put("keys", "two-names", 3, names.take());
  seeds.put("job_id", "plain", model::job_id(kJob));
  seeds.put("job_id", "largest", model::job_id({UINT32_MAX, 255, UINT64_MAX}));
  model::Writer token;
  for (const char* text : {"fingerprint-0001", "fingerprint-0002", "position"}) token.str(text);
  token.u8(5);
  token.u8('A');
  token.raw(rpc::make_page_token("fingerprint-0001", "position"));
  seeds.put("page_token", "token", token.take());
}

void put_log(const Seeds& seeds, const char* name, core::EngineInput what) {
  const std::string bytes = core::encode(core::LogEntry{std::move(what)});
  seeds.put("command_log", name, bytes.substr(0, bytes.size() - 4));
}

void put_commands(const Seeds& seeds) {
  const core::Now now{kNowMs, 5'000};
  const auto put = [&](const char* name, core::CommandBody body) {
    core::Command command;
    command.call = 7;
    command.principal = "local";
    command.name_space = "default";
    command.body = std::move(body);
    put_log(seeds, name, core::input::Apply{std::move(command), now});
  };
  core::JobRequest job;
  job.queue = "q";
  job.kind = "k";
  job.retry = some_retry();
  job.labels = {{"a", "1"}};
  put("enqueue", core::EnqueueJobs{.jobs = {job}, .request = {"r", "hash"}, .bulk = true});
  put("lease", core::LeaseJobs{.queues = {"q"}, .session_id = "s", .worker_id = "w"});
  core::FinishItem item;
  item.lease = {kJob, 41};
  item.outcome.kind = core::WorkerOutcome::Kind::kFailed;
  item.outcome.failure = {"T", "m", "d"};
  item.invalid = base::invalid_field("lease.job_id", "empty");
  put("finish", core::FinishJobs{.session_id = "s", .items = {item}});
  put("declare", core::UpsertScheduler{.id = "n", .revision = 3, .settings = some_settings()});
  core::SetQueue queue{.queue = "q"};
  queue.patch.retry = some_retry();
  queue.patch.concurrency_limit = std::optional<std::uint32_t>(3);
  put("set-queue", queue);
  put_log(seeds, "load", core::input::Load{now});
  put_log(seeds, "drain", core::input::Drain{});
  core::ReadDone read;
  read.id = 4;
  read.result.values = {std::nullopt, "value"};
  read.result.pages = {{.rows = {{"key", "value"}}, .more = true, .next = "next"}};
  put_log(seeds, "read", core::input::Read{read, now});
}

}  // namespace

void put_record_seeds(const Seeds& seeds) {
  put_jobs(seeds);
  put_queues(seeds);
  put_schedulers(seeds);
  put_small_ones(seeds);
  put_answers(seeds);
  put_keys(seeds);
  put_commands(seeds);
}

}  // namespace rota::fuzz
