// SPDX-License-Identifier: Apache-2.0
//
// The life of each job. A commit that holds several events of a job is tried in every order, and an
// event whose commit is not known, in every place between its bounds; what is kept is the set of
// states that some order leads to. An empty set is a contradiction.
#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "blackbox/checker.h"

namespace rota::blackbox {
namespace {

constexpr std::size_t kUnplacedMax = 24, kOneCommitMax = 8;

enum class Phase { kWaiting, kRunning, kSucceeded, kDead, kCancelled, kExpired };

struct State {
  Phase phase = Phase::kWaiting;
  int used = 0, redrives = 0;
  bool cancel = false;
  bool started = false;      // there was a grant
  bool gone = false;         // deleted; the phase is its last one
  std::int64_t token = 0;    // of the running attempt
  std::uint32_t placed = 0;  // the events without a commit of their own that have happened

  auto key() const { return std::tie(phase, used, redrives, cancel, started, gone, token, placed); }
  bool is_final() const { return phase != Phase::kWaiting && phase != Phase::kRunning; }
  bool operator<(const State& other) const { return key() < other.key(); }
};
using States = std::set<State>;

struct Event {
  enum class Kind { kGrant, kEnd, kCancel, kRedrive, kUpdate, kExpire, kDelete };
  Kind kind = Kind::kGrant;
  Seq after = 0, by = 0;  // its commit c: after < c <= by
  bool must = true;       // false: it may not have happened at all
  std::int64_t token = 0;
  v1::AttemptOutcome outcome = v1::ATTEMPT_OUTCOME_UNSPECIFIED;
  v1::JobState answered = v1::JOB_STATE_UNSPECIFIED;  // of a cancel; unspecified: no answer
  bool of_deadline = false;                           // of an update
};

struct Checkpoint {
  Seq seq = 0;
  States states;  // in which the job can be from this commit to before the next checkpoint's
};

std::string describe(const Event& event) {
  switch (event.kind) {
    case Event::Kind::kGrant:
      return "grant of token " + std::to_string(event.token);
    case Event::Kind::kEnd:
      return "end of token " + std::to_string(event.token) + " as " +
             v1::AttemptOutcome_Name(event.outcome);
    case Event::Kind::kCancel:
      return "cancel answered " + v1::JobState_Name(event.answered);
    case Event::Kind::kRedrive:
      return "redrive";
    case Event::Kind::kUpdate:
      return event.of_deadline ? "update of its start deadline" : "update";
    case Event::Kind::kExpire:
      return "end at its start deadline";
    case Event::Kind::kDelete:
      return "delete";
  }
  return {};
}

std::string describe(const States& states) {
  static constexpr const char* kNames[] = {"waiting", "running",   "succeeded",
                                           "dead",    "cancelled", "expired"};
  std::string text;
  for (const State& state : states) {
    if (!text.empty()) text += " or ";
    text += std::string(kNames[static_cast<int>(state.phase)]) + " with " +
            std::to_string(state.used) + " attempts used" +
            (state.cancel ? ", to be cancelled" : "") + (state.gone ? ", deleted" : "");
  }
  return text;
}

class Life {
 public:
  Life(const JobRecord& job, int max_attempts, Evidence::Birth birth)
      : job_(job), max_attempts_(max_attempts) {
    checkpoints_.push_back({birth.at.value_or(birth.after), {State{}}});
    for (const AttemptRecord& attempt : job.attempts) {
      add({.kind = Event::Kind::kGrant,
           .after = attempt.granted - 1,
           .by = attempt.granted,
           .token = attempt.token});
      if (attempt.ended == 0) continue;
      add({.kind = Event::Kind::kEnd,
           .after = attempt.ended - 1,
           .by = attempt.ended,
           .token = attempt.token,
           .outcome = attempt.outcome});
    }
  }

  void add(Event event) { (event.after + 1 == event.by ? placed_ : unplaced_).push_back(event); }

  void replay(Contradictions* contradictions) {
    if (unplaced_.size() > kUnplacedMax) {
      return contradictions->add(name_of(job_) + ": too many calls without an answer to judge it");
    }
    std::stable_sort(placed_.begin(), placed_.end(),
                     [](const Event& a, const Event& b) { return a.by < b.by; });
    std::size_t from = 0;
    while (from < placed_.size()) {
      std::size_t to = from;
      while (to < placed_.size() && placed_[to].by == placed_[from].by) ++to;
      if (!commit(from, to, contradictions)) return;
      from = to;
    }
    spread(&checkpoints_.back().states, INT64_MAX);
    States last = checkpoints_.back().states;
    drop_without(&last, INT64_MAX);
    if (last.empty()) {
      contradictions->add(name_of(job_) +
                          ": what must have happened has no place among its commits");
      return;
    }
    checkpoints_.push_back({INT64_MAX, std::move(last)});
    sound_ = true;
  }

  // Whether the job can be in such a state at some commit of the range; true when its life was a
  // contradiction already.
  template <class Wanted>
  bool can_be(Seq from, Seq to, const Wanted& wanted) const {
    if (!sound_) return true;
    for (std::size_t i = 0; i < checkpoints_.size(); ++i) {
      const bool over = i + 1 < checkpoints_.size() && checkpoints_[i + 1].seq <= from;
      if (over) continue;
      if (i > 0 && checkpoints_[i].seq > to) break;
      for (const State& state : checkpoints_[i].states) {
        if (happened_by(state, to) && wanted(state)) return true;
      }
    }
    return false;
  }

 private:
  bool commit(std::size_t from, std::size_t to, Contradictions* contradictions) {
    const Seq seq = placed_[from].by;
    const std::string where = name_of(job_) + " in commit " + std::to_string(seq) + ": ";
    if (seq < checkpoints_.front().seq) {
      contradictions->add(where + describe(placed_[from]) + " before it was created, in commit " +
                          std::to_string(checkpoints_.front().seq));
      return false;
    }
    if (to - from > kOneCommitMax) {
      contradictions->add(where + "more events than one commit can hold");
      return false;
    }
    spread(&checkpoints_.back().states, seq);
    States before = checkpoints_.back().states;
    drop_without(&before, seq - 1);
    States after;
    for (const State& state : before) explore(state, from, to, 0, seq, &after);
    if (after.empty()) {
      std::string text = where;
      for (std::size_t i = from; i < to; ++i) text += (i > from ? ", " : "") + describe(placed_[i]);
      contradictions->add(text + "; it was " + describe(checkpoints_.back().states));
      return false;
    }
    checkpoints_.push_back({seq, std::move(after)});
    return true;
  }

  // Every order of the events from..to, with unplaced ones in between.
  void explore(const State& state, std::size_t from, std::size_t to, std::uint32_t done, Seq seq,
               States* after) const {
    const std::size_t count = to - from;
    if (done == (1U << count) - 1) after->insert(state);
    for (std::size_t i = 0; i < count; ++i) {
      State next = state;
      if ((done >> i & 1U) == 0 && apply(placed_[from + i], &next)) {
        explore(next, from, to, done | 1U << i, seq, after);
      }
    }
    for (std::size_t i = 0; i < unplaced_.size(); ++i) {
      State next = state;
      const bool in_time = unplaced_[i].by >= seq;
      if (in_time && place(i, seq, &next)) explore(next, from, to, done, seq, after);
    }
  }

  // Adds what unplaced events before commit `before` can make of the states.
  void spread(States* states, Seq before) const {
    std::vector<State> open(states->begin(), states->end());
    while (!open.empty()) {
      const State state = open.back();
      open.pop_back();
      for (std::size_t i = 0; i < unplaced_.size(); ++i) {
        State next = state;
        if (place(i, before, &next) && states->insert(next).second) open.push_back(next);
      }
    }
  }

  bool place(std::size_t i, Seq seq, State* state) const {
    if ((state->placed >> i & 1U) != 0 || unplaced_[i].after >= seq) return false;
    if (!apply(unplaced_[i], state)) return false;
    state->placed |= 1U << i;
    return true;
  }

  // Whether the unplaced events that have happened in this state can have done so by then.
  bool happened_by(const State& state, Seq by) const {
    for (std::size_t i = 0; i < unplaced_.size(); ++i) {
      if ((state.placed >> i & 1U) != 0 && unplaced_[i].after >= by) return false;
    }
    return true;
  }

  // Those in which an event that must have happened by then has not.
  void drop_without(States* states, Seq by) const {
    std::erase_if(*states, [&](const State& state) {
      for (std::size_t i = 0; i < unplaced_.size(); ++i) {
        const bool late = unplaced_[i].must && unplaced_[i].by <= by;
        if (late && (state.placed >> i & 1U) == 0) return true;
      }
      return false;
    });
  }

  bool apply(const Event& event, State* state) const {
    if (state->gone) return false;
    switch (event.kind) {
      case Event::Kind::kGrant:
        if (state->phase != Phase::kWaiting) return false;
        state->started = true;
        state->phase = Phase::kRunning;
        state->token = event.token;
        return true;
      case Event::Kind::kEnd:
        return state->phase == Phase::kRunning && state->token == event.token &&
               end(event.outcome, state);
      case Event::Kind::kCancel:
        return cancel(event.answered, state);
      case Event::Kind::kRedrive:
        if (state->phase != Phase::kDead) return false;
        state->phase = Phase::kWaiting;
        state->used = 0;
        state->cancel = false;
        ++state->redrives;
        return true;
      case Event::Kind::kUpdate:
        return state->phase == Phase::kWaiting && !(event.of_deadline && state->started);
      case Event::Kind::kExpire:
        if (state->phase != Phase::kWaiting || state->started) return false;
        state->phase = Phase::kExpired;
        return true;
      case Event::Kind::kDelete:
        if (!state->is_final()) return false;
        state->gone = true;
        return true;
    }
    return false;
  }

  bool end(v1::AttemptOutcome outcome, State* state) const {
    state->token = 0;
    switch (outcome) {
      case v1::ATTEMPT_OUTCOME_SUCCEEDED:
        state->phase = Phase::kSucceeded;
        return true;
      case v1::ATTEMPT_OUTCOME_CANCELLED:
        state->phase = Phase::kCancelled;
        return state->cancel;
      case v1::ATTEMPT_OUTCOME_FAILED:
        if (state->cancel) return false;
        ++state->used;
        state->phase =
            job_.kind == kBroken || state->used >= max_attempts_ ? Phase::kDead : Phase::kWaiting;
        return true;
      case v1::ATTEMPT_OUTCOME_LOST:
      case v1::ATTEMPT_OUTCOME_TIMED_OUT:
        ++state->used;
        state->phase = state->cancel                  ? Phase::kCancelled
                       : state->used >= max_attempts_ ? Phase::kDead
                                                      : Phase::kWaiting;
        return true;
      case v1::ATTEMPT_OUTCOME_RELEASED:
      case v1::ATTEMPT_OUTCOME_SNOOZED:
        state->phase = state->cancel ? Phase::kCancelled : Phase::kWaiting;
        return true;
      default:
        return false;
    }
  }

  static bool cancel(v1::JobState answered, State* state) {
    if (state->phase == Phase::kWaiting && answered != v1::JOB_STATE_RUNNING) {
      state->phase = Phase::kCancelled;
      return true;
    }
    if (state->phase == Phase::kRunning && answered != v1::JOB_STATE_CANCELLED) {
      state->cancel = true;
      return true;
    }
    return false;
  }

  const JobRecord& job_;
  const int max_attempts_;
  std::vector<Event> placed_, unplaced_;
  std::vector<Checkpoint> checkpoints_;
  bool sound_ = false;
};

bool shows(const State& state, v1::JobState told) {
  switch (told) {
    case v1::JOB_STATE_SCHEDULED:
    case v1::JOB_STATE_BLOCKED:
    case v1::JOB_STATE_READY:
      return state.phase == Phase::kWaiting;
    case v1::JOB_STATE_RUNNING:
      return state.phase == Phase::kRunning;
    case v1::JOB_STATE_SUCCEEDED:
      return state.phase == Phase::kSucceeded;
    case v1::JOB_STATE_DEAD:
      return state.phase == Phase::kDead;
    case v1::JOB_STATE_CANCELLED:
      return state.phase == Phase::kCancelled;
    case v1::JOB_STATE_EXPIRED:
      return state.phase == Phase::kExpired;
    default:
      return false;
  }
}

class Lives {
 public:
  Lives(const Evidence& evidence, Contradictions* contradictions)
      : evidence_(evidence), contradictions_(contradictions) {}

  void judge() {
    for (const JobRecord& job : evidence_.history().jobs) begin(job);
    for (const JobCall& call : evidence_.history().job_calls) {
      if (call.kind == JobCall::Kind::kCancel && !call.call.refused()) ++cancels_[call.job];
    }
    for (const JobCall& call : evidence_.history().job_calls) add(call);
    for (auto& [id, life] : lives_) life.replay(contradictions_);
    for (const JobRecord& job : evidence_.history().jobs) judge_end(job);
    for (const Enqueue& one : evidence_.history().enqueues) judge_answer(one);
    for (const JobCall& call : evidence_.history().job_calls) {
      judge_refusal(call);
      if (call.call.done() && call.state == v1::JOB_STATE_RUNNING) {
        judge_state(call.call, call.job, call.state, call.call.seq, "a cancel");
      }
    }
    for (const JobRead& read : evidence_.history().job_reads) judge_read(read);
  }

 private:
  void begin(const JobRecord& job) {
    if (Evidence::shortened(job)) return;  // what is forgotten cannot be replayed
    const Enqueue* enqueue = evidence_.enqueue(job.op);
    const int max_attempts = enqueue != nullptr ? enqueue->max_attempts : kTickAttempts;
    const auto birth = evidence_.birth(job);
    Life& life = lives_.try_emplace(job.id, job, max_attempts, birth).first->second;
    if (job.state == v1::JOB_STATE_EXPIRED) {
      life.add(
          {.kind = Event::Kind::kExpire, .after = birth.at.value_or(birth.after), .by = INT64_MAX});
    }
  }

  static Event::Kind kind_of(JobCall::Kind kind) {
    switch (kind) {
      case JobCall::Kind::kCancel:
        return Event::Kind::kCancel;
      case JobCall::Kind::kRedrive:
        return Event::Kind::kRedrive;
      case JobCall::Kind::kUpdate:
        return Event::Kind::kUpdate;
      case JobCall::Kind::kDelete:
        break;
    }
    return Event::Kind::kDelete;
  }

  void add(const JobCall& call) {
    const auto life = lives_.find(call.job);
    if (life == lives_.end() || call.call.refused()) return;
    const bool cancel = call.kind == JobCall::Kind::kCancel;
    // An update that may have happened does not change what the job's events are.
    if (call.kind == JobCall::Kind::kUpdate && call.call.open()) return;
    Event event{.kind = kind_of(call.kind),
                .after = evidence_.floor(call.call.invoked),
                .by = INT64_MAX,
                .must = call.call.done(),
                .answered = call.state,
                .of_deadline = call.deadline_ms.has_value()};
    if (call.call.done()) {
      event.by = call.call.seq;
      // Of several cancels of a running job only the first one changes something.
      if (cancel && call.state == v1::JOB_STATE_RUNNING) event.must = cancels_[call.job] == 1;
      // What made a change did it in the commit it names, whichever of its tries was answered.
      if (!cancel || call.state == v1::JOB_STATE_CANCELLED) event.after = event.by - 1;
    }
    life->second.add(event);
  }

  void judge_end(const JobRecord& job) {
    const auto life = lives_.find(job.id);
    if (life == lives_.end()) return;
    const auto wanted = [&](const State& state) {
      return shows(state, job.state) && state.redrives == job.redrives && state.gone == job.left;
    };
    if (life->second.can_be(INT64_MAX, INT64_MAX, wanted)) return;
    contradictions_->add(
        name_of(job) + " is " + v1::JobState_Name(job.state) + (job.left ? ", and gone," : "") +
        " after " + std::to_string(job.redrives) + " redrives, which its events do not lead to");
  }

  // `from_ledger`: what a business key names is told of, also when the job is gone.
  void judge_state(const Call& call, const std::string& id, v1::JobState told, Seq to,
                   const std::string& what, bool from_ledger = false) {
    const auto life = lives_.find(id);
    if (life == lives_.end()) return;
    const Seq from = evidence_.floor(call.invoked);
    const auto wanted = [&](const State& state) {
      return shows(state, told) && (from_ledger || !state.gone);
    };
    if (life->second.can_be(from, to, wanted)) return;
    contradictions_->add(what + " told that job " + id + " is " + v1::JobState_Name(told) +
                         ", which it was at no commit from " + std::to_string(from) + " to " +
                         std::to_string(to));
  }

  void judge_answer(const Enqueue& one) {
    if (!one.call.done() || one.created) return;  // a job that is new waits; its grant tells more
    judge_state(one.call, one.job, one.state, one.call.seq, "the enqueue of " + one.op, true);
  }

  void judge_read(const JobRead& read) {
    if (!read.call.refused()) {
      if (read.call.done()) judge_state(read.call, read.job, read.state, read.call.seq, "a read");
      return;
    }
    if (read.call.reason == kNotNow || evidence_.job(read.job) == nullptr) return;
    const auto life = lives_.find(read.job);
    if (read.call.reason == kGone &&
        (life == lives_.end() || can_be_gone(read.call, life->second))) {
      return;
    }
    contradictions_->add("a read of job " + read.job + " was refused: " + read.call.reason);
  }

  bool can_be_gone(const Call& call, const Life& life) const {
    return life.can_be(evidence_.floor(call.invoked), evidence_.ceiling(call.replied),
                       [](const State& state) { return state.gone; });
  }

  // What a refusal says of the state.
  static bool explains(const JobCall& call, const State& state) {
    const std::string& reason = call.call.reason;
    if (reason == kGone) return state.gone;
    if (state.gone) return false;
    switch (call.kind) {
      case JobCall::Kind::kCancel:
        return reason == "ALREADY_FINAL" && state.is_final();
      case JobCall::Kind::kRedrive:
        return reason == "NOT_DEAD" && state.phase != Phase::kDead;
      case JobCall::Kind::kDelete:
        return reason == "NOT_FINAL" && !state.is_final();
      case JobCall::Kind::kUpdate:
        if (reason == "ALREADY_FINAL") return state.is_final();
        if (reason == "JOB_RUNNING") return state.phase == Phase::kRunning;
        if (reason == "INVALID_STATE") return call.deadline_ms.has_value() && state.started;
        // Its deadline had passed when it came.
        return reason == "INVALID_FIELD" && call.deadline_ms.value_or(0) != 0;
    }
    return false;
  }

  // A refusal tells the state, too.
  void judge_refusal(const JobCall& call) {
    if (!call.call.refused() || call.call.reason == kNotNow) return;
    const auto life = lives_.find(call.job);
    if (life == lives_.end()) return;
    const Seq from = evidence_.floor(call.call.invoked), to = evidence_.ceiling(call.call.replied);
    const auto explained = [&](const State& state) { return explains(call, state); };
    if (life->second.can_be(from, to, explained)) return;
    const std::string name = name_of(call.kind);
    contradictions_->add((name == "update" ? "an " : "a ") + name + " of job " + call.job +
                         " was refused without cause: " + call.call.reason);
  }

  const Evidence& evidence_;
  Contradictions* contradictions_;
  std::unordered_map<std::string_view, Life> lives_;
  std::unordered_map<std::string_view, int> cancels_;  // by job, those that may have happened
};

}  // namespace

void check_lives(const Evidence& evidence, Contradictions* contradictions) {
  Lives(evidence, contradictions).judge();
}

}  // namespace rota::blackbox
