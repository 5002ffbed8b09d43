// SPDX-License-Identifier: Apache-2.0
#include "blackbox/round.h"

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

namespace rota::blackbox {
namespace {

using driver::mono_ms;

constexpr int kSubmitters = 3, kRawWorkers = 3, kDeclarers = 2;
constexpr std::int64_t kStepMs = 15, kLookMs = 200, kEndMs = 150'000;
constexpr std::int64_t kOwedMs = 60'000;  // for kinds of faults that have not struck yet
constexpr std::int64_t kOperationMs = 30'000;
constexpr int kPage = 1'000;

internal::CallOptions quick() { return {.timeout = Millis(1'000), .repeat = false}; }
internal::CallOptions patient() { return {.timeout = Millis(30'000)}; }

std::int64_t unfinished_of(const v1::QueueCounters& now) {
  return now.scheduled() + now.blocked() + now.ready() + now.running();
}

}  // namespace

Round::Round(const RoundOptions& options)
    : options_(options),
      stage_(options.stage, &contradictions_),
      nemesis_(stage_, shared_, options.faults, options.first, options.seed * 31 + 7,
               &contradictions_) {}

Round::~Round() {
  shared_.end();
  join_all();
}

void Round::join_all() {
  for (Player& player : players_) {
    if (player.thread.joinable()) player.thread.join();
  }
}

bool Round::play() {
  began_ms_ = mono_ms();
  if (set_up()) {
    start_actors();
    stage_.start_workers();
    run_faults();
    run_to_the_end();
    take_parts();
    // A round that was broken off has no end that could be judged.
    const bool at_rest = contradictions_.none();
    const bool listed = list_everything();
    watch_->close();
    stage_.end_workers(&history_);
    stage_.end_server();
    if (listed && at_rest) figures_ = check(history_, &contradictions_);
  }
  took_ms_ = mono_ms() - began_ms_;
  return contradictions_.none();
}

bool Round::set_up() {
  if (options_.stage.clock != nullptr) options_.stage.clock->set_ms(0);
  if (!stage_.open()) return false;
  watch_ = std::make_unique<internal::RawClient>(
      *internal::RawClient::create({.address = stage_.server_address()}));
  for (const v1::SetQueueRequest& request : planned_queues()) {
    const auto made = watch_->set_queue(request, patient());
    if (!made) return contradictions_.add("no queue: " + made.error().message), false;
    if (!request.settings().has_concurrency_limit()) continue;
    history_.queue_calls.push_back({.call = {.invoked = mono_ns(),
                                             .replied = mono_ns(),
                                             .tries = 1,
                                             .answer = Call::Answer::kDone,
                                             .seq = made->commit_seq()},
                                    .kind = QueueCall::Kind::kLimit,
                                    .queue = request.queue(),
                                    .limit = request.settings().concurrency_limit()});
  }
  history_.leaving = {{kBrief, {.keeps_succeeded = kBriefKeeps}}, {kSwept, {.purged = true}}};
  history_.edited = {kEdited};
  history_.clock_steps = options_.stage.clock != nullptr;
  shared_.clock_steps = history_.clock_steps;
  for (const v1::UpsertSchedulerRequest& request : planned_schedulers()) {
    const auto made = watch_->upsert_scheduler(request, patient());
    if (!made) return contradictions_.add("no scheduler: " + made.error().message), false;
    const v1::SchedulerDeclaration& declared = request.scheduler();
    history_.schedulers.push_back(
        {.scheduler = declared.id(),
         .every_ms = declared.spec().parts(0).interval().every().seconds() * 1'000,
         .may_overlap = declared.overlap().mode() == v1::OverlapPolicy::MODE_ALLOW,
         .catches_all = declared.catch_up().mode() == v1::CatchUpPolicy::MODE_ALL,
         .created_ms = ms_of(made->scheduler().create_time())});
  }
  return true;
}

void Round::start_actors() {
  Random random(options_.seed);
  const auto backlog = static_cast<std::int64_t>(100 + below(random, 400));
  const std::string& clients = stage_.address_of(Line::kClients);
  auto controller = std::make_unique<Controller>(clients, "controller", random(), shared_);
  controller_ = controller.get();
  start(std::move(controller));
  for (int i = 0; i < kSubmitters; ++i) {
    start(
        std::make_unique<Submitter>(clients, "c" + std::to_string(i), random(), shared_, backlog));
  }
  for (int i = 0; i < kDeclarers; ++i) {
    start(std::make_unique<Declarer>(clients, "node" + std::to_string(i), random(), shared_,
                                     /*leads=*/i == 0));
  }
  for (int i = 0; i < kRawWorkers; ++i) {
    start(std::make_unique<RawWorker>(stage_.address_of(Line::kRawWorkers),
                                      "raw" + std::to_string(i), random(), shared_));
  }
}

void Round::start(std::unique_ptr<Actor> actor) {
  Player& player = players_.emplace_back();
  player.actor = std::move(actor);
  player.thread = std::thread([&player] {
    player.actor->run();
    player.done = true;
  });
}

bool Round::done_but_raw_workers() const {
  return std::all_of(players_.begin(), players_.end() - kRawWorkers,
                     [](const Player& player) { return player.done.load(); });
}

void Round::run_faults() {
  const std::int64_t end_ms = mono_ms() + options_.fault_ms;
  std::int64_t last_ms = end_ms + kOwedMs;
  while (contradictions_.none()) {
    const std::int64_t now_ms = mono_ms();
    const bool more = now_ms < end_ms || nemesis_.is_in_the_midst();
    // A scenario keeps the other faults of the server waiting.
    if (more) last_ms = std::max(last_ms, now_ms + kOwedMs);
    if (!more && (!nemesis_.owes() || now_ms >= last_ms)) break;
    if (now_ms >= end_ms) nemesis_.only_what_is_owed();
    nemesis_.step();
    if (options_.stage.clock != nullptr) shared_.clock_ms = options_.stage.clock->ms();
    stage_.server_memory_kib();
    all_ended();  // for the count
    shared_.pause(kStepMs);
  }
  nemesis_.finish();
  stage_.heal();
}

// Everything is well again and nothing new comes: all jobs must end.
void Round::run_to_the_end() {
  shared_.stop_new();
  wait_for([this] { return all_tick(); }, "a scheduler does not tick");
  for (Ticking& declared : history_.schedulers) {
    v1::PauseSchedulerRequest pause;
    pause.set_scheduler_id(declared.scheduler);
    const auto paused = watch_->pause_scheduler(pause, patient());
    if (!paused) {
      contradictions_.add("a scheduler cannot be paused: " + paused.error().message);
      continue;
    }
    declared.paused_ms = ms_of(paused->scheduler().pause().pause_time());
  }
  wait_for([this] { return done_but_raw_workers(); }, "clients wait for answers");
  if (contradictions_.none()) controller_->settle();
  end_edited();
  wait_for([this] { return all_ended(); }, "not all is over");
  shared_.end();
  join_all();
}

// What it owes until then is on record when it is deleted.
void Round::end_edited() {
  const auto begin = [this](SchedulerCall::Kind kind) -> SchedulerCall& {
    SchedulerCall& entry = history_.scheduler_calls.emplace_back();
    entry.kind = kind;
    entry.scheduler = kEdited;
    entry.call.invoked = mono_ns();
    entry.call.tries = 1;
    return entry;
  };
  const auto answered = [](Seq seq, Call* call) {
    call->replied = mono_ns();
    call->answer = Call::Answer::kDone;
    call->seq = seq;
  };
  v1::GetSchedulerRequest get;
  get.set_scheduler_id(kEdited);
  const auto there = watch_->get_scheduler(get, patient());
  if (!there) return;  // it was deleted last
  if (!there->scheduler().has_pause()) {
    SchedulerCall& entry = begin(SchedulerCall::Kind::kPause);
    v1::PauseSchedulerRequest pause;
    pause.set_scheduler_id(kEdited);
    const auto paused = watch_->pause_scheduler(pause, patient());
    if (!paused) return contradictions_.add("a scheduler cannot be paused");
    answered(paused->commit_seq(), &entry.call);
    hear(paused->scheduler(), &entry);
  }
  SchedulerCall& entry = begin(SchedulerCall::Kind::kDelete);
  v1::DeleteSchedulerRequest remove;
  remove.set_scheduler_id(kEdited);
  const auto removed = watch_->delete_scheduler(remove, patient());
  if (!removed) return contradictions_.add("a scheduler cannot be deleted");
  answered(removed->commit_seq(), &entry.call);
}

void Round::wait_for(const std::function<bool()>& over, const std::string& what) {
  const std::int64_t end_ms = mono_ms() + kEndMs;
  while (contradictions_.none() && !over()) {
    nemesis_.step();
    shared_.pause(kStepMs);
    if (mono_ms() < end_ms) continue;
    contradictions_.add(std::to_string(kEndMs / 1'000) + " s after the last fault " + what + ", " +
                        std::to_string(unfinished_) + " jobs unfinished");
  }
}

// What came due while the server was away, or took nothing new, is late; but it comes.
bool Round::all_tick() {
  if (mono_ms() - looked_ms_ < kLookMs) return false;
  looked_ms_ = mono_ms();
  const auto info = watch_->get_server_info({}, quick());
  if (!info) return false;
  const std::int64_t now_ms = ms_of(info->server().server_time());
  return std::all_of(
      history_.schedulers.begin(), history_.schedulers.end(), [&](const Ticking& declared) {
        v1::ListRunsRequest newest;
        newest.set_scheduler_id(declared.scheduler);
        newest.set_page_size(1);
        const auto page = watch_->list_runs(newest, quick());
        if (!page) return false;
        const std::int64_t last_ms =
            page->runs().empty() ? declared.created_ms : record_of(page->runs(0)).last_ms;
        return last_ms >= now_ms - declared.every_ms - kLateMs / 2;
      });
}

bool Round::all_ended() {
  if (mono_ms() - looked_ms_ < kLookMs) return false;
  looked_ms_ = mono_ms();
  const bool no_more = shared_.no_more;
  std::int64_t unfinished = 0, ended = 0;
  bool kept = false;  // more than it was to
  for (const char* queue : kQueues) {
    v1::GetQueueRequest request;
    request.set_queue(queue);
    const auto answer = watch_->get_queue(request, quick());
    if (!answer) return false;
    const v1::QueueCounters& now = answer->queue().counters();
    unfinished += unfinished_of(now);
    if (std::string_view(queue) != kTicks) ended += now.created() - unfinished_of(now);
    if (std::string_view(queue) == kBrief) kept = now.succeeded() > kBriefKeeps;
  }
  shared_.ended = ended;
  unfinished_ = unfinished;
  return no_more && unfinished == 0 && (!kept || history_.clock_steps);
}

void Round::take_parts() {
  for (Player& player : players_) {
    history_.join(player.actor->take_history());
    for (const auto& [name, count] : player.actor->operations()) operations_[name] += count;
  }
}

bool Round::list_everything() {
  for (const QueueCall& call : history_.queue_calls) {
    if (!call.operation.empty() && !look_up(call.operation)) return false;
  }
  for (const char* queue : kQueues) {
    v1::ListJobsRequest list;
    list.mutable_filter()->set_queue(queue);
    list.set_page_size(kPage);
    do {
      auto page = watch_->list_jobs(list, patient());
      if (!page) return contradictions_.add("no list of jobs: " + page.error().message), false;
      for (const v1::Job& job : page->jobs()) history_.jobs.push_back(record_of(job));
      list.set_page_token(page->next_page_token());
    } while (!list.page_token().empty());
    v1::GetQueueRequest get;
    get.set_queue(queue);
    const auto answer = watch_->get_queue(get, patient());
    if (!answer) return contradictions_.add("no counters: " + answer.error().message), false;
    history_.totals[queue] = answer->queue().counters();
  }
  history_.add_left();
  std::set<std::string> schedulers = history_.edited;
  for (const Ticking& declared : history_.schedulers) schedulers.insert(declared.scheduler);
  for (const std::string& scheduler : schedulers) {
    v1::ListRunsRequest list;
    list.set_scheduler_id(scheduler);
    list.set_page_size(kPage);
    do {
      auto page = watch_->list_runs(list, patient());
      if (!page) return contradictions_.add("no list of runs: " + page.error().message), false;
      for (const v1::Run& run : page->runs()) history_.runs.push_back(record_of(run));
      list.set_page_token(page->next_page_token());
    } while (!list.page_token().empty());
  }
  return true;
}

// Waits for its end.
bool Round::look_up(const std::string& operation) {
  v1::GetOperationRequest get;
  get.set_operation_id(operation);
  OperationRecord& record = history_.operations[operation];
  const auto over = [&] {
    const auto answer = watch_->get_operation(get, patient());
    if (!answer) return contradictions_.add("no operation: " + answer.error().message), true;
    record.state = answer->operation().state();
    record.removed = answer->operation().removed_count();
    return record.state != v1::Operation::STATE_RUNNING;
  };
  return driver::wait_until(over, kOperationMs) && contradictions_.none();
}

std::string Round::summary() const {
  std::int64_t answered = 0, faults = 0;
  for (const auto& [name, count] : operations_) answered += count;
  for (const std::int64_t count : struck()) faults += count;
  std::ostringstream out;
  out << answered << " calls answered, " << figures_.open << " never, " << faults << " faults; "
      << figures_.jobs << " jobs: " << figures_.succeeded << " succeeded, " << figures_.dead
      << " dead, " << figures_.cancelled << " cancelled, " << figures_.expired << " expired, "
      << figures_.deleted << " deleted, " << figures_.purged << " purged, " << figures_.retired
      << " retired; " << figures_.updated << " updates; " << figures_.attempts << " attempts, "
      << figures_.lost << " lost; " << figures_.executions << " handlers ran, " << figures_.overlaps
      << " overlapped by a fault; " << figures_.fired << " ticks fired; memory "
      << most_memory_kib() / 1024 << " MiB; " << took_ms_ / 1'000 << " s";
  return out.str();
}

}  // namespace rota::blackbox
