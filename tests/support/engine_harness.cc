// SPDX-License-Identifier: Apache-2.0
#include "support/engine_harness.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "base/hash.h"
#include "model/job_id.h"

namespace rota::testing {

using core::CallId;
using core::JobKey;
using core::Keyspace;

namespace {
// More turns than this at one moment means that the engine never comes to rest.
constexpr int kTurnsAtOneMoment = 20'000;
}  // namespace

EngineHarness::EngineHarness(core::EngineOptions options, Opener opener)
    : options_(options), disk_(store::MemoryDisk::create()), opener_(std::move(opener)) {
  if (!opener_) {
    opener_ = [this](core::Executor& executor) { return disk_->open(executor); };
  }
  open();
}

EngineHarness::~EngineHarness() {
  executor_.drop_all();
  engine_.reset();
  store_.reset();
}

void EngineHarness::open() {
  store_ = opener_(executor_);
  if (!store_) {
    ADD_FAILURE() << "the store does not open";
    std::abort();
  }
  engine_ = std::make_unique<core::Engine>(options_, zones_);
  auto loaded = engine_->load(*store_, now_);
  if (!loaded) {
    ADD_FAILURE() << base::to_string(loaded.error());
    std::abort();
  }
  shadow_.load(*store_);
  if (watcher_ != nullptr) watcher_->opened(*store_, now_);
  wake_mono_ms_ = now_.mono_ms;
  wake_wall_ms_ = now_.wall_ms;
  more_ = true;
}

void EngineHarness::watch(EngineWatcher* watcher) {
  watcher_ = watcher;
  if (watcher_ != nullptr) watcher_->opened(*store_, now_);
}

void EngineHarness::crash(bool keep_pending) {
  ++life_;
  executor_.drop_all();
  engine_.reset();
  store_.reset();
  const bool kept = keep_pending && disk_->settle_pending(1) == 1;
  if (!keep_pending) disk_->settle_pending(0);
  // A kept batch is judged like any other; what was promised for it was never answered.
  if (kept && !held_.empty()) {
    for (core::Turn& turn : held_) {
      if (!turn.batch) continue;
      for (const std::string& fault : shadow_.take(turn)) ADD_FAILURE() << fault;
      for (core::JobEvent& event : turn.events) events.push_back(std::move(event));
      break;
    }
  }
  in_flight_ = false;
  held_.clear();
  reads_.clear();
  reads_open_ = 0;
  replies_.clear();
  open();
}

// ---- turns

CallId EngineHarness::send(core::CommandBody body) {
  core::Command command;
  command.call = next_call_++;
  command.body = std::move(body);
  if (auto* lease = std::get_if<core::LeaseJobs>(&command.body);
      lease != nullptr && lease->received_mono_ms == 0) {
    lease->received_mono_ms = now_.mono_ms;
  }
  const CallId call = command.call;
  tell(core::input::Apply{command, now_});
  engine_->apply(std::move(command), now_);
  for (core::Reply& reply : engine_->take_immediate()) {
    if (watcher_ != nullptr) watcher_->taken(reply);
    EXPECT_LE(reply.seq, store_->last_committed())
        << "an answer names a commit that is not durable";
    replies_[reply.call] = std::move(reply.body);
  }
  return call;
}

void EngineHarness::drop_call(CallId call) {
  tell(core::input::DropCall{call});
  engine_->drop_call(call);
}
void EngineHarness::stalled(std::int64_t gap_ms, core::Stall what) {
  tell(core::input::Stalled{gap_ms, what});
  engine_->stalled(gap_ms, what);
}
void EngineHarness::hold_ticks(bool hold) {
  tell(core::input::HoldTicks{hold});
  engine_->hold_ticks(hold);
}
void EngineHarness::drain() {
  tell(core::input::Drain{});
  engine_->drain();
}

bool EngineHarness::seal() {
  if (in_flight_) return false;
  tell(core::input::Seal{now_});
  core::Turn turn = engine_->seal(now_);
  if (watcher_ != nullptr) watcher_->sealed(turn);
  for (const core::Reply& reply : turn.replies) {
    EXPECT_TRUE(!reply.immediate || std::holds_alternative<core::HeartbeatReply>(reply.body))
        << "leaves before what it saw is durable: " << describe(reply.body);
  }
  more_ = turn.more;
  wake_mono_ms_ = turn.wake_mono_ms;
  wake_wall_ms_ = turn.wake_wall_ms;
  std::vector<core::ReadIssue> issued = std::move(turn.reads);
  const auto batch = turn.batch;
  const core::CommitSeq seq = turn.seq;
  if (batch) {
    largest_batch_bytes = std::max(largest_batch_bytes, batch->bytes());
    largest_batch_ops = std::max(largest_batch_ops, batch->ops());
    in_flight_ = true;
    held_.push_back(std::move(turn));
    store_->commit(batch, seq, [this](core::CommitSeq at, core::Outcome outcome, std::string) {
      complete(at, outcome);
    });
  } else {
    release(turn);
  }
  for (core::ReadIssue& issue : issued) {
    ++reads_open_;
    store_->read(std::move(issue.spec),
                 [this, id = issue.id, life = life_](core::ReadError error, core::ReadResult result,
                                                     std::string detail) {
                   if (life != life_) return;
                   EXPECT_EQ(error, core::ReadError::kNone) << detail;
                   reads_.push_back({id, std::move(result)});
                 });
  }
  return true;
}

void EngineHarness::complete(core::CommitSeq seq, core::Outcome outcome) {
  ASSERT_EQ(outcome, core::Outcome::kCommitted);
  in_flight_ = false;
  tell(core::input::Committed{seq, now_});
  engine_->committed(seq, now_);
  core::Turn turn = std::move(held_.front());
  held_.pop_front();
  release(turn);
}

void EngineHarness::release(core::Turn& turn) {
  for (const std::string& fault : shadow_.take(turn)) ADD_FAILURE() << fault;
  for (core::Reply& reply : turn.replies) {
    EXPECT_FALSE(replies_.contains(reply.call)) << "two replies for one call";
    EXPECT_LE(reply.seq, turn.seq) << "an answer names a commit that is not durable";
    named = reply.seq;
    replies_[reply.call] = std::move(reply.body);
  }
  for (core::JobEvent& event : turn.events) {
    EXPECT_EQ(event.seq, turn.seq);
    events.push_back(std::move(event));
  }
}

void EngineHarness::deliver_read(std::size_t index) {
  core::ReadDone read = std::move(reads_[index]);
  reads_.erase(reads_.begin() + static_cast<std::ptrdiff_t>(index));
  --reads_open_;
  tell(core::input::Read{read, now_});
  engine_->apply(std::move(read), now_);
}

void EngineHarness::settle() {
  for (int turns = 0; turns < kTurnsAtOneMoment; ++turns) {
    while (executor_.run_one()) {
    }
    while (!reads_.empty()) deliver_read(0);
    const std::size_t replies = replies_.size();
    seal();
    const bool busy = in_flight_ || executor_.held() > 0 || reads_open_ > 0 || more_ ||
                      wake_mono_ms_ <= now_.mono_ms || wake_wall_ms_ <= now_.wall_ms ||
                      replies_.size() != replies;
    if (!busy) {
      check();
      return;
    }
  }
  const auto stats = engine_->stats();
  ADD_FAILURE() << "the engine does not come to rest: more " << more_ << ", reads " << reads_open_
                << ", wake in " << wake_mono_ms_ - now_.mono_ms << " ms and at "
                << wake_wall_ms_ - stats.now_ms << " ms, parked " << stats.parked_commands
                << ", behind " << stats.behind_ms << " ms, window " << stats.window_rows;
  std::abort();  // every later step would only say the same again
}

void EngineHarness::check() {
  if (!checks_) return;
  for (const std::string& fault : engine_->check(*store_)) ADD_FAILURE() << fault;
  for (const std::string& fault : shadow_.compare(*store_)) ADD_FAILURE() << fault;
}

// ---- the clocks

void EngineHarness::advance(std::int64_t ms) {
  std::int64_t left = ms;
  settle();
  while (left > 0) {
    std::int64_t step = std::min(left, std::max<std::int64_t>(1, wake_mono_ms_ - now_.mono_ms));
    if (wake_wall_ms_ != INT64_MAX) {
      step = std::min(step, std::max<std::int64_t>(1, wake_wall_ms_ - now_.wall_ms));
    }
    move_clocks(step);
    left -= step;
    settle();
  }
}

void EngineHarness::jump(std::int64_t ms) {
  move_clocks(ms);
  settle();
}

// ---- calls

std::optional<core::ReplyBody> EngineHarness::take(CallId call) {
  auto it = replies_.find(call);
  if (it == replies_.end()) return std::nullopt;
  core::ReplyBody body = std::move(it->second);
  replies_.erase(it);
  return body;
}

core::ReplyBody EngineHarness::call(core::CommandBody body) {
  const CallId id = send(std::move(body));
  settle();
  auto reply = take(id);
  if (!reply) {
    ADD_FAILURE() << "no reply";
    return core::Error{};
  }
  return std::move(*reply);
}

core::QueueReply EngineHarness::queue(const std::string& name, core::QueuePatch patch) {
  core::SetQueue set;
  set.queue = name;
  set.patch = std::move(patch);
  return expect<core::QueueReply>(std::move(set));
}

core::EnqueuedJob EngineHarness::enqueue(core::JobRequest job, const std::string& request_id) {
  auto reply = expect<core::EnqueueReply>(testing::enqueue(std::move(job), request_id));
  if (reply.items.size() == 1) {
    if (auto* done = std::get_if<core::EnqueuedJob>(&reply.items[0])) return *done;
    ADD_FAILURE() << base::to_string(std::get<core::Error>(reply.items[0]));
  }
  return {};
}

core::Error EngineHarness::enqueue_refused(core::JobRequest job, const std::string& request_id) {
  const core::ReplyBody body = call(testing::enqueue(std::move(job), request_id));
  if (const auto* error = std::get_if<core::Error>(&body)) return *error;
  const auto* reply = std::get_if<core::EnqueueReply>(&body);
  if (reply != nullptr && reply->items.size() == 1) {
    if (const auto* error = std::get_if<core::Error>(&reply->items[0])) return *error;
  }
  ADD_FAILURE() << "not refused: " << describe(body);
  return {};
}

core::LeaseReply EngineHarness::lease(core::LeaseJobs request) {
  request.received_mono_ms = now_.mono_ms;
  return expect<core::LeaseReply>(std::move(request));
}

core::GrantedJob EngineHarness::take_job(const std::string& queue, const std::string& session) {
  auto reply = lease(testing::lease({queue}, 1, session));
  if (reply.jobs.size() == 1) return reply.jobs[0];
  ADD_FAILURE() << "queue " << queue << " had no job";
  return {};
}

bool EngineHarness::nothing_to_lease(const std::string& queue) {
  return lease(testing::lease({queue})).jobs.empty();
}

core::FinishedJob EngineHarness::finish(const core::GrantedJob& job, core::WorkerOutcome outcome) {
  auto reply = expect<core::FinishReply>(testing::finish(job, std::move(outcome)));
  if (reply.items.size() == 1) {
    if (auto* done = std::get_if<core::FinishedJob>(&reply.items[0])) return *done;
    ADD_FAILURE() << base::to_string(std::get<core::Error>(reply.items[0]));
  }
  return {};
}

core::Error EngineHarness::finish_refused(const core::GrantedJob& job,
                                          core::WorkerOutcome outcome) {
  auto reply = expect<core::FinishReply>(testing::finish(job, std::move(outcome)));
  if (reply.items.size() == 1) {
    if (auto* error = std::get_if<core::Error>(&reply.items[0])) return *error;
  }
  ADD_FAILURE() << "not refused";
  return {};
}

core::HeartbeatReply::Item EngineHarness::beat(const core::GrantedJob& job,
                                               const std::string& session) {
  core::Heartbeat beat;
  beat.session_id = session;
  beat.leases.push_back(ref(job));
  auto reply = expect<core::HeartbeatReply>(std::move(beat));
  return reply.items.size() == 1 ? reply.items[0] : core::HeartbeatReply::Item{};
}

// ---- the disk

std::optional<std::string> EngineHarness::row(Keyspace keyspace, const std::string& key) const {
  core::ReadSpec spec;
  spec.gets.push_back({keyspace, key});
  core::ReadResult result;
  std::string detail;
  if (store_->snapshot_read(spec, &result, &detail) != core::ReadError::kNone) {
    ADD_FAILURE() << detail;
    return std::nullopt;
  }
  return result.values[0];
}

core::JobState EngineHarness::state(const JobKey& key) {
  core::ExplainJob explain;
  explain.key = key;
  const core::ReplyBody body = call(explain);
  if (const auto* reply = std::get_if<core::ExplainReply>(&body)) return reply->state;
  EXPECT_EQ(std::get<core::Error>(body).reason, core::Reason::kJobNotFound);
  return core::JobState::kUnknown;
}

std::optional<model::Side> EngineHarness::side(const JobKey& key) const {
  const auto bytes = row(Keyspace::kSide, model::keys::job(key));
  model::Side side;
  if (!bytes) return std::nullopt;
  EXPECT_TRUE(model::decode(*bytes, &side));
  return side;
}

std::optional<model::FinalRecord> EngineHarness::final_record(const JobKey& key) const {
  const auto bytes = row(Keyspace::kFinal, model::keys::final_record(key));
  model::FinalRecord record;
  if (!bytes) return std::nullopt;
  EXPECT_TRUE(model::decode(*bytes, &record));
  return record;
}

std::vector<model::Attempt> EngineHarness::history(const JobKey& key) const {
  if (const auto record = final_record(key)) return record->history;
  if (const auto s = side(key)) return s->history;
  return {};
}

model::QueueCounters EngineHarness::counters(const std::string& queue) {
  core::SetQueue same;
  same.queue = queue;
  return expect<core::QueueReply>(std::move(same)).counters;
}

std::vector<model::RunRecord> EngineHarness::runs(const std::string& scheduler) const {
  std::vector<model::RunRecord> out;
  core::ReadSpec spec;
  core::ScanSpec scan;
  scan.keyspace = Keyspace::kRun;
  scan.begin = model::keys::run_begin("default", scheduler, INT64_MIN);
  scan.end = model::keys::run_end("default", scheduler);
  scan.max_rows = 100'000;
  scan.max_bytes = SIZE_MAX;
  spec.scans.push_back(scan);
  core::ReadResult result;
  std::string detail;
  EXPECT_EQ(store_->snapshot_read(spec, &result, &detail), core::ReadError::kNone) << detail;
  for (const core::Row& row : result.pages[0].rows) {
    model::RunRecord run;
    EXPECT_TRUE(model::decode(row.second, &run));
    out.push_back(std::move(run));
  }
  return out;
}

std::size_t EngineHarness::rows(Keyspace keyspace) const {
  std::size_t n = 0;
  std::string detail;
  EXPECT_EQ(store_->load(
                keyspace, [&](std::string_view, std::string_view) { return ++n > 0; }, &detail),
            core::ReadError::kNone);
  return n;
}

// ---- builders

core::JobRequest job(std::string queue, std::string kind) {
  core::JobRequest request;
  request.queue = std::move(queue);
  request.kind = std::move(kind);
  request.content_type = "text/plain";
  return request;
}

core::EnqueueJobs enqueue(std::vector<core::JobRequest> jobs, std::string request_id) {
  core::EnqueueJobs command;
  command.bulk = jobs.size() != 1;
  std::string body;
  for (core::JobRequest& request : jobs) {
    if (!request.business_key.empty() && request.payload_hash.empty()) {
      request.payload_hash = std::string(base::as_bytes(base::hash_parts({request.payload})));
    }
    body += request.queue + "/" + request.kind + "/" + request.payload + "/" +
            request.business_key + ";";
  }
  command.jobs = std::move(jobs);
  command.request.id = std::move(request_id);
  command.request.body_hash = std::string(base::as_bytes(base::hash_parts({body})));
  return command;
}

core::EnqueueJobs enqueue(core::JobRequest job, std::string request_id) {
  std::vector<core::JobRequest> jobs;
  jobs.push_back(std::move(job));
  return enqueue(std::move(jobs), std::move(request_id));
}

core::LeaseJobs lease(std::vector<std::string> queues, std::uint32_t max_jobs,
                      std::string session) {
  core::LeaseJobs command;
  command.queues = std::move(queues);
  command.worker_id = "worker-" + session;
  command.session_id = std::move(session);
  command.max_jobs = max_jobs;
  command.wait_ms = 0;
  return command;
}

core::LeaseJobs poll(std::vector<std::string> queues, std::int64_t wait_ms, std::uint32_t max_jobs,
                     std::string session) {
  core::LeaseJobs command = lease(std::move(queues), max_jobs, std::move(session));
  command.wait_ms = wait_ms;
  return command;
}

core::LeaseRef ref(const core::GrantedJob& job) { return {job.key, job.token}; }

core::FinishJobs finish(const core::GrantedJob& job, core::WorkerOutcome outcome) {
  core::FinishJobs command;
  command.session_id = "s1";
  command.items.push_back({ref(job), std::move(outcome), {}});
  return command;
}

core::WorkerOutcome succeeded(std::string result) {
  core::WorkerOutcome outcome;
  outcome.kind = core::WorkerOutcome::Kind::kSucceeded;
  outcome.result = std::move(result);
  return outcome;
}

core::WorkerOutcome failed(bool retryable, std::string message) {
  core::WorkerOutcome outcome;
  outcome.kind = core::WorkerOutcome::Kind::kFailed;
  outcome.retryable = retryable;
  outcome.failure = {"ERROR", std::move(message), ""};
  return outcome;
}

core::WorkerOutcome failed_retry_after(std::int64_t ms) {
  core::WorkerOutcome outcome = failed();
  outcome.retry_after_ms = ms;
  return outcome;
}

core::WorkerOutcome snoozed(std::optional<std::int64_t> after_ms) {
  core::WorkerOutcome outcome;
  outcome.kind = core::WorkerOutcome::Kind::kSnoozed;
  outcome.retry_after_ms = after_ms;
  return outcome;
}

core::WorkerOutcome released(std::string reason) {
  core::WorkerOutcome outcome;
  outcome.kind = core::WorkerOutcome::Kind::kReleased;
  outcome.release_reason = std::move(reason);
  return outcome;
}

core::UpsertScheduler scheduler(std::string id, std::int64_t every_ms, std::string queue) {
  core::UpsertScheduler command;
  command.id = std::move(id);
  command.settings.spec.every_ms = every_ms;
  command.settings.job.queue = std::move(queue);
  command.settings.job.kind = "tick";
  return command;
}

core::QueuePatch with_limit(std::optional<std::uint32_t> limit) {
  core::QueuePatch patch;
  patch.concurrency_limit = limit;
  return patch;
}

core::QueuePatch with_retry(model::RetryPolicy retry) {
  core::QueuePatch patch;
  patch.retry = std::move(retry);
  return patch;
}

core::QueuePatch with_retention(model::Retention retention) {
  core::QueuePatch patch;
  patch.retention = retention;
  return patch;
}

model::RetryPolicy retries(std::uint32_t max_attempts, std::int64_t delay_ms) {
  model::RetryPolicy policy;
  policy.max_attempts = max_attempts;
  policy.first_ms = delay_ms;
  policy.factor = 1.0;
  policy.jitter = 0.0;
  return policy;
}

std::string describe(const core::ReplyBody& body) {
  if (const auto* error = std::get_if<core::Error>(&body)) return base::to_string(*error);
  static constexpr const char* kNames[] = {
      "Error",          "EnqueueReply", "JobReply",   "ExplainReply",   "LeaseReply",
      "HeartbeatReply", "FinishReply",  "QueueReply", "OperationReply", "SchedulerReply"};
  return kNames[body.index()];
}

void fail_reply(const std::optional<core::ReplyBody>& body) {
  ADD_FAILURE() << (body ? "answered with " + describe(*body) : std::string("no reply"));
}

}  // namespace rota::testing
