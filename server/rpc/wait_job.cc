// SPDX-License-Identifier: Apache-2.0
#include "rpc/wait_job.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <utility>

#include "base/limits.h"
#include "model/job_id.h"
#include "rpc/call.h"
#include "rpc/convert_job.h"
#include "rpc/convert_time.h"
#include "rpc/status_map.h"

namespace rota::rpc {
namespace {

namespace limits = base::limits;

// One waiting call. Its end can come from four sides at once (the job ends, the wait ends, the job
// was final already, the caller goes away); whoever claims it first finishes it. What is scheduled
// elsewhere holds `Shared` only, so that the reactor may be gone.
class WaitReactor final : public grpc::ServerUnaryReactor {
 public:
  WaitReactor(Context& context, grpc::CallbackServerContext* call, std::string name_space,
              model::JobKey key, v1::WaitJobResponse* response)
      : shared_(
            std::make_shared<Shared>(context, call, std::move(name_space), key, this, response)) {}

  // Registers first and reads after: an end in between is seen by one of the two.
  void start(std::int64_t wait_ms) {
    auto shared = shared_;
    if (wait_ms == 0) return first_look(shared, /*last=*/true);
    const auto waiter = shared->context.server.waiters.add(
        shared->key, wait_ms, [shared](runtime::WaitEnd, const core::JobEvent* event) {
          look(shared, event == nullptr ? Seen{} : Seen{event->state, event->seq});
        });
    if (!waiter) {
      shared->end(to_status(waiter.error()));
      return;
    }
    {
      std::lock_guard lock(shared->mutex);
      shared->waiter = *waiter;
    }
    first_look(shared, /*last=*/false);
  }

  void OnCancel() override { shared_->end(grpc::Status::CANCELLED); }
  void OnDone() override { delete this; }

 private:
  struct Shared {
    Shared(Context& context_of_all, grpc::CallbackServerContext* transport_call, std::string names,
           model::JobKey job, WaitReactor* owner, v1::WaitJobResponse* answer)
        : context(context_of_all),
          call(transport_call),
          name_space(std::move(names)),
          key(job),
          reactor(owner),
          response(answer) {}

    // True for exactly one caller, who may then touch reactor and response.
    bool claim() { return !claimed.exchange(true); }
    void forget_waiter() {
      runtime::Waiters::Id id = 0;
      {
        std::lock_guard lock(mutex);
        id = std::exchange(waiter, 0);
      }
      if (id != 0) context.server.waiters.cancel(id);
    }
    void end(grpc::Status status) {
      if (!claim()) return;
      forget_waiter();
      reactor->Finish(std::move(status));
    }

    // With the response as it stands; by whoever claimed the call.
    void answer() {
      context.replies.hand_over(call, *response);
      reactor->Finish(grpc::Status::OK);
    }

    Context& context;
    grpc::CallbackServerContext* const call;
    const std::string name_space;
    const model::JobKey key;
    WaitReactor* const reactor;
    v1::WaitJobResponse* const response;
    std::atomic<bool> claimed{false};
    std::mutex mutex;
    runtime::Waiters::Id waiter = 0;
  };

  // What an event told of the job, for one of which nothing is kept.
  struct Seen {
    model::JobState state = model::JobState::kUnknown;
    core::CommitSeq seq = 0;
  };

  // Stands in line with all other queries, and is refused like them.
  static void first_look(const std::shared_ptr<Shared>& shared, bool last) {
    const bool accepted = shared->context.server.readers.submit(
        [shared, last] { read_and_answer(*shared, last, Seen{}); });
    if (!accepted) shared->end(to_status(too_many_queries()));
  }

  // What the wait ended for goes first: at most one for each call that waits.
  static void look(const std::shared_ptr<Shared>& shared, Seen seen) {
    const bool accepted = shared->context.server.readers.submit_first(
        [shared, seen] { read_and_answer(*shared, /*last=*/true, seen); });
    if (!accepted) {
      shared->end(to_status(base::make_error(base::Reason::kDraining, "the server is stopping")));
    }
  }

  // On a reader thread. Answers if the job is final, or in any case when this is the last look.
  static void read_and_answer(Shared& shared, bool last, Seen seen) {
    if (shared.claimed.load()) return;
    const auto read = shared.context.jobs.get(shared.name_space, shared.key, false);
    if (!read) {
      if (read.error().reason == base::Reason::kJobNotFound && model::is_final(seen.state)) {
        return answer_gone(shared, seen);
      }
      return shared.end(to_status(read.error()));
    }
    const bool final = model::is_final(state_of(read->rows));
    if (!final && !last) return;
    if (!shared.claim()) return;
    shared.forget_waiter();
    if (shared.context.replies.used_up(*shared.call)) {
      return shared.reactor->Finish(to_status(too_many_unread()));
    }
    job_to_wire(read->rows, false, shared.response->mutable_job());
    shared.response->set_finished(final);
    shared.response->set_commit_seq(static_cast<std::int64_t>(read->at));
    shared.answer();
  }

  // The job has ended and its queue keeps nothing of such jobs.
  static void answer_gone(Shared& shared, Seen seen) {
    if (!shared.claim()) return;
    shared.forget_waiter();
    auto* job = shared.response->mutable_job();
    job->set_id(model::job_id(shared.key));
    job->set_state(state_to_wire(seen.state));
    shared.response->set_finished(true);
    shared.response->set_commit_seq(static_cast<std::int64_t>(seen.seq));
    shared.answer();
  }

  const std::shared_ptr<Shared> shared_;
};

}  // namespace

Reactor* wait_job(Context& context, grpc::CallbackServerContext* call, const Caller& caller,
                  const v1::WaitJobRequest& request, v1::WaitJobResponse* response) {
  const auto key = job_key_from_wire(request.job_id());
  if (!key) return refuse(call, key.error());
  std::int64_t wait_ms = limits::kPollWaitMsDefault;
  if (request.has_wait_duration()) {
    const auto asked =
        duration_ms("wait_duration", request.wait_duration(), 0, limits::kPollWaitMsMax);
    if (!asked) return refuse(call, asked.error());
    wait_ms = *asked;
  }
  const std::int64_t left = caller.time_left_ms(context.mono_ms());
  if (left != INT64_MAX) {
    wait_ms = std::clamp<std::int64_t>(left - limits::kPollDeadlineMarginMsMin, 0, wait_ms);
  }
  auto* reactor = new WaitReactor(context, call, caller.name_space, *key, response);
  reactor->start(wait_ms);
  return reactor;
}

}  // namespace rota::rpc
