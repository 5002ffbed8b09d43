// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <set>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

// Within these commits, ends included, a setting of a queue came into force.
struct Change {
  Seq after = 0, by = 0;
  const QueueCall* call = nullptr;
};

// By queue, in the order in which they were sent; each queue has one who sets it.
std::map<std::string, std::vector<Change>> changes_of(const Evidence& evidence) {
  std::map<std::string, std::vector<Change>> changes;
  for (const QueueCall& call : evidence.history().queue_calls) {
    if (call.call.refused()) continue;
    changes[call.queue].push_back(
        {evidence.floor(call.call.invoked), call.call.done() ? call.call.seq : INT64_MAX, &call});
  }
  for (auto& [queue, list] : changes) {
    std::sort(list.begin(), list.end(), [](const Change& a, const Change& b) {
      return a.call->call.invoked < b.call->call.invoked;
    });
  }
  return changes;
}

std::map<std::string, std::vector<const JobRecord*>> jobs_of(const Evidence& evidence) {
  std::map<std::string, std::vector<const JobRecord*>> jobs;
  for (const JobRecord& job : evidence.history().jobs) jobs[job.queue].push_back(&job);
  return jobs;
}

// The largest limit that can be in force at each commit of a walk through them. 0: none.
class Limits {
 public:
  explicit Limits(const std::vector<Change>& changes) {
    for (const Change& change : changes) {
      if (change.call->kind == QueueCall::Kind::kLimit) changes_.push_back(change);
    }
  }

  // `seq` never falls from call to call.
  std::int64_t at(Seq seq) {
    // What is in force for sure: the newest setting that was answered before this commit.
    while (next_ < changes_.size() && changes_[next_].by < seq) settled_ = value(changes_[next_++]);
    std::int64_t most = settled_;
    for (std::size_t i = next_; i < changes_.size() && changes_[i].after < seq; ++i) {
      most = std::max(most, value(changes_[i]));
    }
    return most;
  }

 private:
  static std::int64_t value(const Change& change) {
    return change.call->limit == 0 ? INT64_MAX : change.call->limit;
  }
  std::vector<Change> changes_;
  std::size_t next_ = 0;
  std::int64_t settled_ = INT64_MAX;
};

struct Turn {
  Seq seq = 0;
  int by = 0;  // -1 sorts first: ends come before grants of the same commit
  bool operator<(const Turn& other) const {
    return std::pair(seq, by) < std::pair(other.seq, other.by);
  }
};

std::vector<Turn> turns_of(const std::vector<const JobRecord*>& jobs) {
  std::vector<Turn> turns;
  for (const JobRecord* job : jobs) {
    for (const AttemptRecord& attempt : job->attempts) {
      turns.push_back({attempt.granted, 1});
      if (attempt.ended != 0) turns.push_back({attempt.ended, -1});
    }
  }
  std::sort(turns.begin(), turns.end());
  return turns;
}

}  // namespace

int check_limits(const Evidence& evidence, Contradictions* contradictions) {
  const auto changes = changes_of(evidence);
  int most = 0;
  for (const auto& [queue, jobs] : jobs_of(evidence)) {
    const auto own = changes.find(queue);
    Limits limits(own == changes.end() ? std::vector<Change>() : own->second);
    int live = 0;
    for (const Turn& turn : turns_of(jobs)) {
      live += turn.by;
      const std::int64_t limit = limits.at(turn.seq);
      // A limit that was lowered ends nothing; it only grants nothing until there is room.
      if (turn.by > 0 && live > limit) {
        contradictions->add("queue " + queue + ": a grant in commit " + std::to_string(turn.seq) +
                            " makes " + std::to_string(live) + " live leases, the limit is " +
                            std::to_string(limit));
      }
      most = std::max(most, live);
    }
  }
  return most;
}

void check_pauses(const Evidence& evidence, Contradictions* contradictions) {
  const auto changes = changes_of(evidence);
  for (const auto& [queue, jobs] : jobs_of(evidence)) {
    const auto own = changes.find(queue);
    if (own == changes.end()) continue;
    std::vector<Seq> grants;
    for (const JobRecord* job : jobs) {
      for (const AttemptRecord& attempt : job->attempts) grants.push_back(attempt.granted);
    }
    std::sort(grants.begin(), grants.end());
    const std::vector<Change>& list = own->second;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].call->kind != QueueCall::Kind::kPause || !list[i].call->call.done()) continue;
      Seq until = INT64_MAX;  // the commits before it are paused for sure
      for (std::size_t next = i + 1; next < list.size(); ++next) {
        if (list[next].call->kind != QueueCall::Kind::kResume) continue;
        until = list[next].after + 1;
        break;
      }
      const auto first = std::upper_bound(grants.begin(), grants.end(), list[i].by);
      if (first != grants.end() && *first < until) {
        contradictions->add("queue " + queue + ": a grant in commit " + std::to_string(*first) +
                            ", paused since commit " + std::to_string(list[i].by));
      }
    }
  }
}

namespace {

// The jobs of one queue of which it is known from which commit on they were READY.
class Line {
 public:
  Line(const std::string& queue, const Evidence& evidence, Contradictions* contradictions)
      : queue_(queue), evidence_(evidence), contradictions_(contradictions) {}

  void add(const JobRecord& job) {
    const Enqueue* enqueue = evidence_.enqueue(job.op);
    if (enqueue == nullptr || enqueue->delayed || Evidence::shortened(job)) return;
    const auto birth = evidence_.birth(job);
    // A job that was cancelled while it waited left the line in a commit that is not always known.
    if (!birth.at || job.attempts.empty()) return;
    const Seq granted = job.attempts.front().granted;
    // Where it stands changes in the commit of an update; its turn within the priority stays.
    Place place{-enqueue->priority, *birth.at, &job};
    std::vector<Event> own = {{*birth.at, Event::Kind::kEnters, place}};
    for (const JobCall* update : evidence_.updates(job.id)) {
      if (update->call.done() && update->call.seq > granted) break;
      // In one commit, their order is not known.
      if (!update->call.done() || update->run_at_ms || update->call.seq == granted ||
          update->call.seq == own.back().seq) {
        return;
      }
      if (!update->priority) continue;
      own.push_back({update->call.seq, Event::Kind::kMoves, place});
      place.order = -*update->priority;
      own.push_back({update->call.seq, Event::Kind::kEnters, place});
    }
    own.push_back({granted, Event::Kind::kGranted, place});
    events_.insert(events_.end(), own.begin(), own.end());
  }

  // What is granted comes before everything that was READY in an earlier commit and stays.
  void judge() {
    std::sort(events_.begin(), events_.end(),
              [](const Event& a, const Event& b) { return a.seq < b.seq; });
    for (std::size_t from = 0; from < events_.size();) {
      std::size_t to = from;
      while (to < events_.size() && events_[to].seq == events_[from].seq) ++to;
      commit(from, to);
      from = to;
    }
  }

 private:
  struct Place {
    int order = 0;  // priority, higher first
    Seq born = 0;
    const JobRecord* job = nullptr;
    bool operator<(const Place& other) const {
      if (order != other.order) return order < other.order;
      return born != other.born ? born < other.born : job->id < other.job->id;
    }
  };
  struct Event {
    enum class Kind { kEnters, kMoves, kGranted };
    Seq seq = 0;
    Kind kind = Kind::kEnters;
    Place place{};
  };

  void commit(std::size_t from, std::size_t to) {
    const Place* last = nullptr;
    for (std::size_t i = from; i < to; ++i) {
      if (events_[i].kind == Event::Kind::kEnters) continue;
      line_.erase(events_[i].place);
      if (events_[i].kind == Event::Kind::kMoves) continue;
      if (last == nullptr || *last < events_[i].place) last = &events_[i].place;
    }
    if (last != nullptr && !line_.empty()) {
      const Place& first = *line_.begin();
      if (std::pair(first.order, first.born) < std::pair(last->order, last->born)) {
        contradictions_->add("queue " + queue_ + ": " + name_of(*last->job) +
                             " was granted in commit " + std::to_string(events_[from].seq) +
                             " before " + name_of(*first.job) + ", READY since commit " +
                             std::to_string(first.born));
      }
    }
    for (std::size_t i = from; i < to; ++i) {
      if (events_[i].kind != Event::Kind::kEnters) continue;
      // Enqueued and granted in one commit: it never stood in line.
      if (events_[i].place.job->attempts.front().granted > events_[i].seq) {
        line_.insert(events_[i].place);
      }
    }
  }

  const std::string queue_;
  const Evidence& evidence_;
  Contradictions* contradictions_;
  std::vector<Event> events_;
  std::set<Place> line_;
};

// How many of them are not above `seq`.
std::int64_t up_to(const std::vector<Seq>& sorted, Seq seq) {
  return std::upper_bound(sorted.begin(), sorted.end(), seq) - sorted.begin();
}

// What the counters of one queue must be at any commit.
struct Counted {
  std::vector<Seq> created, granted, ended, succeeded;
  std::vector<Seq> perhaps;  // jobs whose commit is not known were created after these
  std::vector<Seq> removed, removed_succeeded;
  std::vector<Seq> perhaps_removed;  // deletes whose commit is not known came after these
  bool forgetful = false;            // attempts are missing
  bool leaving = false;              // so are jobs

  void sort() {
    for (auto* list : {&created, &granted, &ended, &succeeded, &perhaps, &removed,
                       &removed_succeeded, &perhaps_removed}) {
      std::sort(list->begin(), list->end());
    }
  }
};

std::int64_t sum_of(const v1::QueueCounters& c) {
  return c.scheduled() + c.blocked() + c.ready() + c.running() + c.succeeded() + c.dead() +
         c.cancelled() + c.expired() + c.removed();
}

}  // namespace

void check_order(const Evidence& evidence, Contradictions* contradictions) {
  for (const auto& [queue, jobs] : jobs_of(evidence)) {
    Line line(queue, evidence, contradictions);
    for (const JobRecord* job : jobs) line.add(*job);
    line.judge();
  }
}

namespace {

void check_counted(const QueueRead& read, const Counted& counted, Contradictions* contradictions) {
  const Seq seq = read.call.seq;
  const v1::QueueCounters& now = read.counters;
  const std::string where =
      "the counters of queue " + read.queue + " at commit " + std::to_string(seq) + ": ";
  const auto expect = [&](const char* name, std::int64_t told, std::int64_t least,
                          std::int64_t most) {
    if (told >= least && told <= most) return;
    contradictions->add(where + name + " is " + std::to_string(told) + ", by the history " +
                        std::to_string(least) +
                        (most == least ? "" : " to " + std::to_string(most)));
  };
  expect("the sum of the states", sum_of(now), now.created(), now.created());
  const std::int64_t born = up_to(counted.created, seq);
  expect("created", now.created(), born, born + up_to(counted.perhaps, seq - 1));
  if (counted.leaving) return;
  const std::int64_t removed = up_to(counted.removed, seq);
  const std::int64_t perhaps_removed = up_to(counted.perhaps_removed, seq - 1);
  expect("removed", now.removed(), removed, removed + perhaps_removed);
  const std::int64_t done = up_to(counted.succeeded, seq) - up_to(counted.removed_succeeded, seq);
  expect("succeeded", now.succeeded(), done - perhaps_removed, done);
  if (counted.forgetful) return;
  const std::int64_t live = up_to(counted.granted, seq) - up_to(counted.ended, seq);
  expect("running", now.running(), live, live);
}

void check_totals(const std::string& queue, const std::vector<const JobRecord*>& jobs,
                  const v1::QueueCounters& counters, bool leaving, Contradictions* contradictions) {
  std::map<v1::JobState, std::int64_t> states;
  std::int64_t left = 0, listed = 0;
  for (const JobRecord* job : jobs) {
    ++(job->left ? left : listed);
    if (!job->left) ++states[job->state];
  }
  // Of a queue whose jobs leave unread it is known only how many are not listed.
  if (leaving) left = counters.created() - listed;
  const auto compare = [&](const char* name, std::int64_t told, std::int64_t there) {
    if (told == there) return;
    contradictions->add("queue " + queue + " counts " + std::to_string(told) + " jobs as " + name +
                        " in the end, " + std::to_string(there) + " are listed");
  };
  compare("created", counters.created(), listed + left);
  compare("scheduled", counters.scheduled(), states[v1::JOB_STATE_SCHEDULED]);
  compare("blocked", counters.blocked(), states[v1::JOB_STATE_BLOCKED]);
  compare("ready", counters.ready(), states[v1::JOB_STATE_READY]);
  compare("running", counters.running(), states[v1::JOB_STATE_RUNNING]);
  compare("succeeded", counters.succeeded(), states[v1::JOB_STATE_SUCCEEDED]);
  compare("dead", counters.dead(), states[v1::JOB_STATE_DEAD]);
  compare("cancelled", counters.cancelled(), states[v1::JOB_STATE_CANCELLED]);
  compare("expired", counters.expired(), states[v1::JOB_STATE_EXPIRED]);
  if (counters.removed() != left) {
    contradictions->add("queue " + queue + " counts " + std::to_string(counters.removed()) +
                        " jobs as removed in the end, " + std::to_string(left) +
                        " are listed no more");
  }
}

}  // namespace

void check_counters(const Evidence& evidence, Contradictions* contradictions) {
  const auto jobs = jobs_of(evidence);
  std::map<std::string, Counted> counted;
  for (const auto& [queue, list] : jobs) {
    Counted& own = counted[queue];
    if (evidence.history().leaving.contains(queue)) continue;
    for (const JobRecord* job : list) {
      const auto birth = evidence.birth(*job);
      if (birth.at) {
        own.created.push_back(*birth.at);
      } else {
        own.perhaps.push_back(birth.after);
      }
      own.forgetful |= Evidence::shortened(*job);
      for (const AttemptRecord& attempt : job->attempts) {
        own.granted.push_back(attempt.granted);
        if (attempt.ended != 0) own.ended.push_back(attempt.ended);
        if (attempt.outcome == v1::ATTEMPT_OUTCOME_SUCCEEDED)
          own.succeeded.push_back(attempt.ended);
      }
      if (!job->left) continue;
      const JobCall* removal = evidence.removal(job->id);
      if (removal != nullptr && removal->call.done()) {
        own.removed.push_back(removal->call.seq);
        if (job->state == v1::JOB_STATE_SUCCEEDED) {
          own.removed_succeeded.push_back(removal->call.seq);
        }
      } else {
        own.perhaps_removed.push_back(job->read_at - 1);
      }
    }
  }
  for (const auto& [queue, how] : evidence.history().leaving) counted[queue].leaving = true;
  for (const Enqueue& one : evidence.history().enqueues) {
    Counted& own = counted[one.queue];
    if (!own.leaving || one.call.refused()) continue;
    if (!one.call.done()) own.perhaps.push_back(evidence.floor(one.call.invoked));
    if (one.call.done() && one.created) own.created.push_back(one.call.seq);
  }
  for (auto& [queue, own] : counted) own.sort();
  for (const QueueRead& read : evidence.history().queue_reads) {
    if (read.call.done()) check_counted(read, counted[read.queue], contradictions);
  }
  for (const auto& [queue, counters] : evidence.history().totals) {
    const auto own = jobs.find(queue);
    check_totals(queue, own == jobs.end() ? std::vector<const JobRecord*>() : own->second, counters,
                 evidence.history().leaving.contains(queue), contradictions);
  }
}

}  // namespace rota::blackbox
