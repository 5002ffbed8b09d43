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
  for (const Enqueue& one : history.enqueues) enqueues_.emplace(one.op, &one);
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

std::string name_of(const JobRecord& job) { return "job " + job.id + " (" + job.kind + ")"; }

std::string name_of(const JobRecord& job, const AttemptRecord& attempt) {
  return name_of(job) + " attempt " + std::to_string(attempt.number);
}

}  // namespace rota::blackbox
