// SPDX-License-Identifier: Apache-2.0
#include "blackbox/raw_worker.h"

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

constexpr int kTriesMax = 12;

v1::AttemptOutcome reported(const v1::Outcome& outcome) {
  switch (outcome.kind_case()) {
    case v1::Outcome::kSuccess:
      return v1::ATTEMPT_OUTCOME_SUCCEEDED;
    case v1::Outcome::kFailure:
      return v1::ATTEMPT_OUTCOME_FAILED;
    case v1::Outcome::kSnooze:
      return v1::ATTEMPT_OUTCOME_SNOOZED;
    default:
      return v1::ATTEMPT_OUTCOME_RELEASED;
  }
}

}  // namespace

void RawWorker::run() {
  // What was sent before `no_more` is still worked off; the round says when all is.
  while (!shared_.over) work(lease());
}

std::vector<RawWorker::Held> RawWorker::lease() {
  v1::LeaseJobsRequest request;
  request.set_request_id(next_id());
  request.set_session_id(session_);
  request.mutable_worker()->set_worker_id(name_);
  request.add_queues(chance(random_, 50) ? kRaw : chance(random_, 50) ? kBrief : kSwept);
  request.set_max_jobs(1 + static_cast<int>(below(random_, 4)));
  set_ms(request.mutable_wait_duration(), static_cast<std::int64_t>(below(random_, 1'500)));
  set_ms(request.mutable_lease_ttl(), kLeaseTtlMs);
  bool repeat = false;
  for (int tries = 0; tries < kTriesMax && !shared_.over; ++tries) {
    Lease& entry = history_.leases.emplace_back();
    entry.session = session_;
    entry.request = request.request_id();
    entry.max_jobs = request.max_jobs();
    entry.repeat = repeat;
    v1::LeaseJobsResponse response;
    if (!ask("lease", Repeat::kOnce, &entry.call, &response,
             [&] { return client_.lease_jobs(request, once()); })) {
      if (chance(random_, 8)) return {};  // what it may have been given runs out
      repeat = true;
      continue;
    }
    entry.epoch = response.server_epoch();
    entry.spent = response.request_spent();
    std::vector<Held> held;
    for (const v1::LeasedJob& job : response.jobs()) {
      entry.granted.push_back({.job = job.job_id(),
                               .queue = job.queue(),
                               .token = job.fencing_token(),
                               .attempt = job.attempt()});
      held.push_back({job, entry.call.invoked});
    }
    if (held.empty() || !chance(random_, 3)) return held;
    repeat = true;  // as if this answer had been lost
  }
  return {};
}

void RawWorker::work(const std::vector<Held>& jobs) {
  const bool in_one_call = chance(random_, 30);
  for (const Held& held : jobs) {
    if (shared_.over) return;
    if (chance(random_, 3)) {
      // Sleeps beyond its lease, and does not know.
      shared_.pause(kLeaseTtlMs + 500 + static_cast<std::int64_t>(below(random_, 2'000)));
    } else if (held.job.kind() == kSlow) {
      for (int beats = 0; beats < 3; ++beats) {
        shared_.pause(300);
        if (!beat(held)) break;
      }
    }
    if (!in_one_call) finish({held});
  }
  if (in_one_call && !jobs.empty()) finish(jobs);
}

bool RawWorker::beat(const Held& held) {
  Beat& entry = history_.beats.emplace_back();
  entry.token = held.job.fencing_token();
  v1::HeartbeatRequest request;
  request.set_session_id(session_);
  v1::LeaseRef* lease = request.add_leases();
  lease->set_job_id(held.job.job_id());
  lease->set_fencing_token(held.job.fencing_token());
  v1::HeartbeatResponse response;
  if (!ask("beat", Repeat::kOnce, &entry.call, &response,
           [&] { return client_.heartbeat(request, once()); })) {
    return true;
  }
  entry.epoch = response.server_epoch();
  entry.renewed = response.results_size() == 1 &&
                  response.results(0).status() == v1::HeartbeatResult::STATUS_RENEWED;
  return entry.renewed;
}

v1::FinishJobsRequest RawWorker::outcomes_of(const std::vector<Held>& jobs) {
  v1::FinishJobsRequest request;
  request.set_session_id(session_);
  for (const Held& held : jobs) {
    v1::FinishItem* item = request.add_items();
    item->mutable_lease()->set_job_id(held.job.job_id());
    item->mutable_lease()->set_fencing_token(held.job.fencing_token());
    choose_outcome(held, item->mutable_outcome());
  }
  return request;
}

void RawWorker::choose_outcome(const Held& held, v1::Outcome* outcome) {
  const std::string& kind = held.job.kind();
  const bool first = held.job.attempt() == 1;
  if (kind == kDoomed || kind == kBroken || (kind == kFlaky && first)) {
    outcome->mutable_failure()->mutable_failure()->set_message("on purpose");
    outcome->mutable_failure()->set_not_retryable(kind == kBroken);
  } else if (kind == kSnooze && first) {
    set_ms(outcome->mutable_snooze()->mutable_delay(), 100);
  } else if (chance(random_, 3)) {
    outcome->mutable_release()->set_reason(v1::ReleaseOutcome::REASON_SHUTDOWN);
  } else {
    outcome->mutable_success()->mutable_result()->set_data(
        std::to_string(held.job.fencing_token()) + "/" + next_id());
  }
}

void RawWorker::finish(const std::vector<Held>& jobs) {
  const v1::FinishJobsRequest request = outcomes_of(jobs);
  for (int tries = 0; tries < kTriesMax && !shared_.over; ++tries) {
    if (send_finish(request, jobs)) break;
    if (chance(random_, 5)) return;  // nobody will know
    shared_.pause(20);
  }
  // Again, and perhaps as something else: what counts is what was recorded.
  if (chance(random_, 6)) send_finish(chance(random_, 50) ? request : outcomes_of(jobs), jobs);
}

bool RawWorker::send_finish(const v1::FinishJobsRequest& request, const std::vector<Held>& jobs) {
  std::vector<Finish*> entries;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const v1::Outcome& outcome = request.items(static_cast<int>(i)).outcome();
    Finish& entry = history_.finishes.emplace_back();
    entry.session = session_;
    entry.job = jobs[i].job.job_id();
    entry.queue = jobs[i].job.queue();
    entry.token = jobs[i].job.fencing_token();
    entry.outcome = reported(outcome);
    entry.result = outcome.success().result().data();
    entries.push_back(&entry);
  }
  Call call;
  v1::FinishJobsResponse response;
  const bool done = ask("finish", Repeat::kOnce, &call, &response,
                        [&] { return client_.finish_jobs(request, once()); });
  for (Finish* entry : entries) {
    entry->call = call;
    entry->epoch = response.server_epoch();
  }
  if (!done || response.results_size() != static_cast<int>(entries.size())) return false;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const v1::FinishResult& result = response.results(static_cast<int>(i));
    if (result.has_error()) {
      entries[i]->call.answer = Call::Answer::kRefused;
      entries[i]->call.reason = result.error().reason();
    } else {
      entries[i]->recorded = result.job().outcome();
      entries[i]->already_ended = result.job().already_ended();
    }
  }
  return true;
}

}  // namespace rota::blackbox
