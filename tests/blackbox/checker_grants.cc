// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

std::string text_of(std::int64_t token) { return "token " + std::to_string(token); }

void check_numbers(const JobRecord& job, Contradictions* contradictions) {
  const AttemptRecord* before = nullptr;
  for (const AttemptRecord& attempt : job.attempts) {
    const int wanted = before != nullptr ? before->number + 1 : attempt.number;
    if (attempt.number != wanted) {
      contradictions->add(name_of(job, attempt) + " comes after attempt " +
                          std::to_string(wanted - 1));
    }
    if (before != nullptr && (before->ended == 0 || attempt.granted < before->ended)) {
      contradictions->add(name_of(job, attempt) + " was granted before the one before it ended");
    }
    if (attempt.ended != 0 && attempt.ended < attempt.granted) {
      contradictions->add(name_of(job, attempt) + " ended before it was granted");
    }
    before = &attempt;
  }
  const bool all = !Evidence::shortened(job);
  if (all && !job.attempts.empty() && job.attempts.front().number != 1) {
    contradictions->add(name_of(job) + " begins with attempt " +
                        std::to_string(job.attempts.front().number));
  }
}

}  // namespace

void check_tokens(const Evidence& evidence, Contradictions* contradictions) {
  std::vector<std::pair<std::int64_t, Seq>> grants;  // token, commit
  for (const JobRecord& job : evidence.history().jobs) {
    check_numbers(job, contradictions);
    for (const AttemptRecord& attempt : job.attempts) {
      grants.emplace_back(attempt.token, attempt.granted);
    }
  }
  std::sort(grants.begin(), grants.end());
  for (std::size_t i = 1; i < grants.size(); ++i) {
    const auto& [token, seq] = grants[i];
    if (token == grants[i - 1].first) contradictions->add(text_of(token) + " was given twice");
    if (seq < grants[i - 1].second) {
      contradictions->add(text_of(token) + " of commit " + std::to_string(seq) +
                          " is above one of commit " + std::to_string(grants[i - 1].second));
    }
  }
}

void check_leases(const Evidence& evidence, Contradictions* contradictions) {
  // What the first answer with leases held; a later one may hold less, never anything else.
  std::map<std::string, std::set<std::int64_t>> requests;
  std::map<std::int64_t, std::string> request_of;
  std::vector<const Lease*> in_order;
  for (const Lease& one : evidence.history().leases) {
    if (one.call.done()) in_order.push_back(&one);
  }
  std::sort(in_order.begin(), in_order.end(),
            [](const Lease* a, const Lease* b) { return a->call.replied < b->call.replied; });
  for (const Lease* one : in_order) {
    const std::string what = "lease call " + one->request;
    if (static_cast<int>(one->granted.size()) > one->max_jobs) {
      contradictions->add(what + " asked for " + std::to_string(one->max_jobs) + " jobs and got " +
                          std::to_string(one->granted.size()));
    }
    if (one->spent && !one->granted.empty()) contradictions->add(what + " is spent and grants");
    std::set<std::int64_t>& set = requests[one->request];
    for (const Granted& granted : one->granted) {
      const auto [owner, fresh] = request_of.emplace(granted.token, one->request);
      if (!fresh && owner->second != one->request) {
        contradictions->add(text_of(granted.token) + " was given to " + what + " and to " +
                            owner->second);
      }
      if (!set.empty() && !set.contains(granted.token)) {
        contradictions->add(what + " was given a second set, with " + text_of(granted.token));
      }
      const KnownLease lease = evidence.lease(granted.token);
      if (lease.job == nullptr) {
        const JobRecord* job = evidence.job(granted.job);
        if (job != nullptr && Evidence::shortened(*job)) continue;
        if (evidence.may_have_left(granted.job, granted.queue)) continue;
        contradictions->add(what + " was given " + text_of(granted.token) + " of job " +
                            granted.job + ", which the server does not know");
        continue;
      }
      const AttemptRecord& attempt = *lease.attempt;
      const bool same = lease.job->id == granted.job && attempt.number == granted.attempt &&
                        attempt.session == one->session;
      if (!same) {
        contradictions->add(what + " was given " + name_of(*lease.job, attempt) +
                            " under another name");
      }
      if (one->repeat ? attempt.granted > one->call.seq : attempt.granted != one->call.seq) {
        contradictions->add(what + " was answered with commit " + std::to_string(one->call.seq) +
                            ", but " + text_of(granted.token) + " was granted in commit " +
                            std::to_string(attempt.granted));
      }
    }
    if (set.empty()) {
      for (const Granted& granted : one->granted) set.insert(granted.token);
    }
  }
}

void check_finishes(const Evidence& evidence, Contradictions* contradictions) {
  std::map<std::int64_t, int> accepted;
  std::map<std::int64_t, std::set<std::string>> sent;  // results of successes, by token
  std::map<std::int64_t, Ns> first;                    // when a finish was sent first
  for (const Finish& one : evidence.history().finishes) {
    if (one.outcome == v1::ATTEMPT_OUTCOME_SUCCEEDED) sent[one.token].insert(one.result);
    const auto [at, fresh] = first.emplace(one.token, one.call.invoked);
    if (!fresh) at->second = std::min(at->second, one.call.invoked);
  }
  for (const Finish& one : evidence.history().finishes) {
    if (one.call.open()) continue;
    const std::string what = "the finish of " + text_of(one.token);
    const KnownLease lease = evidence.lease(one.token);
    if (lease.job == nullptr) {
      const JobRecord* job = evidence.job(one.job);
      if (evidence.may_have_left(one.job, one.queue)) continue;
      if (job == nullptr || !Evidence::shortened(*job)) {
        contradictions->add(what + " was answered, but no job has this token");
      }
      continue;
    }
    const AttemptRecord& attempt = *lease.attempt;
    if (one.call.refused()) {
      // Of a job that was deleted nobody knows how it ended.
      if (one.call.reason == "UNKNOWN_LEASE" && lease.job->left && attempt.ended != 0) continue;
      const bool by_server = attempt.outcome == v1::ATTEMPT_OUTCOME_LOST ||
                             attempt.outcome == v1::ATTEMPT_OUTCOME_TIMED_OUT ||
                             attempt.outcome == v1::ATTEMPT_OUTCOME_RELEASED;
      if (one.call.reason != "LEASE_LOST" || !by_server || attempt.ended == 0 ||
          attempt.ended > evidence.ceiling(one.call.replied)) {
        contradictions->add(what + " was refused (" + one.call.reason + "), but " +
                            name_of(*lease.job, attempt) + " ended in commit " +
                            std::to_string(attempt.ended) + " as " +
                            v1::AttemptOutcome_Name(attempt.outcome));
      }
      continue;
    }
    if (attempt.outcome != one.recorded) {
      contradictions->add(what + " was told that it is recorded as " +
                          v1::AttemptOutcome_Name(one.recorded) + ", it is " +
                          v1::AttemptOutcome_Name(attempt.outcome));
    }
    if (one.already_ended) {
      if (first[one.token] >= one.call.invoked) {
        contradictions->add(what + " had ended already, but nothing was sent before");
      }
      if (attempt.ended > one.call.seq) {
        contradictions->add(what + " had ended already in commit " + std::to_string(one.call.seq) +
                            ", it ended in " + std::to_string(attempt.ended));
      }
      continue;
    }
    if (++accepted[one.token] > 1) contradictions->add(what + " was accepted twice");
    if (attempt.ended != one.call.seq) {
      contradictions->add(what + " was answered with commit " + std::to_string(one.call.seq) +
                          ", the attempt ended in commit " + std::to_string(attempt.ended));
    }
    const bool as_sent =
        one.recorded == one.outcome || (one.recorded == v1::ATTEMPT_OUTCOME_CANCELLED &&
                                        one.outcome == v1::ATTEMPT_OUTCOME_FAILED);
    if (!as_sent) {
      contradictions->add(what + " was sent as " + v1::AttemptOutcome_Name(one.outcome) +
                          " and recorded as " + v1::AttemptOutcome_Name(one.recorded));
    }
  }
  for (const auto& [token, results] : sent) {
    const KnownLease lease = evidence.lease(token);
    if (lease.job == nullptr || lease.attempt->outcome != v1::ATTEMPT_OUTCOME_SUCCEEDED) continue;
    if (!results.contains(lease.job->result)) {
      contradictions->add(name_of(*lease.job) + " succeeded with " + text_of(token) +
                          " and has a result that was never sent for it: " + lease.job->result);
    }
  }
}

void check_beats(const Evidence& evidence, Contradictions* contradictions) {
  for (const Beat& one : evidence.history().beats) {
    const KnownLease lease = evidence.lease(one.token);
    if (!one.call.done() || lease.job == nullptr) continue;
    const Seq ended = lease.attempt->ended == 0 ? INT64_MAX : lease.attempt->ended;
    if (one.renewed && ended <= evidence.floor(one.call.invoked)) {
      contradictions->add("a beat renewed " + text_of(one.token) + ", which had ended in commit " +
                          std::to_string(ended));
    }
    if (!one.renewed && ended > evidence.ceiling(one.call.replied)) {
      contradictions->add("a beat was told that " + text_of(one.token) +
                          " is lost, but it ended later, in commit " + std::to_string(ended));
    }
  }
}

namespace {

class Executions {
 public:
  Executions(const Evidence& evidence, Figures* figures, Contradictions* contradictions)
      : evidence_(evidence), figures_(figures), contradictions_(contradictions) {
    for (const Standstill& one : evidence.history().standstills) stood_[one.worker].push_back(one);
    for (auto& [worker, all] : stood_) unite(&all);
  }

  void judge() {
    for (const Execution& one : evidence_.history().executions) {
      ++figures_->executions;
      judge_token(one);
      by_job_[one.job].push_back(&one);
    }
    for (auto& [id, all] : by_job_) judge_overlap(all);
    judge_successes();
  }

 private:
  void judge_token(const Execution& one) {
    const std::string what = one.worker + " ran job " + one.job + " with " + text_of(one.token);
    if (!tokens_.emplace(one.token, &one).second) contradictions_->add(what + " twice");
    const KnownLease lease = evidence_.lease(one.token);
    if (lease.job == nullptr) {
      const JobRecord* job = evidence_.job(one.job);
      if (job == nullptr || !Evidence::shortened(*job)) {
        contradictions_->add(what + ", which no job has");
      }
      return;
    }
    if (lease.job->id != one.job || lease.attempt->number != one.attempt ||
        lease.attempt->worker != one.worker) {
      contradictions_->add(what + ", which belongs to " + name_of(*lease.job, *lease.attempt) +
                           " of " + lease.attempt->worker);
    }
  }

  // Who noted a standstill was the worker, or who stopped it, or both.
  static void unite(std::vector<Standstill>* all) {
    std::sort(all->begin(), all->end(),
              [](const Standstill& a, const Standstill& b) { return a.from < b.from; });
    std::vector<Standstill> apart;
    for (const Standstill& one : *all) {
      if (!apart.empty() && one.from <= apart.back().to) {
        apart.back().to = std::max(apart.back().to, one.to);
      } else {
        apart.push_back(one);
      }
    }
    *all = std::move(apart);
  }

  // Two handlers of one job at once: only if the earlier one had been told to stop, or could not be
  // told because its process did not run when it should have been; and then not for long.
  void judge_overlap(std::vector<const Execution*>& all) {
    std::sort(all.begin(), all.end(),
              [](const Execution* a, const Execution* b) { return a->token < b->token; });
    for (std::size_t i = 1; i < all.size(); ++i) {
      const Execution& before = *all[i - 1];
      const Execution& next = *all[i];
      if (before.ended <= next.began) continue;
      const std::optional<Ns> due = due_to_stop(before, next.began);
      const bool in_time =
          due && before.ended != kNever &&
          before.ended - *due <= kStopGrace + stood(before.worker, *due, before.ended);
      if (in_time) {
        ++figures_->overlaps;
        continue;
      }
      contradictions_->add(
          "job " + before.job + " ran in " + before.worker + " with " + text_of(before.token) +
          " and, " + std::to_string((before.ended - next.began) / 1'000'000) +
          " ms before that ended, in " + next.worker + " with " + text_of(next.token) +
          (due ? ", " + std::to_string((before.ended - *due) / 1'000'000) +
                     " ms after it was to stop"
               : std::string()));
    }
  }

  // When a handler had been told to stop, or could be told again, seen from where the next one
  // began. A standstill that was over well before that is no excuse.
  std::optional<Ns> due_to_stop(const Execution& one, Ns next_began) const {
    if (one.told <= next_began) return one.told;
    const auto at = stood_.find(one.worker);
    if (at == stood_.end()) return std::nullopt;
    std::optional<Ns> due;
    for (const Standstill& still : at->second) {
      if (still.from <= next_began && still.to >= one.began &&
          still.to >= next_began - kGivenUpAhead) {
        due = still.to;
      }
    }
    return due;
  }

  // How much of this span the worker did not run.
  Ns stood(const std::string& worker, Ns from, Ns to) const {
    const auto at = stood_.find(worker);
    Ns sum = 0;
    if (at == stood_.end()) return sum;
    for (const Standstill& still : at->second) {
      sum += std::max<Ns>(0, std::min(still.to, to) - std::max(still.from, from));
    }
    return sum;
  }

  // What succeeded in a worker of the library was run there, and said so.
  void judge_successes() {
    std::set<std::string> workers;
    for (const Execution& one : evidence_.history().executions) workers.insert(one.worker);
    for (const JobRecord& job : evidence_.history().jobs) {
      for (const AttemptRecord& attempt : job.attempts) {
        if (attempt.outcome != v1::ATTEMPT_OUTCOME_SUCCEEDED || !workers.contains(attempt.worker)) {
          continue;
        }
        const auto at = tokens_.find(attempt.token);
        if (at == tokens_.end() || !at->second->returned || at->second->result != job.result) {
          contradictions_->add(name_of(job, attempt) + " succeeded in " + attempt.worker +
                               " with result '" + job.result + "', which no handler returned");
        }
      }
    }
  }

  const Evidence& evidence_;
  Figures* figures_;
  Contradictions* contradictions_;
  std::map<std::string, std::vector<Standstill>> stood_;
  std::map<std::int64_t, const Execution*> tokens_;
  std::map<std::string, std::vector<const Execution*>> by_job_;
};

}  // namespace

void check_executions(const Evidence& evidence, Figures* figures, Contradictions* contradictions) {
  Executions(evidence, figures, contradictions).judge();
}

}  // namespace rota::blackbox
