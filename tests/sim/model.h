// SPDX-License-Identifier: Apache-2.0
//
// The reference model: what jobs, queues, schedulers, keys and request ids have to be, written from
// the documentation, without indexes, windows, bounds or reads. It shares nothing with the engine
// but the plain values of server/model and their decoders.
//
// It goes in lockstep with committed turns. The answers of a turn are in the order in which their
// commands took effect, and so are its events; each answer is computed here from its command and
// compared, and the events it implies are taken from the stream. An event that no command explains
// is a transition of the engine's own (a grant, an expiry, a purge): it must be allowed now. What
// has no event (promotions, ticks, retention) is read from the batch and must be allowed too. Then
// the rows of every object that was touched must say what the model says.
//
// Where the engine may choose (bounded budgets, when it comes to something), each choice is
// accepted; that what is due happens in the end is judged when a run has become quiet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/command.h"
#include "core/effect.h"
#include "model/keys.h"
#include "sim/context.h"
#include "sim/server.h"

namespace rota::sim {

using core::JobKey;
using core::JobState;

// What the store must hold: every committed row, kept apart from the store.
using Rows = std::map<std::pair<core::Keyspace, std::string>, std::string>;

class Model {
 public:
  explicit Model(Context& context) : context_(context) {}

  // `calls`: the commands whose answers may be in the turn.
  void take(const SealedTurn& turn, const std::map<core::CallId, core::Command>& calls);
  // A renewal that left before any commit.
  void take_early(const core::Heartbeat& asked, const core::HeartbeatReply& answer);
  // A server has started: what it may have forgotten by age is forgotten.
  void restarted(std::int64_t now_ms, bool deletions_held);
  // All that the rows say against all that the model says.
  void compare_all();

  const Rows& rows() const { return rows_; }
  std::int64_t now_ms() const { return now_; }
  // As committed.
  const std::string* row(core::Keyspace keyspace, const std::string& key) const;
  struct LiveLease {
    JobKey key;
    std::string session_id;
    std::string request_id;
    std::int64_t ttl_ms = 0;
    std::int64_t granted_ms = 0;
    std::int64_t timeout_ms = 0;
    std::uint64_t grant = 0;
  };
  std::map<std::uint64_t, LiveLease> live_leases() const;
  std::vector<std::string> unfinished() const;  // a line for each job that has not ended
  // What the engine has to do next by itself at some wall time, and when; INT64_MAX: nothing.
  struct Due {
    std::int64_t at_ms = INT64_MAX;
    std::string what;
  };
  Due next_due(bool ticks_held, bool deletions_held) const;
  // Declared schedulers that are not paused, with a tick that is due by then.
  struct DueTick {
    std::string scheduler;
    std::int64_t at_ms = 0;
    std::int64_t cursor_ms = 0;
    std::uint64_t version = 0;
  };
  std::vector<DueTick> due_ticks(std::int64_t by_ms) const;
  // The first thing that should have been deleted a while ago, by age or because there are too many
  // of its kind; empty when there is none.
  std::string kept_too_long(std::int64_t now_ms) const;
  // By queue, a job that is to be granted to whoever asks for it: READY, and the gates are open.
  std::map<std::string, JobKey> grantable() const;
  // Why a lease call that is parked would have to be answered, when the engine is idle: a job of
  // `grantable` if it has time for a grant, a cancel that its session was not told of, a queue that
  // is gone. Empty: it waits rightly.
  std::string to_be_answered(const core::LeaseJobs& call, bool has_time,
                             const std::map<std::string, JobKey>& grantable) const;
  // What is due by `now_ms` and has not happened: run when the engine is idle.
  void judge_due(std::int64_t now_ms);

 private:
  using Event = core::JobEvent;
  using Kind = core::JobEvent::Kind;

  struct Ended {
    std::uint64_t token = 0;
    model::AttemptOutcome outcome{};
    bool by_finish = false;
  };
  struct Job {
    JobKey key;
    JobState state = JobState::kReady;
    std::uint8_t priority = 0;
    std::string kind, content_type, payload_hash, key_scope, business_key;
    std::optional<std::int64_t> attempt_timeout;
    std::optional<model::RetryPolicy> retry;
    std::int64_t deadline_ms = 0;  // of its start; 0 = none
    std::uint64_t waiting_seq = 0;
    std::int64_t due_lo = 0, due_hi = 0;  // SCHEDULED; told apart until its row says
    bool retry_wait = false;
    bool priority_changed = false;
    std::uint32_t attempts = 0, used = 0, releases = 0, handlerless = 0, redrives = 0;
    std::uint64_t token = 0;       // RUNNING
    std::uint64_t last_token = 0;  // ended
    std::string session_id;
    std::uint64_t grant = 0;
    std::int64_t granted_ms = 0, first_granted_ms = 0, ended_ms = 0;
    std::int64_t timeout_ms = 0;  // of the running attempt, as it was at the grant
    bool cancel_requested = false;
    std::vector<Ended> history;
    std::string scheduler;
    std::uint64_t generation = 0;
    std::int64_t nominal_ms = 0;
    std::string result;
    JobKey ready_key() const { return {key.queue, priority, key.seq}; }
    bool waits() const {
      return state == JobState::kScheduled || state == JobState::kBlocked ||
             state == JobState::kReady;
    }
    bool unfinished() const { return waits() || state == JobState::kRunning; }
  };
  struct Queue {
    std::uint32_t number = 0;
    std::string name;
    model::QueueSettings settings;
    bool paused = false;
    std::string note;
    std::uint64_t version = 1;
    std::uint64_t created = 0, removed = 0, next_seq = 1;
  };
  struct Grant {
    std::string session_id, request_id;
    std::int64_t ttl_ms = 0;
    bool adopted = false;
    std::set<std::uint64_t> live;
  };
  struct Entry {  // of the ledger
    bool done = false;
    JobKey job;
    std::string kind, content_type, payload_hash, result;
    std::int64_t expires_ms = 0;
  };
  struct Request {
    std::string body_hash;
    std::int64_t created_ms = 0;
    core::CommitSeq seq = 0;                  // of the first answer
    std::vector<std::optional<JobKey>> keys;  // of an enqueue
    bool created = false, changed = false;    // of a queue
    core::Declared declared{};                // of a scheduler
    std::uint64_t operation = 0;
  };
  using RequestName = std::pair<int, std::string>;
  struct Purge {
    std::uint64_t number = 0;
    std::uint32_t queue = 0;
    std::uint64_t barrier = 0;
    bool done = false, cancelled = false;
    std::uint64_t done_seq = 0;
  };
  struct Scheduler {
    bool declared = false;
    std::uint64_t generation = 0;
    std::int64_t revision = 0;
    model::SchedulerSettings settings;
    bool paused = false;
    std::string note;
    std::uint64_t version = 1;
    std::int64_t cursor_ms = 0;
    std::map<std::pair<std::int64_t, std::uint64_t>, model::RunRecord> runs;
    std::set<std::pair<std::uint64_t, std::int64_t>> fired;  // generation, nominal time
  };
  // The turn that is being taken.
  struct Step {
    const SealedTurn* turn = nullptr;
    std::int64_t lo = 0, hi = 0;  // engine time of its inputs
    std::size_t next_event = 0;
    core::CommitSeq named = 0;  // by the answer that is being taken, if it is right
    std::set<JobKey> touched;
    std::map<std::uint64_t, bool> abandoned;  // token: given back in this turn; true when it was
    // Runs that a command may have met, by scheduler, as they were before the turn: true when one
    // was unfinished, else it was DEAD.
    std::map<std::string, std::map<JobKey, bool>> runs_before;
    // What a command of this turn changed after the engine may have acted on it.
    std::map<std::uint32_t, std::vector<model::QueueSettings>> queue_settings;  // before that
    std::map<std::uint32_t, std::uint64_t> deleted;  // SUCCEEDED ones, by queue
    std::set<std::string> dropped;                   // queues
    // Jobs that were BLOCKED, and after how many events of the turn they were READY at the
    // earliest.
    std::map<JobKey, std::size_t> let_go;
    std::set<std::string> edits;   // schedulers that a command changed
    std::set<std::string> pauses;  // schedulers that a command paused
    std::map<std::string, std::vector<model::SchedulerSettings>> settings;  // before that
    std::vector<std::uint64_t> said_done;  // operations, by a refused cancel
    // Jobs of the queues that have a bound, as they were before the turn: state, attempts.
    std::map<JobKey, std::pair<JobState, std::uint32_t>> before;
    // Queues of which the turn says that they are; of several that one of them is, where a
    // scheduler was given another queue in the turn of its tick.
    std::set<std::set<std::string>> full;
    std::set<std::string> taken;  // queues that a tick of it has put a job into
    // Ledger entries that were given up in this turn, with who had them.
    std::set<std::pair<std::pair<std::string, std::string>, JobKey>> keys_lost;
    struct KeySkip {  // a tick that did not run because its key is taken
      std::string scheduler;
      std::vector<std::pair<std::string, std::string>> names;  // by each settings it may have had
      JobKey holder;
    };
    std::vector<KeySkip> key_skips;
    std::vector<std::pair<const core::Command*, const core::LeaseReply*>> polls;
  };
  // What may become of an attempt that ends.
  struct Ends {
    bool ready = false, scheduled = false, dead = false, cancelled = false;
    std::int64_t delay_lo = 0, delay_hi = 0;
  };

  void fail(int invariant, const std::string& text);
  bool ok() const { return context_.verdict.ok(); }
  std::string at(const JobKey& key) const;
  bool gave_up(const core::Command& command, const core::ReplyBody& reply);
  Job* find(const JobKey& key);
  Queue* queue(const std::string& name);
  Queue* queue_of(const JobKey& key);
  // What the engine did by itself it may have done before a command of the turn changed the
  // settings: true when they fit now, or did at some time of the turn.
  bool some_settings(const Queue& q,
                     const std::function<bool(const model::QueueSettings&)>& fits) const;
  std::uint64_t count(std::uint32_t queue, JobState state) const;
  std::uint64_t waiting(std::uint32_t queue) const;
  // Least and most that can have waited there at some time of the turn. Needs `Step::before`.
  std::pair<std::uint64_t, std::uint64_t> waiting_in_turn(std::uint32_t queue) const;
  void remember_bounded();
  void judge_full();
  const core::Batch::Change* change(core::Keyspace keyspace, const std::string& key) const;
  bool held() const { return step_.turn->hold.deletions; }

  // ---- model.cc: a turn, events, what needs no command
  void apply_rows();
  const Event* expect(Kind kind, const JobKey& key, const std::function<bool(const Event&)>& fits);
  bool autonomous(const Event& event);
  bool granted(const Event& event);
  bool attempt_ended(const Event& event);
  bool job_final(const Event& event);
  bool removed(const Event& event);
  // The place among the turn's events, from `first` on, of the one by which the job ends or goes;
  // their number when there is none.
  std::size_t end_of(const JobKey& key, std::size_t first) const;
  bool ends_later(const JobKey& key) const;
  bool bring_up(const JobKey& key);
  void silent();
  void promote(Job& job);
  std::optional<std::size_t> may_unblock(const Job& job) const;
  void unblock(Job& job);
  void retire(const JobKey& key);
  void after_turn();

  // ---- model_jobs.cc
  void on(const core::EnqueueJobs& c, const core::ReplyBody& r);
  void on(const core::UpdateJob& c, const core::ReplyBody& r);
  void on(const core::CancelJob& c, const core::ReplyBody& r);
  void on(const core::RedriveJob& c, const core::ReplyBody& r);
  void on(const core::DeleteJob& c, const core::ReplyBody& r);
  void on(const core::ExplainJob& c, const core::ReplyBody& r);
  // Compares with what is expected, and once more after what the turn did by itself with the job.
  bool agree(const JobKey& key, int invariant, const char* what,
             const std::function<std::string()>& differs);
  std::string differs(const core::ReplyBody& r, std::optional<base::Reason> refused) const;
  void create(const core::JobRequest& asked, const core::EnqueuedJob& given);
  void end_job(Job& job, JobState to, std::int64_t at_ms, const std::string& result = {});
  bool is_kept(const JobKey& key) const;
  void remove(const JobKey& key);  // nothing of it is left but the count
  void redrive(Job& job);
  void give_key_back(const Job& job);
  const Request* repeated(int method, const core::RequestTag& tag, const core::ReplyBody& r,
                          const std::function<bool(const Request&)>& answers, bool* refused);
  void remember(int method, const core::RequestTag& tag, Request request);
  void check_enqueue_item(
      const core::JobRequest& asked, const core::EnqueueItem& given,
      std::map<std::pair<std::string, std::string>, const core::EnqueueItem*>* seen);

  // ---- model_leases.cc
  void on(const core::LeaseJobs& c, const core::ReplyBody& r);
  void on(const core::Heartbeat& c, const core::ReplyBody& r);
  void on(const core::FinishJobs& c, const core::ReplyBody& r);
  void check_poll(const core::Command& command, const core::LeaseReply& reply);
  std::vector<std::uint64_t> cancelled_of(const std::string& session_id) const;
  void check_granted(const core::GrantedJob& given, const Job& job);
  void end_attempt(Job& job, model::AttemptOutcome outcome, bool by_finish, std::int64_t at_ms);
  Ends may_retry(Job& job, const core::WorkerOutcome* outcome, bool lost, std::int64_t at_ms);
  Ends may_give_back(Job& job, std::int64_t delay_lo, std::int64_t delay_hi);
  void settle_end(Job& job, const Ends& ends, const Event& event, bool retry_wait);
  void delay_of(const Job& job, std::uint32_t n, std::int64_t* lo, std::int64_t* hi);
  void finish(Job& job, const core::WorkerOutcome& outcome, const core::FinishedJob& given);
  const model::RetryPolicy& retry_of(const Job& job);

  // ---- model_queues.cc
  void on(const core::SetQueue& c, const core::ReplyBody& r);
  void on(const core::PauseQueue& c, const core::ReplyBody& r);
  void on(const core::ResumeQueue& c, const core::ReplyBody& r);
  void on(const core::DeleteQueue& c, const core::ReplyBody& r);
  void on(const core::PurgeQueue& c, const core::ReplyBody& r);
  void on(const core::CancelOperation& c, const core::ReplyBody& r);
  void on(const core::GetOperation& c, const core::ReplyBody& r);
  void on(const core::AbandonGrant&, const core::ReplyBody&) {}
  void check_queue(const Queue& q, const core::QueueReply& r);
  void see_operations();
  bool gets_a_run(std::uint32_t queue) const;

  // ---- model_schedulers.cc
  void on(const core::UpsertScheduler& c, const core::ReplyBody& r);
  void on(const core::PauseScheduler& c, const core::ReplyBody& r);
  void on(const core::ResumeScheduler& c, const core::ReplyBody& r);
  void on(const core::DeleteScheduler& c, const core::ReplyBody& r);
  Scheduler* declared(const std::string& id);
  std::int64_t next_tick_ms(const Scheduler& s) const;
  std::uint64_t unfinished_of(const std::string& id) const;
  std::vector<std::uint64_t> busy_in_turn(const std::string& id, const JobKey& without = {}) const;
  void edited(const std::string& id, const Scheduler& s);
  void see_runs();
  void see_runs_of(const std::string& id, Scheduler& s);
  std::vector<const model::SchedulerSettings*> settings_in_turn(const std::string& id,
                                                                const Scheduler& s) const;
  const model::SchedulerSettings* settings_of_run(
      const std::string& id, const Scheduler& s, const JobKey& key,
      const std::function<std::string(const model::SchedulerSettings&)>& broken);
  void fired(const std::string& id, Scheduler& s, const model::RunRecord& run,
             std::vector<std::uint64_t>* busy);
  void skipped(const std::string& id, const Scheduler& s, const model::RunRecord& run,
               std::int64_t first_ms, bool ever_busy);
  bool key_is_taken(const std::pair<std::string, std::string>& name, const JobKey& holder) const;
  void judge_key_skips();
  void check_catch_up(const std::string& id, const Scheduler& s, const model::RunRecord& run,
                      std::int64_t first_ms);

  // ---- model_rows.cc
  void compare_touched();
  void compare_job(const JobKey& key);
  void compare_side(const Job& job, const model::Side* side);
  static bool same_attempts(const Job& job, const std::vector<model::Attempt>& stored);
  void compare_final(const Job& job);
  void compare_queue(const Queue& q);
  void compare_ledger(const std::string& scope, const std::string& key);
  void compare_scheduler(const std::string& id);

  Context& context_;
  std::uint64_t answers_ = 0;
  std::uint64_t given_up_ = 0;  // of these
  Step step_;
  Rows rows_;
  std::int64_t now_ = 0;
  std::uint64_t max_token_ = 0;
  std::map<JobKey, Job> jobs_;
  std::set<JobKey> gone_;                    // removed: never to be seen again
  std::map<std::uint64_t, JobKey> running_;  // by token
  std::map<std::string, Queue> queues_;
  std::set<std::uint32_t> queue_numbers_;  // of all times
  std::map<std::uint64_t, Grant> grants_;
  // Sessions with leases whose cancel was asked for since a lease reply last named all of them.
  std::set<std::string> untold_;
  std::map<std::pair<std::string, std::string>, Entry> ledger_;  // scope, key
  std::map<RequestName, Request> requests_;
  struct LeaseRequest {         // a lease call that has granted
    std::int64_t ended_ms = 0;  // when the last of it ended, 0 while it has not
    bool may_be_forgotten = false;
  };
  std::map<std::pair<std::string, std::string>, LeaseRequest> lease_requests_;
  std::map<std::uint64_t, Purge> purges_;
  std::map<std::string, Scheduler> schedulers_;
};

}  // namespace rota::sim
