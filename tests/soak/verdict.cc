// SPDX-License-Identifier: Apache-2.0
#include "soak/verdict.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace rota::soak {
namespace {

struct Expected {
  std::string kind, key;
  int created = 0;  // answers that said so
};

void judge_answers(const std::vector<Acknowledged>& acknowledged,
                   std::map<std::string, Expected>* expected, Contradictions* contradictions) {
  std::map<std::string, std::string> holder;  // of each key
  for (const Acknowledged& one : acknowledged) {
    Expected& job = (*expected)[one.id];
    job.kind = one.kind;
    job.key = one.key;
    job.created += one.created ? 1 : 0;
    if (one.key.empty()) continue;
    const auto [at, fresh] = holder.emplace(one.key, one.id);
    if (!fresh && at->second != one.id) {
      contradictions->add("business key " + one.key + " has two jobs, " + at->second + " and " +
                          one.id);
    }
  }
  for (const auto& [id, job] : *expected) {
    if (job.created != 1) {
      contradictions->add("job " + id + " was created " + std::to_string(job.created) +
                          " times by the answers");
    }
  }
}

// Exactly the acknowledged jobs, each once.
void judge_existence(const std::map<std::string, Expected>& expected,
                     const std::vector<v1::Job>& jobs, Contradictions* contradictions) {
  std::set<std::string> listed;
  for (const v1::Job& job : jobs) {
    if (!listed.insert(job.id()).second)
      contradictions->add("job " + job.id() + " is listed twice");
    if (!expected.contains(job.id())) {
      contradictions->add("job " + job.id() + " exists, but no client was told of it");
    }
  }
  for (const auto& [id, job] : expected) {
    if (!listed.contains(id)) contradictions->add("acknowledged job " + id + " is gone");
  }
}

void judge_attempts(const v1::Job& job, Contradictions* contradictions) {
  int succeeded = 0;
  const v1::Attempt* before = nullptr;
  for (const v1::Attempt& attempt : job.attempts()) {
    const std::string name = "job " + job.id() + " attempt " + std::to_string(attempt.number());
    if (attempt.outcome() == v1::ATTEMPT_OUTCOME_SUCCEEDED) ++succeeded;
    if (attempt.outcome() == v1::ATTEMPT_OUTCOME_UNSPECIFIED || attempt.ended_seq() == 0) {
      contradictions->add(name + " has no outcome although the job is final");
    }
    if (before != nullptr) {
      if (attempt.number() <= before->number()) contradictions->add(name + ": numbers do not grow");
      if (attempt.granted_seq() < before->ended_seq()) {
        contradictions->add(name + " was granted before the one before it had ended");
      }
      if (before->outcome() == v1::ATTEMPT_OUTCOME_SUCCEEDED) {
        contradictions->add(name + " came after a success");
      }
    }
    before = &attempt;
  }
  const bool success = job.state() == v1::JOB_STATE_SUCCEEDED;
  if (succeeded != (success ? 1 : 0)) {
    contradictions->add("job " + job.id() + " is " + v1::JobState_Name(job.state()) + " with " +
                        std::to_string(succeeded) + " accepted successes");
  }
  // The result says which attempt it is of.
  if (success && before != nullptr &&
      job.result().data() != std::to_string(before->fencing_token())) {
    contradictions->add("job " + job.id() + " has the result of token " + job.result().data() +
                        ", but succeeded with token " + std::to_string(before->fencing_token()));
  }
}

void judge_state(const v1::Job& job, const std::string& kind, Contradictions* contradictions) {
  const v1::JobState wanted = must_succeed(kind) ? v1::JOB_STATE_SUCCEEDED : v1::JOB_STATE_DEAD;
  if (job.state() != wanted) {
    contradictions->add("job " + job.id() + " of kind " + kind + " is " +
                        v1::JobState_Name(job.state()) + " " + job.final_reason());
  }
  judge_attempts(job, contradictions);
}

// The limit and the tokens, in the order of the server's commits.
int judge_order(const std::vector<v1::Job>& jobs, Contradictions* contradictions) {
  struct Change {
    std::int64_t seq = 0;
    int by = 0;  // at an equal commit ends come before grants
    bool operator<(const Change& other) const {
      return std::pair(seq, by) < std::pair(other.seq, other.by);
    }
  };
  std::vector<Change> changes;
  std::vector<std::pair<std::int64_t, std::int64_t>> grants;  // token, granted_seq
  for (const v1::Job& job : jobs) {
    for (const v1::Attempt& attempt : job.attempts()) {
      changes.push_back({attempt.granted_seq(), 1});
      if (attempt.ended_seq() != 0) changes.push_back({attempt.ended_seq(), -1});
      grants.emplace_back(attempt.fencing_token(), attempt.granted_seq());
    }
  }
  std::sort(changes.begin(), changes.end());
  int live = 0, most = 0;
  for (const Change& change : changes) {
    live += change.by;
    if (live > kLimit && live > most) {
      contradictions->add(std::to_string(live) + " live leases at commit " +
                          std::to_string(change.seq) + ", the limit is " + std::to_string(kLimit));
    }
    most = std::max(most, live);
  }
  std::sort(grants.begin(), grants.end());
  for (std::size_t i = 1; i < grants.size(); ++i) {
    const auto& [token, seq] = grants[i];
    if (token == grants[i - 1].first) {
      contradictions->add("token " + std::to_string(token) + " was given twice");
    }
    if (seq < grants[i - 1].second) {
      contradictions->add("token " + std::to_string(token) + " of commit " + std::to_string(seq) +
                          " is above one of commit " + std::to_string(grants[i - 1].second));
    }
  }
  return most;
}

void judge_counters(const Figures& figures, const v1::QueueCounters& counters,
                    Contradictions* contradictions) {
  const auto compare = [&](const char* name, std::int64_t counted, std::int64_t wanted) {
    if (counted == wanted) return;
    contradictions->add(std::string("the counter ") + name + " is " + std::to_string(counted) +
                        ", there are " + std::to_string(wanted));
  };
  compare("created", counters.created(), figures.jobs);
  compare("succeeded", counters.succeeded(), figures.succeeded);
  compare("dead", counters.dead(), figures.dead);
  compare("scheduled", counters.scheduled(), 0);
  compare("blocked", counters.blocked(), 0);
  compare("ready", counters.ready(), 0);
  compare("running", counters.running(), 0);
  compare("cancelled", counters.cancelled(), 0);
  compare("expired", counters.expired(), 0);
  compare("removed", counters.removed(), 0);
}

}  // namespace

Figures judge(const std::vector<Acknowledged>& acknowledged, const std::vector<v1::Job>& jobs,
              const v1::QueueCounters& counters, Contradictions* contradictions) {
  std::map<std::string, Expected> expected;
  judge_answers(acknowledged, &expected, contradictions);
  judge_existence(expected, jobs, contradictions);
  Figures figures;
  for (const v1::Job& job : jobs) {
    ++figures.jobs;
    figures.succeeded += job.state() == v1::JOB_STATE_SUCCEEDED ? 1 : 0;
    figures.dead += job.state() == v1::JOB_STATE_DEAD ? 1 : 0;
    figures.attempts += job.attempts_size();
    for (const v1::Attempt& attempt : job.attempts()) {
      figures.lost += attempt.outcome() == v1::ATTEMPT_OUTCOME_LOST ? 1 : 0;
    }
    const auto at = expected.find(job.id());
    if (at != expected.end()) judge_state(job, at->second.kind, contradictions);
  }
  figures.most_live = judge_order(jobs, contradictions);
  judge_counters(figures, counters, contradictions);
  return figures;
}

void judge_conduct(const Conduct& conduct, const Figures& figures, Contradictions* contradictions) {
  if (figures.most_live != kLimit) {
    contradictions->add("the limit of " + std::to_string(kLimit) +
                        " live leases was not reached: " + std::to_string(figures.most_live) +
                        " at most");
  }
  const auto kills = [&](const char* whom, int planned, int struck, int least) {
    const std::string of = std::string(" kills of ") + whom;
    if (planned < least) {
      contradictions->add("only " + std::to_string(planned) + of + " were planned, at least " +
                          std::to_string(least) + " belong to a round");
    }
    if (struck != planned) {
      contradictions->add(std::to_string(struck) + of + " struck, " + std::to_string(planned) +
                          " were planned");
    }
  };
  kills("workers", conduct.planned_worker_kills, conduct.worker_kills, kLeastWorkerKills);
  kills("the server", conduct.planned_server_kills, conduct.server_kills, kLeastServerKills);
  if (conduct.unknown == 0) {
    contradictions->add("no answer was lost, so no call was repeated");
  }
  if (conduct.repeated != conduct.unknown) {
    contradictions->add(std::to_string(conduct.unknown) + " answers were lost, " +
                        std::to_string(conduct.repeated) + " of them came when asked for again");
  }
}

}  // namespace rota::soak
