// SPDX-License-Identifier: Apache-2.0
#include "blackbox/evidence.h"

#include <algorithm>

namespace rota::blackbox {

Evidence::Evidence(const History& history) : history_(history) {
  for_each_answer(history, [&](const Call& call, bool writes, const auto&) {
    floors_.emplace_back(call.replied, call.seq);
    if (writes) ceilings_.emplace_back(call.invoked, call.seq - 1);
  });
  std::sort(floors_.begin(), floors_.end());
  for (std::size_t i = 1; i < floors_.size(); ++i) {
    floors_[i].second = std::max(floors_[i].second, floors_[i - 1].second);
  }
  std::sort(ceilings_.begin(), ceilings_.end());
  for (std::size_t i = ceilings_.size(); i-- > 1;) {
    ceilings_[i - 1].second = std::min(ceilings_[i - 1].second, ceilings_[i].second);
  }
  for (const Enqueue& one : history.enqueues) {
    enqueues_.emplace(one.op, &one);
    if (one.call.done() && one.created) enqueues_by_job_.emplace(one.job, &one);
  }
  for (const JobCall& one : history.job_calls) {
    if (one.call.refused() && one.call.reason != kGone) continue;
    if (one.kind == JobCall::Kind::kUpdate) updates_[one.job].push_back(&one);
    if (one.kind != JobCall::Kind::kDelete || one.call.refused()) continue;
    const JobCall*& removal = removals_[one.job];
    if (removal == nullptr || (removal->call.open() && one.call.done())) removal = &one;
  }
  for (auto& [job, calls] : updates_) {
    std::stable_sort(calls.begin(), calls.end(), [](const JobCall* a, const JobCall* b) {
      const auto place = [](const Call& call) { return call.done() ? call.seq : INT64_MAX; };
      return place(a->call) < place(b->call);
    });
  }
  for (const JobRecord& job : history.jobs) {
    jobs_.emplace(job.id, &job);
    if (!job.op.empty()) jobs_by_op_.emplace(job.op, &job);
    for (const AttemptRecord& attempt : job.attempts) {
      leases_.emplace(attempt.token, KnownLease{&job, &attempt});
    }
  }
}

Seq Evidence::floor(Ns at) const {
  const auto after = std::lower_bound(floors_.begin(), floors_.end(), std::pair(at, Seq{0}));
  return after == floors_.begin() ? 0 : std::prev(after)->second;
}

Seq Evidence::ceiling(Ns at) const {
  const auto after = std::upper_bound(ceilings_.begin(), ceilings_.end(), std::pair(at, INT64_MAX));
  return after == ceilings_.end() ? INT64_MAX : after->second;
}

const JobRecord* Evidence::job(std::string_view id) const {
  const auto at = jobs_.find(id);
  return at == jobs_.end() ? nullptr : at->second;
}

const JobRecord* Evidence::job_of_op(std::string_view op) const {
  const auto at = jobs_by_op_.find(op);
  return at == jobs_by_op_.end() ? nullptr : at->second;
}

const Enqueue* Evidence::enqueue(std::string_view op) const {
  const auto at = enqueues_.find(op);
  return at == enqueues_.end() ? nullptr : at->second;
}

const Enqueue* Evidence::enqueue_of_job(std::string_view id) const {
  const auto at = enqueues_by_job_.find(id);
  return at == enqueues_by_job_.end() ? nullptr : at->second;
}

const std::vector<const JobCall*>& Evidence::updates(std::string_view id) const {
  static const std::vector<const JobCall*> kNone;
  const auto at = updates_.find(id);
  return at == updates_.end() ? kNone : at->second;
}

const JobCall* Evidence::removal(std::string_view id) const {
  const auto at = removals_.find(id);
  return at == removals_.end() ? nullptr : at->second;
}

KnownLease Evidence::lease(std::int64_t token) const {
  const auto at = leases_.find(token);
  return at == leases_.end() ? KnownLease{} : at->second;
}

Evidence::Birth Evidence::birth(const JobRecord& job) const {
  const Enqueue* enqueue = this->enqueue(job.op);
  if (enqueue == nullptr) return {};
  const Call& call = enqueue->call;
  // Whichever of its tries was answered.
  if (call.done() && enqueue->created) return {call.seq - 1, call.seq};
  return {floor(call.invoked), std::nullopt};
}

const char* name_of(JobCall::Kind kind) {
  static constexpr const char* kNames[] = {"cancel", "redrive", "update", "delete"};
  return kNames[static_cast<int>(kind)];
}

std::string name_of(const JobRecord& job) { return "job " + job.id + " (" + job.kind + ")"; }

std::string name_of(const JobRecord& job, const AttemptRecord& attempt) {
  return name_of(job) + " attempt " + std::to_string(attempt.number);
}

}  // namespace rota::blackbox
