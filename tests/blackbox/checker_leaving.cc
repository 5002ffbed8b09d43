// SPDX-License-Identifier: Apache-2.0
//
// Jobs that leave: those that somebody was told are gone, those that a purge removed, those that
// retention did not keep. Of most of them no record is left; they are judged by what their callers
// and workers were answered before.
#include <algorithm>
#include <map>
#include <set>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

// When a caller was first told that a job is gone, by job.
std::map<std::string_view, Ns> first_told(const History& history) {
  std::map<std::string_view, Ns> told;
  const auto add = [&](const std::string& job, const Call& call) {
    if (!call.refused() || call.reason != kGone) return;
    const auto [at, fresh] = told.emplace(job, call.replied);
    if (!fresh) at->second = std::min(at->second, call.replied);
  };
  for (const JobRead& one : history.job_reads) add(one.job, one.call);
  for (const JobCall& one : history.job_calls) add(one.job, one.call);
  return told;
}

// What is known of a job that is not listed.
struct Known {
  const Enqueue* enqueue = nullptr;
  Seq last = 0;                                        // its newest event with a commit of its own
  std::optional<Seq> succeeded{};                      // the commit
  bool cancelled = false;                              // answered so
  Ns may_succeed = kNever, may_be_cancelled = kNever;  // since a caller asked for it
  bool may_expire = false;
};

using AllKnown = std::map<std::string_view, Known>;

// Of the jobs of one queue that were acknowledged and are not listed.
AllKnown unlisted(const Evidence& evidence, const std::string& queue) {
  AllKnown all;
  const History& history = evidence.history();
  for (const Enqueue& one : history.enqueues) {
    if (one.queue != queue || !one.call.done() || !one.created || evidence.job(one.job)) continue;
    Known& known = all[one.job];
    known.enqueue = &one;
    known.last = one.call.seq;
    known.may_expire = one.deadline_ms != 0;
  }
  const auto find = [&](const std::string& job) {
    const auto at = all.find(job);
    return at == all.end() ? nullptr : &at->second;
  };
  for (const Lease& one : history.leases) {
    if (!one.call.done() || one.repeat) continue;  // a repeat does not name the commit
    for (const Granted& granted : one.granted) {
      if (Known* known = find(granted.job)) known->last = std::max(known->last, one.call.seq);
    }
  }
  for (const Finish& one : history.finishes) {
    Known* known = find(one.job);
    if (known == nullptr || one.call.refused()) continue;
    if (one.outcome == v1::ATTEMPT_OUTCOME_SUCCEEDED) {
      known->may_succeed = std::min(known->may_succeed, one.call.invoked);
    }
    if (!one.call.done() || one.already_ended) continue;
    known->last = std::max(known->last, one.call.seq);
    if (one.recorded == v1::ATTEMPT_OUTCOME_SUCCEEDED) known->succeeded = one.call.seq;
  }
  for (const JobCall& one : history.job_calls) {
    Known* known = find(one.job);
    if (known == nullptr || (one.call.refused() && one.call.reason != kGone)) continue;
    if (one.kind == JobCall::Kind::kCancel && !one.call.refused()) {
      known->may_be_cancelled = std::min(known->may_be_cancelled, one.call.invoked);
      known->cancelled |= one.call.done() && one.state == v1::JOB_STATE_CANCELLED;
    }
    if (one.kind == JobCall::Kind::kUpdate) known->may_expire |= one.deadline_ms.value_or(0) != 0;
    if (one.kind == JobCall::Kind::kRedrive && one.call.done()) {
      known->last = std::max(known->last, one.call.seq);
    }
  }
  return all;
}

std::string text_of(std::string_view id, const Known& known) {
  return "job " + std::string(id) + " (" + known.enqueue->kind + ")";
}

}  // namespace

void check_gone(const Evidence& evidence, Contradictions* contradictions) {
  const History& history = evidence.history();
  const auto told = first_told(history);
  const auto judge = [&](const std::string& job, const Call& call, const std::string& what) {
    const auto at = told.find(job);
    if (at == told.end() || !call.done() || call.invoked <= at->second) return;
    contradictions->add(what + " job " + job + ", which was gone before");
  };
  for (const JobRead& one : history.job_reads) judge(one.job, one.call, "a read shows");
  for (const JobCall& one : history.job_calls) {
    judge(one.job, one.call, std::string("there was a ") + name_of(one.kind) + " of");
  }
  for (const Lease& one : history.leases) {
    for (const Granted& granted : one.granted) {
      judge(granted.job, one.call, "lease call " + one.request + " was given");
    }
  }
  for (const Finish& one : history.finishes) {
    if (!one.already_ended) judge(one.job, one.call, "a finish was accepted of");
  }
}

namespace {

class Purges {
 public:
  Purges(const Evidence& evidence, const std::string& queue, Contradictions* contradictions)
      : evidence_(evidence), queue_(queue), contradictions_(contradictions) {
    for (const QueueCall& call : evidence.history().queue_calls) {
      if (call.kind != QueueCall::Kind::kPurge || call.queue != queue || call.call.refused()) {
        continue;
      }
      if (call.call.done()) {
        begun_.push_back(call.call.seq);
        operations_.insert(call.operation);
      } else {
        open_ = true;
      }
    }
    std::sort(begun_.begin(), begun_.end());
  }

  void judge() {
    for (const JobRecord& job : evidence_.history().jobs) {
      if (job.queue == queue_) judge_kept(job);
    }
    for (const auto& [id, known] : unlisted(evidence_, queue_)) judge_removed(id, known);
    judge_operations();
  }

 private:
  void add(const std::string& text) { contradictions_->add("queue " + queue_ + ": " + text); }

  // What waited when a purge began is not granted any more.
  void judge_kept(const JobRecord& job) {
    if (Evidence::shortened(job)) return;
    // INT64_MAX: not known.
    Seq since = evidence_.birth(job).at.value_or(INT64_MAX);
    for (const AttemptRecord& attempt : job.attempts) {
      const auto next = std::upper_bound(begun_.begin(), begun_.end(), since);
      if (next != begun_.end() && *next < attempt.granted) {
        add(name_of(job, attempt) + " was granted in commit " + std::to_string(attempt.granted) +
            ", but it waited when the purge of commit " + std::to_string(*next) + " began");
      }
      since = job.redrives == 0 && attempt.ended != 0 ? attempt.ended : INT64_MAX;
    }
  }

  // What is gone waited, and a purge began after that.
  void judge_removed(std::string_view id, const Known& known) {
    if (evidence_.removal(id) != nullptr) {
      ++deleted_;
      return;
    }
    if (known.succeeded) {
      return add(text_of(id, known) + " succeeded in commit " + std::to_string(*known.succeeded) +
                 " and is gone; a purge removes what waits");
    }
    if (known.cancelled) return add(text_of(id, known) + " was cancelled and is gone");
    if (open_ || (!begun_.empty() && begun_.back() > known.last)) return;
    add(text_of(id, known) + " is gone, but no purge began after commit " +
        std::to_string(known.last));
  }

  void judge_operations() {
    std::int64_t removed = 0;
    const auto totals = evidence_.history().totals.find(queue_);
    if (totals == evidence_.history().totals.end()) return;
    for (const std::string& id : operations_) {
      const auto at = evidence_.history().operations.find(id);
      if (at == evidence_.history().operations.end() ||
          at->second.state != v1::Operation::STATE_SUCCEEDED) {
        add("the purge " + id + " is not over in the end");
        continue;
      }
      removed += at->second.removed;
      if (at->second.removed > totals->second.removed()) {
        add("the purge " + id + " removed " + std::to_string(at->second.removed) + " jobs, of " +
            std::to_string(totals->second.removed()) + " that were removed in all");
      }
    }
    // Of a job that two purges were to remove, both may say that they did.
    if (!open_ && removed + deleted_ < totals->second.removed()) {
      add("its purges removed " + std::to_string(removed) + " jobs, but " +
          std::to_string(totals->second.removed()) + " are gone");
    }
  }

  const Evidence& evidence_;
  const std::string& queue_;
  Contradictions* contradictions_;
  std::vector<Seq> begun_;  // sorted
  std::set<std::string> operations_;
  bool open_ = false;  // one may have begun at any time
  std::int64_t deleted_ = 0;
};

class Retention {
 public:
  Retention(const Evidence& evidence, const std::string& queue, std::int64_t keeps,
            Contradictions* contradictions)
      : evidence_(evidence), queue_(queue), keeps_(keeps), contradictions_(contradictions) {}

  void judge() {
    const auto told = first_told(evidence_.history());
    const AllKnown gone = unlisted(evidence_, queue_);
    take_kept();
    for (const auto& [id, known] : gone) {
      const auto at = told.find(id);
      judge_gone(id, known, at == told.end() ? kNever : at->second);
    }
    judge_counters();
    const auto totals = evidence_.history().totals.find(queue_);
    const bool held = evidence_.history().clock_steps;
    if (totals != evidence_.history().totals.end() && !held &&
        totals->second.succeeded() > keeps_) {
      add("it keeps " + std::to_string(totals->second.succeeded()) + " SUCCEEDED jobs, not " +
          std::to_string(keeps_));
    }
  }

 private:
  void add(const std::string& text) { contradictions_->add("queue " + queue_ + ": " + text); }

  void take_kept() {
    for (const JobRecord& job : evidence_.history().jobs) {
      if (job.queue != queue_) continue;
      if (job.state == v1::JOB_STATE_CANCELLED || job.state == v1::JOB_STATE_EXPIRED) {
        add(name_of(job) + " is " + v1::JobState_Name(job.state) + " and kept");
      }
      if (job.state != v1::JOB_STATE_SUCCEEDED) continue;
      ++kept_;
      oldest_ = std::min(oldest_, job.attempts.empty() ? 0 : job.attempts.back().ended);
    }
  }

  // A job goes when it is final, and not one that succeeded before older ones, or when there are
  // not enough.
  void judge_gone(std::string_view id, const Known& known, Ns told) {
    const bool may_be_final =
        known.may_succeed < told || known.may_be_cancelled < told || known.may_expire;
    if (!may_be_final) return add(text_of(id, known) + " is gone and had not ended");
    if (!known.succeeded) return;
    if (kept_ < keeps_) {
      add(text_of(id, known) + " succeeded and is gone, but only " + std::to_string(kept_) +
          " of " + std::to_string(keeps_) + " are kept");
    } else if (oldest_ < *known.succeeded) {
      add(text_of(id, known) + " succeeded in commit " + std::to_string(*known.succeeded) +
          " and is gone, one of commit " + std::to_string(oldest_) + " is kept");
    }
  }

  void judge_counters() {
    std::map<std::string_view, Seq> first;
    for (const Finish& one : evidence_.history().finishes) {
      if (one.queue != queue_ || !one.call.done() || one.already_ended ||
          one.recorded != v1::ATTEMPT_OUTCOME_SUCCEEDED) {
        continue;
      }
      first.emplace(one.job, one.call.seq);
    }
    std::vector<Seq> succeeded;
    for (const auto& [job, seq] : first) succeeded.push_back(seq);
    std::sort(succeeded.begin(), succeeded.end());
    for (const QueueRead& read : evidence_.history().queue_reads) {
      if (read.queue != queue_ || !read.call.done()) continue;
      const auto& now = read.counters;
      const std::int64_t known =
          std::upper_bound(succeeded.begin(), succeeded.end(), read.call.seq) - succeeded.begin();
      if (now.succeeded() < std::min(known, keeps_)) {
        add("at commit " + std::to_string(read.call.seq) + " it keeps " +
            std::to_string(now.succeeded()) + " SUCCEEDED jobs of " + std::to_string(known));
      }
      if (now.cancelled() != 0 || now.expired() != 0) {
        add("at commit " + std::to_string(read.call.seq) + " it keeps " +
            std::to_string(now.cancelled()) + " CANCELLED and " + std::to_string(now.expired()) +
            " EXPIRED jobs, it was to keep none");
      }
    }
  }

  const Evidence& evidence_;
  const std::string& queue_;
  const std::int64_t keeps_;
  Contradictions* contradictions_;
  std::int64_t kept_ = 0;
  Seq oldest_ = INT64_MAX;  // of those that are kept
};

}  // namespace

void check_purges(const Evidence& evidence, Contradictions* contradictions) {
  for (const auto& [queue, how] : evidence.history().leaving) {
    if (how.purged) Purges(evidence, queue, contradictions).judge();
  }
}

void check_retention(const Evidence& evidence, Contradictions* contradictions) {
  for (const auto& [queue, how] : evidence.history().leaving) {
    if (how.keeps_succeeded == 0) continue;
    Retention(evidence, queue, how.keeps_succeeded, contradictions).judge();
  }
}

}  // namespace rota::blackbox
