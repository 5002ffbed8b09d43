// SPDX-License-Identifier: Apache-2.0
//
// Schedulers that several nodes declare under rising revisions, that are paused, resumed, deleted
// and made again. The calls are replayed in the order of their commits; the ticks on record are
// held against the stretches of the server's time in between, of which both ends are known.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

using Kind = SchedulerCall::Kind;
using Result = SchedulerCall::Result;

class Edits {
 public:
  Edits(const Evidence& evidence, const std::string& scheduler, Figures* figures,
        Contradictions* contradictions)
      : evidence_(evidence),
        scheduler_(scheduler),
        figures_(figures),
        contradictions_(contradictions) {
    for (const SchedulerCall& call : evidence.history().scheduler_calls) {
      if (call.scheduler != scheduler) continue;
      if (call.kind == Kind::kRead) {
        reads_.push_back(&call);
      } else if (call.call.done()) {
        done_.push_back(&call);
      } else if (call.call.open()) {
        open_.push_back(&call);
      }
      if (call.call.refused()) refused_.push_back(&call);
      if (call.kind == Kind::kDeclare) sent_.emplace(call.revision, call.every_ms);
      deleted_perhaps_ |= call.kind == Kind::kDelete && call.call.open();
    }
    const auto by_seq = [](const SchedulerCall* a, const SchedulerCall* b) {
      return a->call.seq < b->call.seq;
    };
    std::stable_sort(done_.begin(), done_.end(), by_seq);
    std::stable_sort(reads_.begin(), reads_.end(), by_seq);
    for (const RunRecord& run : evidence.history().runs) {
      if (run.scheduler == scheduler) runs_[run.generation].push_back(&run);
    }
    for (auto& [generation, runs] : runs_) {
      std::sort(runs.begin(), runs.end(),
                [](const RunRecord* a, const RunRecord* b) { return a->first_ms < b->first_ms; });
    }
  }

  void judge() {
    judge_refusals();
    judge_revisions();
    for (auto& [generation, runs] : runs_) judge_runs(runs);
    judge_generations();
    judge_jobs();
    judge_stretches();
  }

 private:
  void add(const std::string& text) {
    contradictions_->add("scheduler " + scheduler_ + ": " + text);
  }
  static std::string at(const SchedulerCall& call) {
    return "revision " + std::to_string(call.revision) + " in commit " +
           std::to_string(call.call.seq);
  }
  static bool took(const SchedulerCall& call) {
    return call.kind == Kind::kDeclare && call.result != Result::kOlder;
  }
  static bool took_it(const SchedulerCall* call) { return took(*call); }

  // It is only refused while it is not there: at first, and from a delete on, until somebody
  // declares it.
  void judge_refusals() {
    const auto first = std::find_if(done_.begin(), done_.end(), took_it);
    const Seq made = first == done_.end() ? INT64_MAX : (*first)->call.seq;
    for (const SchedulerCall* call : refused_) {
      if (call->call.reason == kNotNow) continue;
      const Seq to = evidence_.ceiling(call->call.replied);
      const Seq from = evidence_.floor(call->call.invoked);
      bool explained =
          made > from || std::any_of(open_.begin(), open_.end(), [&](const SchedulerCall* one) {
            return one->kind == Kind::kDelete && one->call.invoked < call->call.replied;
          });
      for (const SchedulerCall* one : done_) {
        if (one->kind != Kind::kDelete || one->call.seq > to) continue;
        // Made again since, in a commit that the call had to see?
        const bool back = std::any_of(done_.begin(), done_.end(), [&](const SchedulerCall* again) {
          return again->result == Result::kCreated && again->call.seq > one->call.seq &&
                 again->call.seq <= from;
        });
        explained = explained || !back;
      }
      if (call->kind == Kind::kDeclare || call->call.reason != "SCHEDULER_NOT_FOUND" ||
          !explained) {
        add("a call was refused without cause: " + call->call.reason);
      }
    }
  }

  // A revision never goes back while the scheduler is there, and none changes it twice. Reads see
  // what was there.
  void judge_revisions() {
    std::size_t read = 0;
    const SchedulerCall* highest = nullptr;             // that was taken, since the newest delete
    std::map<std::int64_t, const SchedulerCall*> made;  // what each revision changed
    for (std::size_t from = 0; from < done_.size();) {
      std::size_t to = from;
      while (to < done_.size() && done_[to]->call.seq == done_[from]->call.seq) ++to;
      const Seq seq = done_[from]->call.seq;
      for (; read < reads_.size() && reads_[read]->call.seq < seq; ++read) {
        judge_read(*reads_[read], highest);
      }
      bool deleted = false;
      for (std::size_t i = from; i < to; ++i) deleted |= done_[i]->kind == Kind::kDelete;
      // In one commit with a delete, what was before and what after it is not known.
      for (std::size_t i = from; i < to && !deleted; ++i) judge_declared(*done_[i], highest, &made);
      if (deleted) {
        highest = nullptr;
        made.clear();
      }
      for (std::size_t i = from; i < to && !deleted; ++i) {
        if (!took(*done_[i])) continue;
        if (highest == nullptr || done_[i]->revision > highest->revision) highest = done_[i];
      }
      from = to;
    }
    for (; read < reads_.size(); ++read) judge_read(*reads_[read], highest);
  }

  void judge_declared(const SchedulerCall& call, const SchedulerCall* highest,
                      std::map<std::int64_t, const SchedulerCall*>* made) {
    if (call.kind != Kind::kDeclare) return;
    if (call.result == Result::kOlder) {
      const auto higher = [&](const SchedulerCall* one) {
        return one->kind == Kind::kDeclare && one->revision > call.revision;
      };
      const bool known = (highest != nullptr && highest->revision > call.revision) ||
                         std::any_of(open_.begin(), open_.end(), higher) ||
                         std::any_of(done_.begin(), done_.end(), [&](const SchedulerCall* one) {
                           return higher(one) && one->call.seq == call.call.seq;
                         });
      if (!known) add(at(call) + " is said to be older, but none is higher");
      return;
    }
    if (highest != nullptr && !deleted_perhaps_ && call.revision < highest->revision) {
      add(at(call) + " was taken after " + at(*highest));
    }
    if (call.result != Result::kCreated && call.result != Result::kChanged) return;
    const auto [before, fresh] = made->emplace(call.revision, &call);
    if (!fresh && !deleted_perhaps_) add(at(call) + " changed it after " + at(*before->second));
  }

  void judge_read(const SchedulerCall& read, const SchedulerCall* highest) {
    if (!read.call.done()) return;
    if (highest != nullptr && !deleted_perhaps_ && read.revision < highest->revision) {
      add("a read at commit " + std::to_string(read.call.seq) + " shows revision " +
          std::to_string(read.revision) + " after " + at(*highest));
    }
    if (!sent_.contains({read.revision, read.every_ms})) {
      add("a read shows revision " + std::to_string(read.revision) + " with an interval of " +
          std::to_string(read.every_ms) + " ms, which nobody declared");
    }
  }

  // Within a generation every tick stands in one record, and a job is of one tick.
  void judge_runs(const std::vector<const RunRecord*>& runs) {
    const RunRecord* before = nullptr;
    for (const RunRecord* run : runs) {
      const std::string tick = "tick " + std::to_string(run->first_ms);
      if (before != nullptr && run->first_ms <= before->last_ms) add(tick + " is in two records");
      before = run;
      if (run->outcome != v1::Run::OUTCOME_FIRED) continue;
      const JobRecord* job = evidence_.job(run->job);
      if (job == nullptr) {
        add(tick + ": its job " + run->job + " is gone");
      } else if (job->scheduler != scheduler_ || job->nominal_ms != run->first_ms ||
                 job->generation != run->generation) {
        add(tick + ": " + name_of(*job) + " is not of this tick");
      }
      if (!fired_.insert(run->job).second) add(tick + ": job " + run->job + " is of two ticks");
    }
  }

  // What is made again begins strictly after its creation, and what was deleted is over by then.
  void judge_generations() {
    for (const SchedulerCall* call : done_) {
      if (call->result != Result::kCreated || call->at_ms == 0 || call->generation == 0) continue;
      for (const auto& [generation, runs] : runs_) {
        if (generation == call->generation && runs.front()->first_ms <= call->at_ms) {
          add("tick " + std::to_string(runs.front()->first_ms) +
              " of a generation that was made at " + std::to_string(call->at_ms));
        }
        if (generation < call->generation && runs.back()->last_ms > call->at_ms) {
          add("tick " + std::to_string(runs.back()->last_ms) +
              " of a generation that was over at " + std::to_string(call->at_ms));
        }
      }
    }
  }

  void judge_jobs() {
    for (const JobRecord& job : evidence_.history().jobs) {
      if (job.scheduler == scheduler_ && !fired_.contains(job.id)) {
        add(name_of(job) + " has no run record");
      }
    }
  }

  // From one change to the next its interval and its pause are known: of a stretch that may hold a
  // change that nobody can place, nothing is said.
  void judge_stretches() {
    const SchedulerCall* from = nullptr;
    std::int64_t every_ms = 0, generation = 0;
    bool paused = false;
    for (std::size_t i = 0; i < done_.size(); ++i) {
      const SchedulerCall& call = *done_[i];
      const bool changes = call.kind != Kind::kDeclare || call.result == Result::kCreated ||
                           call.result == Result::kChanged;
      if (!changes) continue;
      const bool alone = (i == 0 || done_[i - 1]->call.seq != call.call.seq) &&
                         (i + 1 == done_.size() || done_[i + 1]->call.seq != call.call.seq);
      if (from != nullptr && call.at_ms != 0 && alone && every_ms != 0 && !open_before(call)) {
        judge_stretch(from->at_ms, call.at_ms, every_ms, generation, paused);
      }
      from = call.at_ms != 0 && alone ? &call : nullptr;
      if (call.kind == Kind::kDeclare) every_ms = call.every_ms;
      if (call.result == Result::kCreated) generation = call.generation;
      if (call.result == Result::kCreated || call.kind == Kind::kResume) paused = false;
      if (call.kind == Kind::kPause) paused = true;
      if (call.kind == Kind::kDelete) from = nullptr, every_ms = generation = 0;
    }
  }

  bool open_before(const SchedulerCall& call) const {
    return std::any_of(open_.begin(), open_.end(), [&](const SchedulerCall* one) {
      return one->call.invoked <= call.call.replied;
    });
  }

  void judge_stretch(std::int64_t from_ms, std::int64_t to_ms, std::int64_t every_ms,
                     std::int64_t generation, bool paused) {
    const auto own = runs_.find(generation);
    if (generation == 0) return;
    for (std::int64_t tick = (from_ms / every_ms + 1) * every_ms; tick <= to_ms; tick += every_ms) {
      ++figures_->edited_ticks;
      const RunRecord* found = nullptr;
      if (own != runs_.end()) {
        auto after = std::upper_bound(
            own->second.begin(), own->second.end(), tick,
            [](std::int64_t ms, const RunRecord* run) { return ms < run->first_ms; });
        if (after != own->second.begin() && (*std::prev(after))->last_ms >= tick) {
          found = *std::prev(after);
        }
      }
      if (found == nullptr) {
        add("tick " + std::to_string(tick) + ", every " + std::to_string(every_ms) + " ms from " +
            std::to_string(from_ms) + " to " + std::to_string(to_ms) + ", is in no record");
      } else if (paused && found->outcome == v1::Run::OUTCOME_FIRED) {
        add("tick " + std::to_string(tick) + " fired, but it was paused from " +
            std::to_string(from_ms) + " to " + std::to_string(to_ms));
      }
    }
    if (own == runs_.end()) return;
    for (const RunRecord* run : own->second) {
      if (run->outcome != v1::Run::OUTCOME_FIRED || run->first_ms <= from_ms ||
          run->first_ms > to_ms || run->first_ms % every_ms == 0) {
        continue;
      }
      add("tick " + std::to_string(run->first_ms) + " fired, but it ticked every " +
          std::to_string(every_ms) + " ms from " + std::to_string(from_ms) + " to " +
          std::to_string(to_ms));
    }
  }

  const Evidence& evidence_;
  const std::string& scheduler_;
  Figures* figures_;
  Contradictions* contradictions_;
  std::vector<const SchedulerCall*> done_, open_, reads_, refused_;
  std::map<std::int64_t, std::vector<const RunRecord*>> runs_;  // by generation
  std::set<std::string_view> fired_;
  std::set<std::pair<std::int64_t, std::int64_t>> sent_;  // revisions with their intervals
  bool deleted_perhaps_ = false;                          // by a delete that was not answered
};

}  // namespace

void check_edits(const Evidence& evidence, Figures* figures, Contradictions* contradictions) {
  for (const std::string& scheduler : evidence.history().edited) {
    Edits(evidence, scheduler, figures, contradictions).judge();
  }
}

}  // namespace rota::blackbox
