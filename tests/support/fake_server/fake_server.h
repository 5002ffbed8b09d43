// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <grpcpp/server.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "rota/v1/job_service.pb.h"
#include "rota/v1/worker_service.pb.h"

namespace rota::test {

// What is to go wrong with a call.
enum class Trouble {
  kNone,
  kRefuse,      // UNAVAILABLE with the reason DRAINING; nothing is done
  kLoseAnswer,  // done, and answered as a connection that broke
  kBusy,        // RESOURCE_EXHAUSTED with OVERLOADED
  kInvalid,     // INVALID_ARGUMENT with INVALID_FIELD on `job.kind`
  kHang,        // no answer until the server stops or the caller gives up
};

// A server with just enough of a queue in it to test client and worker over real gRPC: jobs are
// accepted and remembered by request id; jobs given by the test are leased, with tokens that grow;
// everything that was asked is recorded. Thread-safe.
class FakeServer {
 public:
  FakeServer();
  ~FakeServer();

  const std::string& address() const { return address_; }

  // Ends all connections, keeping what the server knows; start() takes the same port.
  void stop();
  void start();

  // The next call of this method ("EnqueueJob") meets this trouble; several queue up.
  void next(const std::string& method, Trouble trouble);
  // Every call of it, until it is set back to kNone.
  void always(const std::string& method, Trouble trouble);

  // Waits until `done`, called with the lock held, is true; false after 20 s.
  bool wait_until(const std::function<bool()>& done);

  // --- for tests; the members are read within wait_until() or while nothing is in flight ---
  std::vector<v1::EnqueueJobRequest> enqueues;            // each call, repeats too
  std::vector<v1::BulkEnqueueJobsRequest> bulks;          // each call, repeats too
  std::vector<std::chrono::milliseconds> bulk_time_left;  // of each of them, until its deadline
  std::vector<v1::JobSpec> accepted;  // each job once, in the order of acceptance
  int bulks_at_once = 0, most_bulks_at_once = 0;
  std::set<std::string> bad_kinds;  // refused as an item of a bulk
  // Job ids of cancels, each call; none is answered before this many came. An id that begins with
  // "gone" is not found.
  std::vector<std::string> cancels;
  std::size_t cancels_answered_from = 0;
  int cancels_at_once = 0, most_cancels_at_once = 0;

  std::vector<v1::LeaseJobsRequest> lease_calls;
  std::vector<v1::HeartbeatRequest> beats;
  std::vector<v1::FinishItem> finished;  // accepted outcomes
  std::vector<v1::FinishItem> refused;   // with a token that is not live
  int finish_calls = 0, finishes_at_once = 0, most_finishes_at_once = 0;
  int leases_at_once = 0, most_leases_at_once = 0;
  int carried_calls = 0;       // lease calls that carried outcomes
  bool takes_outcomes = true;  // of a lease call; false: as a server that does not know of them
  bool queue_exists = true;
  std::map<std::int64_t, v1::LeasedJob> live;  // by token

  // Makes a job of this kind wait for a lease call; returns its id.
  std::string give(const std::string& kind, const std::string& payload = "",
                   std::chrono::milliseconds attempt_timeout = std::chrono::milliseconds(0));
  // The same job, leased again under a new token as if its lease had ended.
  void give_again(std::int64_t token);
  void cancel(std::int64_t token);           // through the next heartbeat
  void cancel_by_lease(std::int64_t token);  // through the parked lease call
  void end_lease(std::int64_t token);
  // Of the leases given from now on; may be shorter than a real server allows.
  void set_ttl(std::chrono::milliseconds ttl);
  std::int64_t token_of(const std::string& job_id);  // of its live lease, 0 without

 private:
  class Services;
  friend class Services;

  Trouble trouble(const std::string& method);  // takes the next one

  std::mutex mutex_;
  std::condition_variable changed_;
  std::string address_;
  std::unique_ptr<Services> services_;
  std::unique_ptr<grpc::Server> server_;
  bool stopping_ = false;
  std::map<std::string, std::deque<Trouble>> next_;
  std::map<std::string, Trouble> always_;
  std::map<std::string, v1::EnqueueJobResponse> enqueue_answers_;  // by request id
  std::map<std::string, v1::BulkEnqueueJobsResponse> bulk_answers_;
  std::deque<v1::LeasedJob> waiting_;
  std::map<std::string, std::vector<std::int64_t>> grants_;  // tokens by request id
  std::set<std::int64_t> cancelled_, cancelled_by_lease_, ended_by_finish_;
  std::chrono::milliseconds ttl_{30'000};
  std::int64_t last_token_ = 0;
  int last_job_ = 0;
};

}  // namespace rota::test
