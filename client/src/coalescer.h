// SPDX-License-Identifier: Apache-2.0
// Joins concurrent enqueues: one bulk call is in flight, and all that arrives meanwhile goes
// together in the next. Nothing waits to gather more. One call at a time also keeps the order: what
// was given first is in an earlier call, or earlier in the same. The timeout of each job counts
// from add(), whatever it waits for.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "internal/clock.h"
#include "internal/raw_client.h"
#include "src/flight.h"

namespace rota::internal {

// Thread-safe.
class Coalescer {
 public:
  using Done = std::function<void(Result<JobRef>)>;

  Coalescer(RawClient raw, std::string name_space, Millis timeout);

  // `done` is called once, at the latest after the timeout: on a thread of the transport, or on the
  // caller's when it is refused.
  void add(v1::JobSpec job, Done done);

  // True when nothing is left; false after `at_most`.
  bool flush(Millis at_most);

  // Answers what waits with kUnavailable, and refuses what comes later.
  void close();

 private:
  struct Waiting {
    v1::JobSpec job;
    std::size_t bytes = 0;
    BootTime deadline;
    Done done;
  };

  // Takes what fits into one call; what waited beyond its deadline goes to `late`.
  std::vector<Waiting> take(std::vector<Waiting>& late);
  // Sends, with in_flight_ already set, until nothing waits.
  void send_next();
  void answer(Flight& flight, std::size_t sent, Result<v1::BulkEnqueueJobsResponse> response);

  RawClient raw_;
  const std::string name_space_;
  const Millis timeout_;
  std::mutex mutex_;
  std::condition_variable idle_;
  std::deque<Waiting> waiting_;
  bool in_flight_ = false, closed_ = false;
};

}  // namespace rota::internal
