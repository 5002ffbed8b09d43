// SPDX-License-Identifier: Apache-2.0
#include "blackbox/history.h"

#include <time.h>

#include <iterator>
#include <string_view>
#include <utility>

namespace rota::blackbox {
namespace {

template <class T>
void append(T* to, T&& from) {
  to->insert(to->end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

std::int64_t ms_of(const google::protobuf::Timestamp& time) {
  return time.seconds() * 1'000 + time.nanos() / 1'000'000;
}

Ns mono_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return Ns{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

void History::join(History&& part) {
  append(&enqueues, std::move(part.enqueues));
  append(&job_calls, std::move(part.job_calls));
  append(&job_reads, std::move(part.job_reads));
  append(&queue_calls, std::move(part.queue_calls));
  append(&queue_reads, std::move(part.queue_reads));
  append(&scheduler_calls, std::move(part.scheduler_calls));
  append(&seen, std::move(part.seen));
  append(&leases, std::move(part.leases));
  append(&finishes, std::move(part.finishes));
  append(&beats, std::move(part.beats));
  append(&executions, std::move(part.executions));
  append(&standstills, std::move(part.standstills));
  append(&jobs, std::move(part.jobs));
  append(&schedulers, std::move(part.schedulers));
  append(&runs, std::move(part.runs));
  for (auto& [queue, counters] : part.totals) totals[queue] = std::move(counters);
}

void History::add_left() {
  std::set<std::string_view> listed;
  for (const JobRecord& job : jobs) listed.insert(job.id);
  std::map<std::string_view, const JobRecord*> last;
  for (const JobRecord& job : seen) {
    if (listed.contains(job.id)) continue;
    const JobRecord*& one = last[job.id];
    if (one == nullptr || one->read_at < job.read_at) one = &job;
  }
  // Only a DEAD job can have gone on after it was read.
  std::set<std::string_view> stale;
  for (const JobCall& call : job_calls) {
    if (call.kind != JobCall::Kind::kRedrive || call.call.refused()) continue;
    const auto at = last.find(call.job);
    if (at == last.end() || at->second->state != v1::JOB_STATE_DEAD) continue;
    if (call.call.open() || call.call.seq > at->second->read_at) stale.insert(at->first);
  }
  std::vector<JobRecord> gone;
  for (const auto& [id, job] : last) {
    gone.push_back(*job);
    gone.back().left = true;
    gone.back().stale = stale.contains(id);
  }
  append(&jobs, std::move(gone));
}

JobRecord record_of(const v1::Job& job) {
  JobRecord record;
  record.id = job.id();
  const auto op = job.labels().find(kOpLabel);
  if (op != job.labels().end()) record.op = op->second;
  record.queue = job.queue();
  record.kind = job.kind();
  record.key = job.business_key();
  record.result = job.result().data();
  record.scheduler = job.scheduler_id();
  record.priority = job.priority();
  record.max_attempts = job.retry().max_attempts();
  record.state = job.state();
  record.attempt_count = job.attempt_count();
  record.attempts_used = job.attempts_used();
  record.redrives = job.redrive_count();
  record.cancel_requested = job.cancel_requested();
  record.run_at_ms = job.has_run_at() ? ms_of(job.run_at()) : 0;
  record.deadline_ms = job.has_start_deadline() ? ms_of(job.start_deadline()) : 0;
  record.finish_ms = job.has_finish_time() ? ms_of(job.finish_time()) : 0;
  record.generation = job.scheduler_generation();
  record.nominal_ms = job.nominal_times_size() > 0 ? ms_of(job.nominal_times(0)) : 0;
  for (const v1::Attempt& attempt : job.attempts()) {
    record.attempts.push_back({.number = attempt.number(),
                               .token = attempt.fencing_token(),
                               .worker = attempt.worker_id(),
                               .session = attempt.session_id(),
                               .granted = attempt.granted_seq(),
                               .ended = attempt.ended_seq(),
                               .outcome = attempt.outcome(),
                               .start_ms = ms_of(attempt.start_time())});
  }
  return record;
}

RunRecord record_of(const v1::Run& run) {
  const std::int64_t first_ms = ms_of(run.nominal_time());
  return {.scheduler = run.scheduler_id(),
          .job = run.job_id(),
          .reason = run.reason(),
          .generation = run.generation(),
          .first_ms = first_ms,
          .last_ms = run.has_last_nominal_time() ? ms_of(run.last_nominal_time()) : first_ms,
          .ticks = run.tick_count(),
          .outcome = run.outcome()};
}

}  // namespace rota::blackbox
