// SPDX-License-Identifier: Apache-2.0
#include "src/coalescer.h"

#include <algorithm>
#include <utility>

#include "base/limits.h"
#include "src/convert.h"
#include "src/status.h"

namespace rota::internal {
namespace {

Error late_error(Millis timeout) {
  Error error;
  error.code = Code::kTimeout;
  error.reason = "DEADLINE_EXCEEDED";
  error.message =
      "waited " + std::to_string(timeout.count()) + " ms behind other enqueues and was not sent";
  return error;
}

}  // namespace

Coalescer::Coalescer(RawClient raw, std::string name_space, Millis timeout)
    : raw_(std::move(raw)), name_space_(std::move(name_space)), timeout_(timeout) {}

void Coalescer::add(v1::JobSpec job, Done done) {
  Waiting waiting;
  waiting.bytes = job.ByteSizeLong() + kJobFrameBytes;
  waiting.job = std::move(job);
  waiting.deadline = BootClock::now() + timeout_;
  waiting.done = std::move(done);
  {
    std::unique_lock lock(mutex_);
    if (closed_) {
      lock.unlock();
      waiting.done(closed_error());
      return;
    }
    waiting_.push_back(std::move(waiting));
    if (in_flight_) return;
    in_flight_ = true;
  }
  send_next();
}

std::vector<Coalescer::Waiting> Coalescer::take(std::vector<Waiting>& late) {
  std::vector<Waiting> batch;
  std::size_t bytes = 0;
  const BootTime now = BootClock::now();
  while (!waiting_.empty() && batch.size() < base::limits::kCallItemsMax) {
    Waiting& first = waiting_.front();
    if (first.deadline <= now) {
      late.push_back(std::move(first));
    } else {
      // A job too large for any call goes alone, and the server refuses it with its reason.
      if (!batch.empty() && bytes + first.bytes > kCallJobBytes) break;
      bytes += first.bytes;
      batch.push_back(std::move(first));
    }
    waiting_.pop_front();
  }
  return batch;
}

void Coalescer::send_next() {
  std::vector<Waiting> late;
  std::vector<Waiting> batch;
  {
    std::lock_guard lock(mutex_);
    batch = take(late);
    if (batch.empty()) {
      in_flight_ = false;
      idle_.notify_all();
    }
  }
  for (Waiting& waiting : late) waiting.done(late_error(timeout_));
  if (batch.empty()) return;

  v1::BulkEnqueueJobsRequest request;
  request.set_namespace_(name_space_);
  request.mutable_jobs()->Reserve(static_cast<int>(batch.size()));
  std::vector<Flight::Caller> callers;
  callers.reserve(batch.size());
  for (Waiting& waiting : batch) {
    *request.add_jobs() = std::move(waiting.job);
    callers.push_back({waiting.deadline, std::move(waiting.done)});
  }
  // The call lasts as long as the caller who came last may wait; the others are watched.
  const auto left = std::chrono::ceil<Millis>(callers.back().deadline - BootClock::now());
  const std::size_t sent = callers.size();
  auto flight = std::make_shared<Flight>(*raw_.transport(), std::move(callers));
  flight->watch();
  raw_.bulk_enqueue_jobs_async(std::move(request), {.timeout = std::max(Millis(1), left)},
                               [this, flight, sent](Result<v1::BulkEnqueueJobsResponse> response) {
                                 // The next call leaves before the callers are told: they need not
                                 // wait for each other.
                                 send_next();
                                 answer(*flight, sent, std::move(response));
                               });
}

void Coalescer::answer(Flight& flight, std::size_t sent,
                       Result<v1::BulkEnqueueJobsResponse> response) {
  if (response && static_cast<std::size_t>(response->results_size()) != sent) {
    response = unknown_answer();
  }
  flight.answer([&](std::size_t i) -> Result<JobRef> {
    if (!response) {
      Error error = response.error();
      error.request_id.clear();  // it names the whole call, which no caller can repeat
      return error;
    }
    auto& result = *response->mutable_results(static_cast<int>(i));
    if (result.has_error()) return to_error(result.error());
    return to_ref(std::move(*result.mutable_job()));
  });
}

bool Coalescer::flush(Millis at_most) {
  std::unique_lock lock(mutex_);
  return idle_.wait_for(lock, at_most, [this] { return !in_flight_; });
}

void Coalescer::close() {
  std::deque<Waiting> left;
  {
    std::lock_guard lock(mutex_);
    closed_ = true;
    left.swap(waiting_);
  }
  for (Waiting& waiting : left) waiting.done(closed_error());
}

}  // namespace rota::internal
