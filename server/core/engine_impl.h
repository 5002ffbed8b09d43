// SPDX-License-Identifier: Apache-2.0
//
// The inside of the engine, split by verb: each engine_<verb>.cc implements one group of the
// methods below. The order of a turn is in engine.cc.
//
// Rules that every verb keeps:
//  * Read everything through the Lookup first; when something is missing, return false and have
//    changed nothing. The command runs again from its start when the rows have come.
//  * A job's state is changed by enter(), move() and leave() only; they keep the counters.
//  * An attempt ends in end_attempt() only, a job ends in end_job() only. Nobody else touches
//    permits, business keys, schedulers' unfinished counts, waiters, or timers of an ended job.
//  * What may unblock a grant calls want_match(); matching happens once, at the end of the turn.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/node_hash_map.h"
#include "core/engine.h"
#include "core/overlay.h"
#include "core/scheduler_book.h"
#include "core/state.h"
#include "core/sweep_plan.h"

namespace rota::core {

// Request ids of lease calls whose jobs have all ended: enough for the repeats that can still come.
inline constexpr std::size_t kSpentRequestsKept = 65'536;

// Where a job is found, from rows and leases.
struct JobView {
  enum class Where : std::uint8_t { kNowhere, kLive, kFinal };
  Where where = Where::kNowhere;
  JobState state = JobState::kUnknown;
  BodyPtr body;            // kLive
  SidePtr side;            // kLive; null when plain
  Lease* lease = nullptr;  // running
  std::uint8_t priority = 0;
  model::FinalRecord final_record;  // kFinal
};

// How an attempt ended.
struct AttemptEnd {
  model::AttemptOutcome outcome{};
  bool by_finish = false;
  model::Failure failure;
  std::string release_reason;
  std::string log_tail;
  bool result_truncated = false;
};

// A live job, taken out of whatever state it was in, on its way to the next.
struct JobRef {
  QueueState* queue = nullptr;
  JobKey key;
  std::uint8_t priority = 0;
  BodyPtr body;
  model::Side side;
  bool had_side_row = false;
};

class EngineImpl {
 public:
  EngineImpl(EngineOptions options, const TimeZoneSource& zones);

  // engine.cc: the turn
  base::Result<bool> load(const ShardStore& store, Now now);  // engine_load.cc
  base::Result<bool> load_grants(const ShardStore& store,
                                 const std::map<std::uint64_t, std::int64_t>& overdue_ends);
  std::int64_t overdue_end_mono_ms(GrantState& grant);
  void apply(Command command, Now now);
  void apply(ReadDone read, Now now);
  void drop_call(CallId call);
  void committed(CommitSeq seq, Now now);
  void stalled(std::int64_t gap_ms, Stall what);
  void hold_ticks(bool hold);
  void drain();
  Turn seal(Now now);
  std::vector<Reply> take_immediate() { return std::move(immediate_); }
  bool full() const { return batch_full() || too_much_waits(); }
  EngineStats stats() const;
  std::vector<std::string> check(const ShardStore& store) const;  // engine_check.cc

 private:
  friend class SchedulerBook;

  // ---- engine.cc: turn, time, tasks and reads
  // A piece of work that may have to wait for rows: runs to its end and returns true, or notes what
  // is missing, changes nothing and returns false.
  using TaskFn = std::function<bool(Lookup&)>;
  struct Task {
    TaskFn run;
    std::function<void(Error)> give_up;  // it kept asking for more; none: it never gives up
    Fetched fetched;
    int rounds = 0;  // reads that were begun for it
    bool is_command = false;
    std::size_t bytes = 0;  // of the command and of what was read for it; while parked
  };
  void run_task(Task task);
  void park_task(Task task, std::vector<GetSpec> missing);
  void start_task(TaskFn run, std::function<void(Error)> give_up = {});
  using PageFn = std::function<void(ReadResult&, CommitSeq point)>;
  void issue_read(ReadSpec spec, PageFn done);
  void advance_time(Now now);
  CommitSeq building() const { return last_seq_ + 1; }
  Batch& batch() { return overlay_.open(); }
  bool batch_full() const;
  bool too_much_waits() const;
  // `first`: of a repeat, the commit of the first answer.
  void reply(CallId call, ReplyBody body, CommitSeq first = 0);
  void reply_error(CallId call, Reason reason, std::string message, std::string field = {});
  void event(JobEvent event);
  // The engine's own work: timers, ticks, purges, retention.
  void run_duties(Turn* turn);
  bool room_for_duties() const;
  void write_touched();  // counters, indexes and meta of this turn
  void plan_wake(Turn* turn);

  void dispatch(Command& command);
  bool run_command(const Command& command, Lookup& look);

  // ---- engine_queue.cc
  QueueState* find_queue(const std::string& name_space, const std::string& name);
  QueueState* queue_of(const JobKey& key);
  Error queue_not_found(const std::string& name) const;
  bool on(const SetQueue& c, const Command& cmd, Lookup& look);
  bool on(const PauseQueue& c, const Command& cmd, Lookup& look);
  bool on(const ResumeQueue& c, const Command& cmd, Lookup& look);
  bool on(const DeleteQueue& c, const Command& cmd, Lookup& look);
  void put_queue(QueueState& q);
  QueueReply queue_reply(const QueueState& q) const;

  // ---- engine_request.cc: remembered answers
  // True: known (row may be null). On a repeat with another body replies an error.
  std::string request_key(const Command& cmd, std::uint8_t method, const RequestTag& tag) const;
  void spend_request(const std::string& hash);
  base::Result<bool> load_spent(const ShardStore& store);
  void remember_request(const std::string& key, const RequestTag& tag, std::string answer);

  // ---- engine_enqueue.cc
  bool on(const EnqueueJobs& c, const Command& cmd, Lookup& look);
  struct NewJob {
    model::JobBody body;
    std::string payload_hash;
    std::uint8_t priority = base::limits::kPriorityDefault;
    std::int64_t due_ms = 0;  // later than now: SCHEDULED
    model::Blocker blocker;   // kind != 0: BLOCKED
  };
  JobKey insert_job(QueueState& q, NewJob job);
  // Takes the result out of the entry.
  std::optional<EnqueuedJob> existing_for_key(model::LedgerEntry& entry, Lookup& look,
                                              bool* missing);

  // ---- engine_job.cc: reading and changing one job
  bool view_job(const JobKey& key, Lookup& look, JobView* view);
  JobRef take_job(const JobKey& key, const JobView& view);
  bool on(const UpdateJob& c, const Command& cmd, Lookup& look);
  bool on(const CancelJob& c, const Command& cmd, Lookup& look);
  bool on(const RedriveJob& c, const Command& cmd, Lookup& look);
  bool on(const DeleteJob& c, const Command& cmd, Lookup& look);
  // Before a job is redriven; false: rows are missing.
  bool recall_scheduler(const JobKey& key, const model::JobBody& body, Lookup& look);
  void redrive(JobRef job, Lookup& look);
  void request_cancel(Lease& lease, const std::string& reason);
  void forget_cancel(const Lease& lease);  // if there is one
  Error job_not_found(const JobKey& key) const;

  // ---- engine_explain.cc
  bool on(const ExplainJob& c, const Command& cmd, Lookup& look);

  // ---- engine_state.cc: the one place where a job's state changes
  void enter(QueueState& q, JobState to, std::uint8_t priority, std::uint64_t seq);
  void move(QueueState& q, JobState from, JobState to, std::uint8_t priority, std::uint64_t seq);
  void leave(QueueState& q, JobState from, std::uint8_t priority);
  void count(QueueState& q, JobState state, int by, std::uint8_t priority, std::uint64_t seq);
  void touch(QueueState& q);
  void want_match(QueueState& q);
  // Puts a job that was taken out of `from` into a waiting state: side record, pointer, timers,
  // window.
  void to_ready(JobRef job, JobState from);
  void to_scheduled(JobRef job, JobState from, std::int64_t due_ms, bool retry_wait);
  // Takes the rows of a waiting state away (window entry, pointer, timers, blocked row).
  void out_of_waiting(JobRef& job, JobState from);
  void put_side(const JobRef& job);
  void end_job(JobRef&& job, JobState from, JobState to, std::string_view reason,
               std::string_view result = {});
  void remove_job(JobRef job, JobState from);  // purge, delete: nothing is left but the count
  void erase_rows(const JobRef& job);
  void finish_key(const JobRef& job, JobState to, std::string_view result);
  // After more was put into the window: keeps it and all of them together within their bounds.
  void window_changed(QueueState& q);
  void list_window(QueueState& q);
  void bound_windows();

  // ---- engine_lease.cc: lease calls, heartbeats, matching
  bool on(const LeaseJobs& c, const Command& cmd, Lookup& look);
  bool on(const Heartbeat& c, const Command& cmd, Lookup& look);
  bool on(const AbandonGrant& c, const Command& cmd, Lookup& look);
  bool answer_repeated_lease(const LeaseJobs& c, const Command& cmd, const std::string& hash,
                             CallId* place);
  std::int64_t last_grant_mono_ms(const LeaseJobs& c) const;
  bool has_time_for_a_grant(const Poll& poll) const;
  void park(std::unique_ptr<Poll> poll);
  void unpark(CallId call);
  void match_all(Turn* turn);
  bool match(QueueState& q, std::uint32_t* budget);
  void grant(QueueState& q, Poll& poll);
  void answer_polls();  // those that were granted something, those whose wait has ended
  void answer_poll(Poll& poll);
  bool poll_may_wait_for_refill(const Poll& poll) const;
  std::vector<std::uint64_t> tell_cancels(const std::string& session_id);
  GrantedJob granted_job(const Lease& lease) const;
  void renew(Lease& lease, std::int64_t ttl_ms);
  void watch(Lease& lease);  // at its deadline as it is now
  void forget_overdue(GrantState& grant);

  // ---- engine_finish.cc: ends of attempts
  bool on(const FinishJobs& c, const Command& cmd, Lookup& look);
  std::variant<FinishedJob, Error> finish_live(Lease& lease, const FinishItem& item);
  std::optional<std::variant<FinishedJob, Error>> finish_stale(const FinishItem& item,
                                                               Lookup& look);
  JobRef end_attempt(Lease& lease, AttemptEnd end);
  void retry_or_die(JobRef job, const WorkerOutcome* outcome, bool lost);
  void give_back(JobRef job, std::int64_t delay_ms, bool snoozed);
  void expire_leases();
  void die(JobRef job, std::string reason);
  std::int64_t backoff_ms(const model::RetryPolicy& policy, const JobKey& key, std::uint32_t n,
                          std::uint32_t attempt) const;
  const model::RetryPolicy& retry_of(const QueueState& q, const model::JobBody& body) const;

  // ---- engine_timer.cc: promotions and start deadlines
  void put_timer(const model::keys::TimerKey& timer);
  void del_timer(const model::keys::TimerKey& timer);
  void fire_timers();
  void refill_timers();
  bool fire(const model::keys::TimerKey& timer, Lookup& look, bool apply);

  // ---- engine_refill.cc
  void refill(QueueState& q);
  void take_page(std::uint32_t queue, const std::string& begin, const std::string& end,
                 const JobKey& from, bool from_none, ReadResult& result);
  void advance_heads(QueueState& q);

  // ---- engine_purge.cc, engine_retention.cc: bounded duties
  bool on(const PurgeQueue& c, const Command& cmd, Lookup& look);
  bool on(const CancelOperation& c, const Command& cmd, Lookup& look);
  bool on(const GetOperation& c, const Command& cmd, Lookup& look);
  void run_purges();
  void purge_page(std::uint64_t number, ReadResult& result, const std::string& begin,
                  const std::string& end);
  void advance_purged_heads(QueueState& q, const std::map<std::uint8_t, std::uint64_t>& kept,
                            const std::string& begin, const std::string& upto);
  void end_operation(model::Operation& operation, bool cancelled);
  void put_operation(const model::Operation& operation);
  void forget_old_operations();
  using RetentionGroup = std::pair<std::uint32_t, JobState>;  // queue, final state
  struct DueRow;
  void run_retention();
  bool start_sweep(int kind);
  std::int64_t next_retention_ms() const;
  void plan_retention(const QueueState& q, JobState group, std::int64_t ended_ms);
  void sweep_final(QueueState& q, JobState group);
  void sweep_final_page(std::uint32_t queue, JobState group, ReadResult& result);
  bool take_out_of_index(const JobKey& key, const model::FinalRecord& record, Lookup& look);
  bool retire(std::uint32_t queue, JobState group, std::vector<DueRow>& due, Lookup& look);
  void sweep_expiry(Keyspace keyspace, std::int64_t* swept_ms, std::int64_t* next_ms);
  void sweep_expiry_page(Keyspace keyspace, std::int64_t* swept_ms, std::int64_t* next_ms,
                         ReadResult& result);
  void sweep_dropped();
  void hold_deletions(std::int64_t since_wall_ms, std::int64_t left_ms);
  bool deletions_held() const { return now_.mono_ms < hold_deletions_until_mono_ms_; }

  // ---- schedulers (engine_scheduler.cc, engine_tick.cc through SchedulerBook)
  bool on(const UpsertScheduler& c, const Command& cmd, Lookup& look);
  bool on(const PauseScheduler& c, const Command& cmd, Lookup& look);
  bool on(const ResumeScheduler& c, const Command& cmd, Lookup& look);
  bool on(const DeleteScheduler& c, const Command& cmd, Lookup& look);

  // ---- state
  const EngineOptions options_;
  const TimeZoneSource& zones_;
  Now now_{};
  std::int64_t wall_seen_ms_ = 0;  // as it came, also when it went back
  bool started_ = false;
  bool draining_ = false;
  bool ticks_held_ = false;           // the disk is nearly full
  std::size_t duty_limit_bytes_ = 0;  // of the batch that is being sealed
  std::int64_t hold_deletions_until_mono_ms_ = 0;
  std::int64_t hold_schedulers_until_mono_ms_ = 0;
  std::int64_t sealed_mono_ms_ = 0;
  std::int64_t commit_latency_ms_ = 0;

  model::EngineMeta meta_;
  CommitSeq last_seq_ = 0;
  CommitSeq durable_seq_ = 0;
  Overlay overlay_;

  std::size_t window_bytes_ = 0;  // of the windows of all queues, which count themselves in
  std::map<std::uint32_t, std::unique_ptr<QueueState>> queues_;
  std::map<QueueName, std::uint32_t> queue_numbers_;
  std::set<std::uint32_t> dropped_;  // being removed
  std::map<std::uint64_t, model::Operation> operations_;

  // Its order means nothing: what it does in order goes over other sets.
  absl::node_hash_map<JobKey, Lease, JobKeyHash> leases_;
  absl::btree_set<std::pair<std::int64_t, JobKey>> lease_deadlines_;
  std::map<std::uint64_t, std::shared_ptr<GrantState>> grants_;
  std::map<std::string, std::uint64_t> grant_by_request_;
  // Tokens of live leases whose cancel was requested.
  std::map<std::string, std::set<std::uint64_t>> cancels_by_session_;
  // Sessions with one that no lease reply has named yet: their next poll is answered at once.
  std::set<std::string> cancels_untold_;
  std::vector<std::string> spent_requests_;  // ring of request hashes whose grants have ended
  std::unordered_set<std::string> spent_set_;
  std::size_t spent_next_ = 0;
  std::vector<std::pair<CommitSeq, std::vector<JobKey>>> undurable_;  // leases by granting commit

  std::map<CallId, std::unique_ptr<Poll>> polls_;
  std::set<std::pair<std::int64_t, CallId>> poll_ends_;
  std::map<std::string, std::set<CallId>> polls_by_session_;
  std::map<std::string, CallId> poll_by_request_;
  std::set<CallId> polls_granted_;    // in this turn
  std::set<CallId> polls_to_answer_;  // drain, a queue that goes, no time left for a grant
  std::set<CallId> polls_with_news_;  // of a cancel, unless it was told or has ended since

  struct TimerMark {};
  Window<model::keys::TimerKey, TimerMark> timers_;
  std::set<model::keys::TimerKey> firing_;
  // The first start deadline that came due while deletions were held; INT64_MAX: none. They are not
  // kept: when the hold ends, timers are read again from here.
  std::int64_t held_deadlines_from_ms_ = INT64_MAX;

  SchedulerBook book_;

  std::set<std::uint32_t> touched_;
  std::set<std::uint32_t> to_match_;
  std::uint32_t last_served_ = 0;  // the queue that granted last
  // Queues whose windows hold something, each at most once, those listed first in front: where
  // nobody asks for jobs, and where somebody does. It is looked at again when its turn comes.
  std::deque<std::uint32_t> idle_windows_;
  std::deque<std::uint32_t> asked_windows_;
  bool meta_touched_ = false;

  // Index rows of this turn.
  // Of this batch, for the retention index: those of a queue that ended in one state at one time
  // share a row, whose key their final records give too.
  struct EndedGroup {
    std::uint32_t queue = 0;
    JobState state = JobState::kUnknown;
    std::int64_t ended_ms = 0;
    auto operator<=>(const EndedGroup&) const = default;
  };
  std::map<EndedGroup, std::vector<JobKey>> ended_;
  std::map<std::int64_t, std::vector<std::string>> ledger_expiries_;
  std::vector<std::string> remembered_;
  std::vector<std::string> spent_now_;

  std::map<std::uint64_t, std::pair<CommitSeq, PageFn>> reads_;
  std::vector<std::pair<ReadIssue, PageFn>> to_issue_;
  std::uint64_t next_read_ = 1;
  std::uint64_t parked_tasks_ = 0;
  std::size_t waiting_commands_ = 0;  // of the parked tasks
  std::size_t waiting_bytes_ = 0;

  bool retention_busy_ = false;
  int retention_turn_ = 0;  // the kind that is asked first
  SweepPlan<RetentionGroup> final_plan_;
  SliceSize final_slice_{base::limits::kSweepRowsPerBatchMax};
  SliceSize expiry_slice_{base::limits::kSweepRowsPerBatchMax};
  SliceSize timer_slice_;
  std::int64_t next_request_sweep_ms_ = 0;
  std::int64_t next_ledger_sweep_ms_ = 0;
  std::vector<std::string> drop_cursors_;    // of the dropped queue being swept
  std::uint64_t sweeps_ = 0;                 // reads of retention so far
  std::set<std::uint64_t> open_operations_;  // those that are not done
  std::set<std::uint64_t> purging_;          // operations with a read under way
  std::uint64_t purged_last_ = 0;            // whose read was begun last

  std::vector<Reply> replies_;
  std::vector<Reply> immediate_;
  std::vector<JobEvent> events_;
};

}  // namespace rota::core
