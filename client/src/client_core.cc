// SPDX-License-Identifier: Apache-2.0
#include "src/client_core.h"

#include <algorithm>
#include <semaphore>
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "src/bulk.h"
#include "src/convert.h"
#include "src/status.h"
#include "src/text.h"

namespace rota::internal {
namespace {

constexpr Millis kWaitSlice{20'000};
// Beyond the wait itself: the answer's way, and the repeats when the server restarts meanwhile.
constexpr Millis kWaitSlack{5'000};

Result<v1::EnqueueJobRequest> enqueue_request(JobSpec spec, const std::string& name_space) {
  v1::EnqueueJobRequest request;
  request.set_namespace_(name_space);
  std::string request_id = std::move(spec.request_id);
  spec.request_id.clear();
  if (!request_id.empty()) {
    if (const auto fault = base::check_request_id("request_id", request_id)) {
      return invalid("request_id", fault->message);
    }
  }
  request.set_request_id(std::move(request_id));
  if (auto ok = to_message(std::move(spec), *request.mutable_job()); !ok) {
    return std::move(ok).error();
  }
  return request;
}

Result<JobRef> to_result(Result<v1::EnqueueJobResponse> response) {
  if (!response) return std::move(response).error();
  return to_ref(std::move(*response->mutable_job()));
}

}  // namespace

ClientCore::ClientCore(ClientOptions options, RawClient raw)
    : options_(std::move(options)),
      raw_(std::move(raw)),
      coalescer_(raw_, options_.name_space, options_.timeout) {}

ClientCore::~ClientCore() { close(Millis(1'000)); }

Result<JobRef> ClientCore::enqueue(JobSpec spec) {
  if (!coalesces(spec)) {
    auto request = enqueue_request(std::move(spec), options_.name_space);
    if (!request) return std::move(request).error();
    return to_result(raw_.enqueue_job(*std::move(request)));
  }
  // Shared, since the thread that answers may still be inside release() when this one goes on.
  struct Answer {
    std::binary_semaphore given{0};
    Result<JobRef> result{JobRef{}};
  };
  auto answer = std::make_shared<Answer>();
  enqueue_async(std::move(spec), [answer](Result<JobRef> result) {
    answer->result = std::move(result);
    answer->given.release();
  });
  answer->given.acquire();
  return std::move(answer->result);
}

void ClientCore::enqueue_async(JobSpec spec, std::function<void(Result<JobRef>)> done) {
  if (coalesces(spec)) {
    v1::JobSpec job;
    if (auto ok = to_message(std::move(spec), job); !ok) return done(std::move(ok).error());
    return coalescer_.add(std::move(job), std::move(done));
  }
  auto request = enqueue_request(std::move(spec), options_.name_space);
  if (!request) return done(std::move(request).error());
  raw_.enqueue_job_async(*std::move(request), {},
                         [done = std::move(done)](Result<v1::EnqueueJobResponse> response) {
                           done(to_result(std::move(response)));
                         });
}

std::vector<Result<JobRef>> ClientCore::enqueue_bulk(std::vector<JobSpec> specs,
                                                     std::string request_id) {
  return BulkEnqueue(raw_, options_.name_space, std::move(request_id)).run(std::move(specs));
}

Result<JobInfo> ClientCore::get(std::string_view id) {
  v1::GetJobRequest request;
  request.set_namespace_(options_.name_space);
  request.set_job_id(head_of(id, 256));
  request.set_include_payload(true);
  const BootTime deadline = BootClock::now() + options_.timeout;
  auto response = raw_.get_job(request);
  if (!response) return std::move(response).error();
  JobInfo info = to_info(std::move(*response->mutable_job()));
  const JobState state = info.ref.state;
  if (state == JobState::kReady || state == JobState::kScheduled || state == JobState::kBlocked) {
    v1::ExplainJobRequest question;
    question.set_namespace_(options_.name_space);
    question.set_job_id(info.ref.id);
    const auto left = std::chrono::ceil<Millis>(deadline - BootClock::now());
    // Only an addition: the job may have moved on, and what was read is an answer without it.
    if (auto why = raw_.explain_job(std::move(question), {.timeout = std::max(Millis(1), left)})) {
      const auto& explanation = why->explanation();
      const bool waits = explanation.reason() != v1::Explanation::REASON_RUNNING &&
                         explanation.reason() != v1::Explanation::REASON_FINAL;
      if (waits) info.why_waiting = explanation.text();
    }
  }
  return info;
}

Result<JobInfo> ClientCore::wait(std::string_view id, Millis at_most) {
  const BootTime deadline = BootClock::now() + std::max(at_most, Millis(0));
  while (true) {
    const auto left = std::max(Millis(0), std::chrono::ceil<Millis>(deadline - BootClock::now()));
    const Millis slice = std::min(left, kWaitSlice);
    v1::WaitJobRequest request;
    request.set_namespace_(options_.name_space);
    request.set_job_id(head_of(id, 256));
    set_duration(*request.mutable_wait_duration(), slice);
    auto response = raw_.wait_job(std::move(request), {.timeout = slice + kWaitSlack});
    const bool last = left <= slice;
    if (!response) {
      const Code code = response.error().code;
      const bool away = code == Code::kUnavailable || code == Code::kTimeout;
      if (last || !away || response.error().reason == "CLIENT_CLOSED") {
        return std::move(response).error();
      }
    } else if (last || response->finished()) {
      return to_info(std::move(*response->mutable_job()));
    }
  }
}

Result<JobState> ClientCore::cancel(std::string_view id, std::string why) {
  v1::CancelJobRequest request;
  request.set_namespace_(options_.name_space);
  request.set_job_id(head_of(id, 256));
  request.set_reason(head_of(why, base::limits::kNoteBytesMax));
  auto response = raw_.cancel_job(std::move(request));
  if (response) return to_state(response->state());
  return std::move(response).error();
}

Result<Declared> ClientCore::declare(SchedulerSpec spec) {
  v1::UpsertSchedulerRequest request;
  request.set_namespace_(options_.name_space);
  if (auto ok = to_message(std::move(spec), *request.mutable_scheduler()); !ok) {
    return std::move(ok).error();
  }
  auto response = raw_.upsert_scheduler(std::move(request));
  if (!response) return std::move(response).error();
  return to_declared(*std::move(response));
}

Result<Ok> ClientCore::declare_queue(QueueSpec spec) {
  v1::SetQueueRequest request;
  request.set_namespace_(options_.name_space);
  if (auto ok = to_message(std::move(spec), request); !ok) return ok;
  auto response = raw_.set_queue(std::move(request));
  if (!response) return std::move(response).error();
  return Ok{};
}

bool ClientCore::close(Millis at_most) {
  const bool flushed = coalescer_.flush(std::max(at_most, Millis(0)));
  coalescer_.close();
  raw_.close();
  return flushed;
}

}  // namespace rota::internal
