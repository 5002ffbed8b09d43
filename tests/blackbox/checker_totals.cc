// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "blackbox/checker.h"

namespace rota::blackbox {

void check_existence(const Evidence& evidence, Contradictions* contradictions) {
  const auto& leaving = evidence.history().leaving;
  std::set<std::string_view> ids, ops;
  for (const JobRecord& job : evidence.history().jobs) {
    if (!ids.insert(job.id).second) contradictions->add(name_of(job) + " is listed twice");
    if (!job.scheduler.empty()) continue;
    const Enqueue* enqueue = evidence.enqueue(job.op);
    if (enqueue == nullptr) {
      contradictions->add(name_of(job) + " exists, but nobody sent it");
      continue;
    }
    if (!ops.insert(job.op).second) {
      contradictions->add(enqueue->op + " was sent once and made two jobs, one of them " + job.id);
    }
    if (enqueue->call.refused()) {
      contradictions->add(name_of(job) +
                          " exists, but its enqueue was refused: " + enqueue->call.reason);
    }
    if (enqueue->call.done() && (!enqueue->created || enqueue->job != job.id)) {
      contradictions->add(name_of(job) + " was made by the enqueue of " + enqueue->op +
                          ", which was answered with job " + enqueue->job);
    }
    if (job.queue != enqueue->queue || job.kind != enqueue->kind || job.key != enqueue->key) {
      contradictions->add(name_of(job) + " is not what was sent as " + enqueue->op);
    }
    if (job.left && evidence.removal(job.id) == nullptr && !leaving.contains(job.queue)) {
      contradictions->add(name_of(job) + " is listed no more, but nobody deleted it");
    }
  }
  for (const Enqueue& one : evidence.history().enqueues) {
    const bool too_late = one.too_late && one.call.reason == "INVALID_FIELD";
    if (one.call.refused() && one.call.reason != "BUSINESS_KEY_CONFLICT" &&
        one.call.reason != kNotNow && !too_late) {
      contradictions->add("the enqueue of " + one.op +
                          " was refused without cause: " + one.call.reason);
    }
    if (one.call.done() && evidence.job(one.job) == nullptr && !leaving.contains(one.queue)) {
      contradictions->add("acknowledged job " + one.job + " (" + one.kind + ") is gone");
    }
  }
}

namespace {

// The jobs that had one key, in the order in which they were made.
struct Holder {
  Evidence::Birth birth;
  const JobRecord* job = nullptr;
};

std::string payload_of(const Evidence& evidence, const JobRecord& job) {
  const Enqueue* enqueue = evidence.enqueue(job.op);
  return enqueue == nullptr ? std::string() : enqueue->payload;
}

}  // namespace

void check_keys(const Evidence& evidence, Contradictions* contradictions) {
  std::map<std::pair<std::string, std::string>, std::vector<Holder>> holders;
  for (const JobRecord& job : evidence.history().jobs) {
    if (job.key.empty() || !job.scheduler.empty()) continue;
    holders[{job.queue, job.key}].push_back({evidence.birth(job), &job});
  }
  for (auto& [key, list] : holders) {
    std::sort(list.begin(), list.end(), [](const Holder& a, const Holder& b) {
      return a.birth.at.value_or(a.birth.after) < b.birth.at.value_or(b.birth.after);
    });
    // Only a job that was cancelled, or deleted as a DEAD one, gives its key back. With one that
    // has no commit of its own, its place among the others is not known.
    int kept = 0;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JobRecord& job = *list[i].job;
      if (job.state == v1::JOB_STATE_CANCELLED) continue;
      if (job.state == v1::JOB_STATE_DEAD && job.left) continue;  // deleted
      if (++kept > 1) {
        contradictions->add("key " + key.second + " of queue " + key.first + " has " +
                            name_of(*list[i].job) + " and another job that was not cancelled");
      }
      if (i + 1 < list.size() && list[i].birth.at && list[i + 1].birth.at) {
        contradictions->add("key " + key.second + ": " + name_of(*list[i + 1].job) +
                            " was made although " + name_of(job) + " kept it");
      }
    }
  }
  for (const Enqueue& one : evidence.history().enqueues) {
    if (one.key.empty()) continue;
    if (one.call.done() && !one.created) {
      const JobRecord* job = evidence.job(one.job);
      if (job != nullptr && (job->key != one.key || job->queue != one.queue ||
                             payload_of(evidence, *job) != one.payload)) {
        contradictions->add("the enqueue of " + one.op + " was answered with " + name_of(*job) +
                            ", which has another key or payload");
      }
    }
    if (one.call.reason != "BUSINESS_KEY_CONFLICT") continue;
    const auto list = holders.find({one.queue, one.key});
    const bool explained =
        list != holders.end() &&
        std::any_of(list->second.begin(), list->second.end(), [&](const Holder& holder) {
          return payload_of(evidence, *holder.job) != one.payload;
        });
    if (!explained) {
      contradictions->add("the enqueue of " + one.op + " was refused, but no job had key " +
                          one.key + " with another payload");
    }
  }
}

namespace {

class Ticks {
 public:
  Ticks(const Evidence& evidence, const Ticking& declared, Contradictions* contradictions)
      : evidence_(evidence), declared_(declared), contradictions_(contradictions) {
    for (const RunRecord& run : evidence.history().runs) {
      if (run.scheduler == declared.scheduler) runs_.push_back(&run);
    }
    std::sort(runs_.begin(), runs_.end(),
              [](const RunRecord* a, const RunRecord* b) { return a->first_ms < b->first_ms; });
  }

  void judge(Figures* figures) {
    const RunRecord* before = nullptr;
    for (const RunRecord* run : runs_) {
      judge_range(*run, before);
      if (run->outcome == v1::Run::OUTCOME_FIRED) {
        ++figures->fired;
        judge_fired(*run);
      } else {
        figures->not_fired += run->ticks;
        if (declared_.catches_all && declared_.may_overlap) {
          add(*run, "did not fire (" + run->reason + "), but every tick has its run");
        }
      }
      before = run;
    }
    judge_ends();
    judge_jobs();
    if (!declared_.may_overlap) judge_overlap();
  }

 private:
  void add(const RunRecord& run, const std::string& text) {
    contradictions_->add("scheduler " + declared_.scheduler + ", tick " +
                         std::to_string(run.first_ms) + ": " + text);
  }

  // It ticked all the time: from its creation until it was paused.
  void judge_ends() {
    const std::string what = "scheduler " + declared_.scheduler + ": ";
    const std::int64_t first_ms = declared_.created_ms + declared_.every_ms;
    const std::int64_t last_ms = declared_.paused_ms - declared_.every_ms - kLateMs;
    const std::string made = "made at " + std::to_string(declared_.created_ms);
    const std::string paused = "paused at " + std::to_string(declared_.paused_ms);
    if (runs_.empty()) {
      if (last_ms > declared_.created_ms) {
        contradictions_->add(what + "no tick is on record, " + made + ", " + paused);
      }
      return;
    }
    if (runs_.front()->first_ms > first_ms) {
      contradictions_->add(what + "its first tick on record is " +
                           std::to_string(runs_.front()->first_ms) + ", it was " + made);
    }
    if (runs_.back()->last_ms < last_ms) {
      contradictions_->add(what + "its last tick on record is " +
                           std::to_string(runs_.back()->last_ms) + ", it was " + paused);
    }
  }

  // Every tick stands in exactly one record.
  void judge_range(const RunRecord& run, const RunRecord* before) {
    const std::int64_t span = run.last_ms - run.first_ms;
    if (span < 0 || run.ticks != span / declared_.every_ms + 1) {
      add(run, std::to_string(run.ticks) + " ticks in " + std::to_string(span) + " ms");
    }
    if (before == nullptr) return;
    if (run.first_ms <= before->last_ms) add(run, "stands in two records");
    if (run.first_ms > before->last_ms + declared_.every_ms) {
      add(run, "the ticks before it are in no record, after " + std::to_string(before->last_ms));
    }
  }

  void judge_fired(const RunRecord& run) {
    const JobRecord* job = evidence_.job(run.job);
    if (job == nullptr) return add(run, "its job " + run.job + " is gone");
    if (job->scheduler != run.scheduler || job->nominal_ms != run.first_ms) {
      add(run, name_of(*job) + " is not of this tick");
    }
    if (!fired_.emplace(job->id, &run).second) add(run, name_of(*job) + " is of two ticks");
    jobs_.push_back(job);
  }

  void judge_jobs() {
    for (const JobRecord& job : evidence_.history().jobs) {
      if (job.scheduler == declared_.scheduler && !fired_.contains(job.id)) {
        contradictions_->add(name_of(job) + " of scheduler " + declared_.scheduler +
                             " has no run record");
      }
    }
  }

  // No run is granted before the one before it has ended for good.
  void judge_overlap() {
    for (std::size_t i = 1; i < jobs_.size(); ++i) {
      const auto& before = jobs_[i - 1]->attempts;
      const auto& own = jobs_[i]->attempts;
      if (before.empty() || own.empty() || Evidence::shortened(*jobs_[i])) continue;
      if (own.front().granted < before.back().ended || before.back().ended == 0) {
        contradictions_->add("scheduler " + declared_.scheduler + ": " + name_of(*jobs_[i]) +
                             " was granted while " + name_of(*jobs_[i - 1]) + " was not over");
      }
    }
  }

  const Evidence& evidence_;
  const Ticking& declared_;
  Contradictions* contradictions_;
  std::vector<const RunRecord*> runs_;
  std::vector<const JobRecord*> jobs_;  // in the order of their ticks
  std::map<std::string_view, const RunRecord*> fired_;
};

}  // namespace

void check_ticks(const Evidence& evidence, Figures* figures, Contradictions* contradictions) {
  for (const Ticking& declared : evidence.history().schedulers) {
    Ticks(evidence, declared, contradictions).judge(figures);
  }
}

}  // namespace rota::blackbox
