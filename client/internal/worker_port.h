// SPDX-License-Identifier: Apache-2.0
// What the worker library asks of the client library: the calls of WorkerService in plain types, so
// that the worker sees neither gRPC nor protobuf, and its tests can put another port in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rota/error.h"
#include "rota/export.h"
#include "rota/job.h"

namespace rota {
class Client;
}

namespace rota::internal {

struct WorkerIdentity {
  std::string worker_id{};   // a name for people
  std::string session_id{};  // random, of this process: what leases belong to
  int concurrency = 0;       // for people too
};

// One grant. Durations count from the grant, not from the receipt of the answer.
struct Grant {
  std::string job_id{}, queue{}, kind{}, payload{}, scheduler_id{}, business_key{},
      idempotency_key{};
  std::vector<Time> nominal_times{};
  std::string business_date{};  // YYYY-MM-DD, empty for jobs without scheduler
  int attempt = 0, max_attempts = 0;
  std::uint64_t fencing_token = 0;
  Labels labels{};
  std::optional<Millis> attempt_left{};  // from the grant; unset: no attempt timeout
  bool cancel_requested = false;
};

struct LeaseKey {
  std::string job_id{};
  std::uint64_t fencing_token = 0;
};

struct LeaseReply {
  // One for each outcome that the call carried, in order; empty when the server took none.
  std::vector<Result<Ok>> finished{};
  Millis lease_ttl{0};
  Millis granted_after{0};  // from the server's receipt of the call to the grant
  std::vector<Grant> grants{};
  // Leases of this session whose job is to be cancelled.
  std::vector<std::uint64_t> cancelled_tokens{};
  bool request_spent = false;  // no lease of this request id is live: use a new id
};

struct BeatResult {
  bool renewed = false;  // false: the lease is over
  Millis renewed_for{0};
  bool cancel_requested = false;
};

enum class ReleaseReason { kOther, kShutdown, kNoHandler, kStillRunningHere };

struct FinishItem {
  enum class Kind { kSucceeded, kFailed, kSnoozed, kReleased };
  LeaseKey lease{};
  Kind kind = Kind::kSucceeded;
  std::string result{};                           // of a success; at most 256 KiB
  std::string failure_type{}, failure_message{};  // of a failure
  bool retryable = true;
  std::optional<Millis> retry_after{};  // of a failure or snooze: instead of the policy's back-off
  std::optional<Time> snooze_until{};
  ReleaseReason release_reason = ReleaseReason::kOther;
  bool result_truncated = false;
  std::string log_tail{};  // any bytes; what is not UTF-8 is replaced
};

struct LeaseCall {
  std::vector<std::string> queues{};
  int slots = 0;
  Millis wait{0};  // at most 30 s
  Millis lease_ttl{0};
  std::string request_id{};
  // Carried along and taken before jobs are granted; null: none. As in finish().
  std::shared_ptr<const std::vector<FinishItem>> outcomes{};
  Millis timeout{0};  // of the call; 0: some seconds more than its wait
};

// Thread-safe. Each call answers exactly once, on a thread of the client, also when the port is
// being destroyed; callbacks must not block. No call is repeated by the port: the worker knows
// better when a repeat is still of use.
class ROTA_EXPORT WorkerPort {
 public:
  virtual ~WorkerPort() = default;

  virtual void lease(LeaseCall call, std::function<void(Result<LeaseReply>)> done) = 0;

  // One result for each lease, in order. At most 10,000.
  virtual void beat(std::vector<LeaseKey> leases, Millis timeout,
                    std::function<void(Result<std::vector<BeatResult>>)> done) = 0;

  // One result for each item, in order. At most 1,000 items and 8 MiB. An item that had ended by an
  // earlier finish with the same token is Ok.
  virtual void finish(std::shared_ptr<const std::vector<FinishItem>> items, Millis timeout,
                      std::function<void(Result<std::vector<Result<Ok>>>)> done) = 0;
};

// The real port, to the client's server over a connection of its own. Its destructor ends what is
// in flight and waits for the callbacks; it must not run in one.
ROTA_EXPORT Result<std::unique_ptr<WorkerPort>> make_worker_port(const Client& client,
                                                                 WorkerIdentity identity);

}  // namespace rota::internal
