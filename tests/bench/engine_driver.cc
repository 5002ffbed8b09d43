// SPDX-License-Identifier: Apache-2.0
#include "bench/engine_driver.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

#include "store/memory_store.h"

namespace rota::measure {
namespace {

constexpr int kTurnsMax = 1'000;
constexpr const char* kSession = "session-of-a-worker-process";

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "engine driver: %s\n", why.c_str());
  std::exit(1);
}

}  // namespace

EngineDriver::EngineDriver(const Opener& opener) {
  if (opener) {
    store_ = opener(executor_);
  } else {
    store_ = store::MemoryDisk::create()->open(executor_);
  }
  if (!store_) give_up("the store does not open");
  engine_ = std::make_unique<core::Engine>(core::EngineOptions{}, zones_);
  const auto loaded = engine_->load(*store_, now_);
  if (!loaded) give_up(base::to_string(loaded.error()));
}

void EngineDriver::turn() {
  for (core::ReadDone& read : std::exchange(reads_, {})) engine_->apply(std::move(read), now_);
  core::Turn turn = engine_->seal(now_);
  if (!turn.damage.empty()) give_up(turn.damage);
  if (turn.batch) {
    store_->commit(turn.batch, turn.seq,
                   [this](core::CommitSeq seq, core::Outcome outcome, const std::string& detail) {
                     if (outcome != core::Outcome::kCommitted) give_up(detail);
                     engine_->committed(seq, now_);
                   });
  }
  for (core::ReadIssue& issue : turn.reads) {
    store_->read(std::move(issue.spec),
                 [this, id = issue.id](core::ReadError error, core::ReadResult result,
                                       const std::string& detail) {
                   if (error != core::ReadError::kNone) give_up(detail);
                   reads_.push_back({id, std::move(result)});
                 });
  }
  replies_ = std::move(turn.replies);
}

core::ReplyBody EngineDriver::answer(core::CommandBody body) {
  ++now_.wall_ms;
  ++now_.mono_ms;
  core::Command command;
  command.call = next_call_++;
  command.body = std::move(body);
  const core::CallId call = command.call;
  engine_->apply(std::move(command), now_);
  for (int turns = 0; turns < kTurnsMax; ++turns) {
    turn();
    for (core::Reply& reply : replies_) {
      if (reply.call == call) return std::move(reply.body);
    }
  }
  give_up("no answer");
}

void EngineDriver::refuse(const core::ReplyBody& reply) {
  const auto* error = std::get_if<core::Error>(&reply);
  give_up(error != nullptr ? base::to_string(*error) : "another answer than expected");
}

void EngineDriver::make_queue(const std::string& queue) {
  core::SetQueue set;
  set.queue = queue;
  call<core::QueueReply>(std::move(set));
}

void EngineDriver::enqueue(const std::string& queue, int jobs, std::size_t payload_bytes) {
  core::EnqueueJobs command;
  command.bulk = true;
  command.jobs.resize(static_cast<std::size_t>(jobs));
  for (core::JobRequest& job : command.jobs) {
    job.queue = queue;
    job.kind = "noop";
    job.content_type = "application/octet-stream";
    job.payload.assign(payload_bytes, 'p');
  }
  const auto reply = call<core::EnqueueReply>(std::move(command));
  for (const core::EnqueueItem& item : reply.items) {
    const auto* created = std::get_if<core::EnqueuedJob>(&item);
    if (created == nullptr || !created->created) give_up("a job was not created");
  }
}

core::LeaseReply EngineDriver::lease(const std::string& queue, int jobs) {
  core::LeaseJobs command;
  command.queues = {queue};
  command.session_id = kSession;
  command.worker_id = "worker";
  command.max_jobs = static_cast<std::uint32_t>(jobs);
  command.received_mono_ms = now_.mono_ms;
  return call<core::LeaseReply>(std::move(command));
}

void EngineDriver::finish(const core::LeaseReply& leased) {
  core::FinishJobs command;
  command.session_id = kSession;
  command.items.reserve(leased.jobs.size());
  for (const core::GrantedJob& job : leased.jobs) {
    command.items.push_back({{job.key, job.token}, {}, {}});
  }
  const auto reply = call<core::FinishReply>(std::move(command));
  for (const auto& item : reply.items) {
    if (std::get_if<core::FinishedJob>(&item) == nullptr) give_up("an outcome was refused");
  }
}

}  // namespace rota::measure
