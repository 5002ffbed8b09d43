// SPDX-License-Identifier: Apache-2.0
//
// Enqueues from this process: jobs one by one or a thousand to a call, as many calls in flight as
// wanted, or at a fixed rate. Every answer is looked at; the first error ends a load with Failed.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "bench/jobs.h"
#include "bench/statistics.h"
#include "internal/raw_client.h"
#include "rota/client.h"

namespace rota::bench {

// What threads of the client report to the one that waits. Thread-safe.
class Tally {
 public:
  // `items`: jobs or whatever else is to be answered.
  explicit Tally(std::int64_t items) : left_(items) {}
  // Around each call: done() when all that its answer is for is over, and with the items that it
  // settled.
  void begin() { out_.fetch_add(1); }
  void done(std::int64_t items = 1);
  // Instead of done().
  void fail_call(const std::string& why);
  // Only the first is kept.
  void fail(const std::string& why);
  bool failed() const { return failed_.load(); }
  // Until all items are settled or one has failed, and no call is out any more: what the calls were
  // lent can go. Throws Failed.
  void wait();

 private:
  std::atomic<std::int64_t> left_, out_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string why_;
};

struct LoadResult {
  double seconds = 0;  // from the first call to the last answer
  double cpu_s = 0;    // of this process between them
  Histogram calls{};   // time of each call
};

// Clients of the public interface to one server, each with a connection of its own, through which
// `queue` was declared: no measured call makes the connection. What a load is given must outlive
// them: closing them waits for answers.
std::vector<Client> connect_clients(const std::string& address, int connections, bool coalesce,
                                    const std::string& queue);

// `jobs` jobs of the numbers first, first + 1, ..., one to a call, `in_flight` calls at once,
// through the clients in turn.
struct SingleLoad {
  std::string queue{};
  std::uint64_t first = 0, jobs = 0;
  int in_flight = 1;
  int histogram = 0;  // where their handlers' starts are counted
};
void enqueue_single(std::vector<Client>& clients, const PayloadMaker& payloads,
                    const SingleLoad& load, LoadResult* result);

// The same in calls of `per_call` jobs. Job n goes to queue_of(n).
struct BulkLoad {
  std::function<std::string(std::uint64_t job)> queue_of{};
  std::uint64_t first = 0, jobs = 0;
  int in_flight = 4;
  int per_call = 1'000;
  int connections = 1;
};
void enqueue_bulk(const std::string& address, const PayloadMaker& payloads, const BulkLoad& load,
                  LoadResult* result);

// Job by job at a fixed rate, whether or not answers come: a call that was due while the thread was
// held up leaves late, and its time counts from the moment that it was due.
struct PacedLoad {
  std::uint64_t first = 0, jobs = 0;
  double per_second = 200;
  // Most calls without an answer: beyond it the load is more than the server takes, and it fails.
  std::int64_t in_flight_max = 20'000;
  std::function<JobSpec(std::uint64_t job, std::int64_t due_ns)> make{};
};
void enqueue_paced(std::vector<Client>& clients, const PacedLoad& load, LoadResult* result);

}  // namespace rota::bench
