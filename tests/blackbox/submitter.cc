// SPDX-License-Identifier: Apache-2.0
#include "blackbox/submitter.h"

#include <utility>
#include <vector>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

constexpr std::size_t kRemembered = 150;
constexpr int kPoisonAt = 40;  // the job that is poison for certain, of each client

void remember(std::deque<std::string>* list, std::string id) {
  list->push_back(std::move(id));
  if (list->size() > kRemembered) list->pop_front();
}

}  // namespace

void Submitter::run() {
  while (!shared_.no_more) {
    if (shared_.acknowledged - shared_.ended > backlog_) {
      if (chance(random_, 30)) read(any_job());
      shared_.pause(5 + static_cast<std::int64_t>(below(random_, 20)));
      continue;
    }
    const std::uint64_t dice = below(random_, 100);
    if (dice < 45) {
      enqueue();
    } else if (dice < 60) {
      bulk(2 + static_cast<std::size_t>(below(random_, 20)));
    } else if (dice < 80) {
      read(any_job());
    } else if (dice < 90) {
      cancel(any_job());
    } else if (dice < 95 && !dead_.empty()) {
      redrive(dead_.front());
      dead_.pop_front();
    } else {
      redrive(any_job());
    }
  }
}

std::string Submitter::any_job() {
  if (recent_.empty()) return {};
  return recent_[static_cast<std::size_t>(below(random_, recent_.size()))];
}

PlannedJob Submitter::next_job() {
  if (++planned_ != kPoisonAt) return plan_job(random_, shared_.acknowledged);
  return {.queue = kMain, .kind = std::string(kPoison), .payload = "{}", .max_attempts = 2};
}

Enqueue* Submitter::begin(const PlannedJob& job) {
  Enqueue& entry = history_.enqueues.emplace_back();
  entry.op = next_id();
  entry.queue = job.queue;
  entry.kind = job.kind;
  entry.key = job.key;
  entry.payload = job.payload.size() > 64 ? std::string("large") : job.payload;
  entry.priority = job.priority;
  entry.max_attempts = job.max_attempts;
  entry.delayed = job.delay_ms > 0;
  return &entry;
}

void Submitter::hear(Enqueue* entry, const v1::EnqueuedJob& job) {
  entry->job = job.id();
  entry->created = job.created();
  entry->state = job.state();
  if (job.created()) ++shared_.acknowledged;
  remember(&recent_, job.id());
}

void Submitter::enqueue() {
  const PlannedJob job = next_job();
  Enqueue* entry = begin(job);
  v1::EnqueueJobRequest request;
  request.set_request_id(entry->op);
  *request.mutable_job() = spec_of(job, entry->op);
  v1::EnqueueJobResponse response;
  if (ask("enqueue", Repeat::kUntilAnswered, &entry->call, &response,
          [&] { return client_.enqueue_job(request, once()); })) {
    hear(entry, response.job());
  }
}

void Submitter::bulk(std::size_t count) {
  v1::BulkEnqueueJobsRequest request;
  request.set_request_id(next_id());
  std::vector<Enqueue*> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedJob job = next_job();
    entries.push_back(begin(job));
    *request.add_jobs() = spec_of(job, entries.back()->op);
  }
  Call call;
  v1::BulkEnqueueJobsResponse response;
  const bool done = ask("bulk enqueue", Repeat::kUntilAnswered, &call, &response,
                        [&] { return client_.bulk_enqueue_jobs(request, once()); });
  for (std::size_t i = 0; i < count; ++i) {
    entries[i]->call = call;
    if (!done || static_cast<int>(i) >= response.results_size()) continue;
    const v1::BulkEnqueueResult& result = response.results(static_cast<int>(i));
    if (result.has_job()) {
      hear(entries[i], result.job());
    } else {
      entries[i]->call.answer = Call::Answer::kRefused;
      entries[i]->call.reason = result.error().reason();
    }
  }
}

void Submitter::cancel(const std::string& id) {
  if (id.empty()) return;
  JobCall& entry = history_.job_calls.emplace_back();
  entry.kind = JobCall::Kind::kCancel;
  entry.job = id;
  v1::CancelJobRequest request;
  request.set_job_id(id);
  request.set_reason("no longer wanted");
  v1::CancelJobResponse response;
  if (ask("cancel", Repeat::kOnce, &entry.call, &response,
          [&] { return client_.cancel_job(request, once()); })) {
    entry.state = response.state();
  }
}

void Submitter::redrive(const std::string& id) {
  if (id.empty()) return;
  JobCall& entry = history_.job_calls.emplace_back();
  entry.kind = JobCall::Kind::kRedrive;
  entry.job = id;
  v1::RedriveJobRequest request;
  request.set_job_id(id);
  request.set_request_id(next_id());
  v1::RedriveJobResponse response;
  if (ask("redrive", Repeat::kUntilAnswered, &entry.call, &response,
          [&] { return client_.redrive_job(request, once()); })) {
    entry.state = response.state();
  }
}

void Submitter::read(const std::string& id) {
  if (id.empty()) return;
  JobRead& entry = history_.job_reads.emplace_back();
  entry.job = id;
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::GetJobResponse response;
  if (!ask("get job", Repeat::kOnce, &entry.call, &response,
           [&] { return client_.get_job(request, once()); })) {
    return;
  }
  entry.state = response.job().state();
  entry.redrives = response.job().redrive_count();
  if (entry.state == v1::JOB_STATE_DEAD) remember(&dead_, id);
}

void Controller::run() {
  while (!shared_.no_more) {
    switch (below(random_, 6)) {
      case 0:
        set(QueueCall::Kind::kLimit, kMain, 2 + static_cast<int>(below(random_, 8)));
        break;
      case 1:
        set(QueueCall::Kind::kLimit, kRaw, 1 + static_cast<int>(below(random_, 6)));
        break;
      case 2:
        set(paused_ ? QueueCall::Kind::kResume : QueueCall::Kind::kPause, kFree, 0);
        paused_ = !paused_;
        break;
      default:
        for (const char* queue : {kMain, kFree, kKeys, kRaw, kTicks}) read(queue);
    }
    shared_.pause(100 + static_cast<std::int64_t>(below(random_, 900)));
  }
}

void Controller::settle() {
  set(QueueCall::Kind::kResume, kFree, 0);
  set(QueueCall::Kind::kLimit, kMain, 9);
  set(QueueCall::Kind::kLimit, kRaw, 6);
}

void Controller::set(QueueCall::Kind kind, const std::string& queue, int limit) {
  QueueCall& entry = history_.queue_calls.emplace_back();
  entry.kind = kind;
  entry.queue = queue;
  entry.limit = limit;
  if (kind == QueueCall::Kind::kPause) {
    v1::PauseQueueRequest request;
    request.set_queue(queue);
    v1::PauseQueueResponse response;
    ask("pause", Repeat::kUntilAnswered, &entry.call, &response,
        [&] { return client_.pause_queue(request, once()); });
  } else if (kind == QueueCall::Kind::kResume) {
    v1::ResumeQueueRequest request;
    request.set_queue(queue);
    v1::ResumeQueueResponse response;
    ask("resume", Repeat::kUntilAnswered, &entry.call, &response,
        [&] { return client_.resume_queue(request, once()); });
  } else {
    v1::SetQueueRequest request;
    request.set_request_id(next_id());
    request.set_queue(queue);
    request.mutable_settings()->set_concurrency_limit(limit);
    request.mutable_update_mask()->add_paths("concurrency_limit");
    v1::SetQueueResponse response;
    ask("set limit", Repeat::kUntilAnswered, &entry.call, &response,
        [&] { return client_.set_queue(request, once()); });
  }
}

void Controller::read(const std::string& queue) {
  if (shared_.no_more) return;
  QueueRead& entry = history_.queue_reads.emplace_back();
  entry.queue = queue;
  v1::GetQueueRequest request;
  request.set_queue(queue);
  v1::GetQueueResponse response;
  if (ask("get queue", Repeat::kOnce, &entry.call, &response,
          [&] { return client_.get_queue(request, once()); })) {
    entry.counters = response.queue().counters();
  }
}

}  // namespace rota::blackbox
