// SPDX-License-Identifier: Apache-2.0
#include "blackbox/submitter.h"

#include <algorithm>
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
    } else if (dice < 74) {
      read(any_job());
    } else if (dice < 82) {
      update(any_job());
    } else if (dice < 85) {
      remove(any_job());
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
  entry.delayed = job.delay_ms > 0 || job.run_in_ms > 0;
  if (job.run_in_ms > 0) entry.run_at_ms = shared_.server_ms() + job.run_in_ms;
  if (job.deadline_in_ms > 0) entry.deadline_ms = shared_.server_ms() + job.deadline_in_ms;
  return &entry;
}

v1::JobSpec Submitter::spec(const PlannedJob& job, const Enqueue& entry) {
  v1::JobSpec spec = spec_of(job, entry.op);
  if (entry.run_at_ms != 0) set_ms(spec.mutable_run_at(), entry.run_at_ms);
  if (entry.deadline_ms != 0) set_ms(spec.mutable_start_deadline(), entry.deadline_ms);
  return spec;
}

void Submitter::hear_refusal(Enqueue* entry) const {
  entry->too_late =
      entry->deadline_ms != 0 && (shared_.clock_steps || shared_.server_ms() >= entry->deadline_ms);
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
  *request.mutable_job() = spec(job, *entry);
  v1::EnqueueJobResponse response;
  if (ask("enqueue", Repeat::kUntilAnswered, &entry->call, &response,
          [&] { return client_.enqueue_job(request, once()); })) {
    hear(entry, response.job());
  } else {
    hear_refusal(entry);
  }
}

void Submitter::bulk(std::size_t count) {
  v1::BulkEnqueueJobsRequest request;
  request.set_request_id(next_id());
  std::vector<Enqueue*> entries;
  for (std::size_t i = 0; i < count; ++i) {
    const PlannedJob job = next_job();
    entries.push_back(begin(job));
    *request.add_jobs() = spec(job, *entries.back());
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
      hear_refusal(entries[i]);
    }
  }
}

JobCall& Submitter::begin(JobCall::Kind kind, const std::string& id) {
  JobCall& entry = history_.job_calls.emplace_back();
  entry.kind = kind;
  entry.job = id;
  return entry;
}

void Submitter::cancel(const std::string& id) {
  if (id.empty()) return;
  JobCall& entry = begin(JobCall::Kind::kCancel, id);
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
  JobCall& entry = begin(JobCall::Kind::kRedrive, id);
  v1::RedriveJobRequest request;
  request.set_job_id(id);
  request.set_request_id(next_id());
  v1::RedriveJobResponse response;
  if (ask("redrive", Repeat::kUntilAnswered, &entry.call, &response,
          [&] { return client_.redrive_job(request, once()); })) {
    entry.state = response.state();
  }
}

void Submitter::update(const std::string& id) {
  if (id.empty()) return;
  JobCall& entry = begin(JobCall::Kind::kUpdate, id);
  v1::UpdateJobRequest request;
  request.set_job_id(id);
  v1::JobChanges* changes = request.mutable_changes();
  const std::uint64_t dice = below(random_, 100);
  if (dice < 60) {
    entry.priority = plan_priority(random_);
    changes->set_priority(*entry.priority);
    request.mutable_update_mask()->add_paths("priority");
  }
  if (dice >= 50 && dice < 80) {
    entry.run_at_ms = 0;  // at once
    if (chance(random_, 70)) {
      entry.run_at_ms = shared_.server_ms() + static_cast<std::int64_t>(below(random_, 3'000));
      set_ms(changes->mutable_run_at(), *entry.run_at_ms);
    }
    request.mutable_update_mask()->add_paths("run_at");
  }
  if (dice >= 75) {
    entry.deadline_ms = 0;  // none
    if (chance(random_, 70)) {
      entry.deadline_ms =
          shared_.server_ms() + 100 + static_cast<std::int64_t>(below(random_, 4'000));
      set_ms(changes->mutable_start_deadline(), *entry.deadline_ms);
    }
    request.mutable_update_mask()->add_paths("start_deadline");
  }
  v1::UpdateJobResponse response;
  ask("update", Repeat::kOnce, &entry.call, &response,
      [&] { return client_.update_job(request, once()); });
}

void Submitter::remove(const std::string& id) {
  const std::optional<v1::Job> job = read(id);
  if (!job || job->queue() == kBrief) return;  // where jobs leave by themselves
  // Also one that is not final; but only where its record is not needed, should it end meanwhile.
  const bool swept = job->queue() == kSwept;
  if (!swept && !job->has_finish_time()) return;
  if (!swept) {
    history_.seen.push_back(record_of(*job));
    history_.seen.back().read_at = history_.job_reads.back().call.seq;
  }
  JobCall& entry = begin(JobCall::Kind::kDelete, id);
  v1::DeleteJobRequest request;
  request.set_job_id(id);
  v1::DeleteJobResponse response;
  ask("delete", Repeat::kOnce, &entry.call, &response,
      [&] { return client_.delete_job(request, once()); });
}

std::optional<v1::Job> Submitter::read(const std::string& id) {
  if (id.empty()) return std::nullopt;
  JobRead& entry = history_.job_reads.emplace_back();
  entry.job = id;
  v1::GetJobRequest request;
  request.set_job_id(id);
  v1::GetJobResponse response;
  if (!ask("get job", Repeat::kOnce, &entry.call, &response,
           [&] { return client_.get_job(request, once()); })) {
    return std::nullopt;
  }
  entry.state = response.job().state();
  entry.redrives = response.job().redrive_count();
  if (entry.state == v1::JOB_STATE_DEAD) remember(&dead_, id);
  return std::move(*response.mutable_job());
}

void Controller::run() {
  while (!shared_.no_more) {
    switch (below(random_, 8)) {
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
      case 3:
        purge(kSwept);
        break;
      default:
        for (const char* queue : kQueues) read(queue);
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

void Controller::purge(const std::string& queue) {
  QueueCall& entry = history_.queue_calls.emplace_back();
  entry.kind = QueueCall::Kind::kPurge;
  entry.queue = queue;
  v1::PurgeQueueRequest request;
  request.set_request_id(next_id());
  request.set_queue(queue);
  v1::PurgeQueueResponse response;
  if (ask("purge", Repeat::kUntilAnswered, &entry.call, &response,
          [&] { return client_.purge_queue(request, once()); })) {
    entry.operation = response.operation().id();
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

void hear(const v1::Scheduler& scheduler, SchedulerCall* entry) {
  if (entry->call.tries > 1) return;  // it shows what is now
  entry->generation = scheduler.generation();
  entry->at_ms = entry->kind == SchedulerCall::Kind::kPause ? ms_of(scheduler.pause().pause_time())
                                                            : ms_of(scheduler.update_time());
}

void Declarer::run() {
  while (!shared_.no_more) {
    const std::uint64_t dice = below(random_, 100);
    if (dice < 50) {
      declare();
    } else if (leads_ && dice < 65) {
      pause_or_resume();
    } else if (leads_ && dice < 71) {
      remove();
    } else {
      read();
    }
    shared_.pause(150 + static_cast<std::int64_t>(below(random_, 1'200)));
  }
}

SchedulerCall& Declarer::begin(SchedulerCall::Kind kind) {
  SchedulerCall& entry = history_.scheduler_calls.emplace_back();
  entry.kind = kind;
  entry.scheduler = kEdited;
  return entry;
}

void Declarer::declare() {
  SchedulerCall& entry = begin(SchedulerCall::Kind::kDeclare);
  const std::uint64_t dice = below(random_, 100);
  entry.revision = dice < 40 ? ++shared_.revision : shared_.revision.load();
  if (dice >= 80) {
    entry.revision -= static_cast<std::int64_t>(below(random_, 4));
    entry.revision = std::max<std::int64_t>(entry.revision, 1);
  }
  v1::UpsertSchedulerRequest request;
  request.set_request_id(next_id());
  *request.mutable_scheduler() = declaration_of(entry.revision);
  entry.every_ms = request.scheduler().spec().parts(0).interval().every().seconds() * 1'000;
  v1::UpsertSchedulerResponse response;
  if (!ask("declare scheduler", Repeat::kInsist, &entry.call, &response,
           [&] { return client_.upsert_scheduler(request, once()); })) {
    return;
  }
  using Response = v1::UpsertSchedulerResponse;
  using Result = SchedulerCall::Result;
  entry.result = response.result() == Response::RESULT_CREATED     ? Result::kCreated
                 : response.result() == Response::RESULT_UNCHANGED ? Result::kUnchanged
                 : response.result() == Response::RESULT_CHANGED   ? Result::kChanged
                                                                   : Result::kOlder;
  rota::blackbox::hear(response.scheduler(), &entry);
}

void Declarer::pause_or_resume() {
  SchedulerCall& entry =
      begin(paused_ ? SchedulerCall::Kind::kResume : SchedulerCall::Kind::kPause);
  bool done = false;
  if (paused_) {
    v1::ResumeSchedulerRequest request;
    request.set_scheduler_id(kEdited);
    v1::ResumeSchedulerResponse response;
    done = ask("resume scheduler", Repeat::kInsist, &entry.call, &response,
               [&] { return client_.resume_scheduler(request, once()); });
    if (done) rota::blackbox::hear(response.scheduler(), &entry);
  } else {
    v1::PauseSchedulerRequest request;
    request.set_scheduler_id(kEdited);
    v1::PauseSchedulerResponse response;
    done = ask("pause scheduler", Repeat::kInsist, &entry.call, &response,
               [&] { return client_.pause_scheduler(request, once()); });
    if (done) rota::blackbox::hear(response.scheduler(), &entry);
  }
  if (done) paused_ = !paused_;
}

void Declarer::remove() {
  SchedulerCall& entry = begin(SchedulerCall::Kind::kDelete);
  v1::DeleteSchedulerRequest request;
  request.set_scheduler_id(kEdited);
  v1::DeleteSchedulerResponse response;
  if (ask("delete scheduler", Repeat::kOnce, &entry.call, &response,
          [&] { return client_.delete_scheduler(request, once()); })) {
    paused_ = false;
  }
}

void Declarer::read() {
  SchedulerCall& entry = begin(SchedulerCall::Kind::kRead);
  v1::GetSchedulerRequest request;
  request.set_scheduler_id(kEdited);
  v1::GetSchedulerResponse response;
  if (!ask("get scheduler", Repeat::kOnce, &entry.call, &response,
           [&] { return client_.get_scheduler(request, once()); })) {
    return;
  }
  const v1::SchedulerDeclaration& declared = response.scheduler().declaration();
  entry.revision = declared.revision();
  entry.every_ms = declared.spec().parts(0).interval().every().seconds() * 1'000;
  entry.generation = response.scheduler().generation();
  entry.paused = response.scheduler().has_pause();
}

}  // namespace rota::blackbox
