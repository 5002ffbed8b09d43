// SPDX-License-Identifier: Apache-2.0
#include "src/options.h"

#include <unistd.h>

#include <set>
#include <utility>

#include "base/limits.h"
#include "base/names.h"
#include "base/utf8.h"

namespace rota::internal {
namespace {

namespace limits = base::limits;

Error out_of_bounds(std::string field, std::string message) {
  Error error;
  error.code = Code::kInvalid;
  error.reason = "INVALID_FIELD";
  error.field = std::move(field);
  error.message = std::move(message);
  return error;
}

std::string default_id() {
  char host[100] = {};
  if (gethostname(host, sizeof(host) - 1) != 0 || host[0] == '\0') return std::to_string(getpid());
  return std::string(host) + "-" + std::to_string(getpid());
}

}  // namespace

WorkerOptions with_defaults(WorkerOptions options) {
  if (options.id.empty()) options.id = default_id();
  return options;
}

Result<Ok> check(const WorkerOptions& options) {
  if (options.queues.empty() || options.queues.size() > limits::kLeaseQueuesMax) {
    return out_of_bounds("queues", std::to_string(options.queues.size()) +
                                       " queues, must be 1 to " +
                                       std::to_string(limits::kLeaseQueuesMax));
  }
  // As the server would refuse them, but before anything is sent.
  std::set<std::string> seen;
  for (const std::string& queue : options.queues) {
    if (auto fault = base::check_name("queues", queue)) {
      return out_of_bounds("queues", std::move(fault->message));
    }
    if (!seen.insert(queue).second) {
      return out_of_bounds("queues", base::quoted(queue) + " stands there twice");
    }
  }
  if (auto fault = base::check_name("id", options.id)) {
    return out_of_bounds("id", std::move(fault->message));
  }
  if (options.concurrency < 1 || options.concurrency > limits::kHeartbeatLeasesMax) {
    return out_of_bounds("concurrency", std::to_string(options.concurrency) + ", must be 1 to " +
                                            std::to_string(limits::kHeartbeatLeasesMax));
  }
  if (options.lease_ttl < Millis(limits::kLeaseTtlMsMin) ||
      options.lease_ttl > Millis(limits::kLeaseTtlMsMax)) {
    return out_of_bounds("lease_ttl",
                         std::to_string(options.lease_ttl.count()) + " ms, must be 5 s to 1 h");
  }
  if (options.drain < Millis(0) || options.drain > Millis(limits::kAttemptTimeoutMsMax)) {
    return out_of_bounds("drain",
                         std::to_string(options.drain.count()) + " ms, must be 0 to 30 days");
  }
  return Ok{};
}

Error precondition(std::string message) {
  Error error;
  error.code = Code::kPrecondition;
  error.reason = "INVALID_STATE";
  error.message = std::move(message);
  return error;
}

FinishItem to_item(Lease& lease, Outcome outcome) {
  FinishItem item;
  item.lease = lease.key();
  item.log_tail = lease.take_log();
  item.retryable = outcome.retryable();
  item.retry_after = outcome.retry_after();
  item.snooze_until = outcome.until();
  item.result_truncated = outcome.is_truncated();
  switch (outcome.kind()) {
    case Outcome::Kind::kSucceeded: {
      const std::size_t bytes = outcome.result().size();
      if (bytes <= static_cast<std::size_t>(limits::kResultBytesMax)) {
        item.kind = FinishItem::Kind::kSucceeded;
        item.result = std::move(outcome).take_text();
      } else {
        item.kind = FinishItem::Kind::kFailed;
        item.retryable = false;
        item.failure_type = "RESULT_TOO_LARGE";
        item.failure_message = "the handler succeeded, but its result is " + std::to_string(bytes) +
                               " bytes and the limit is " +
                               std::to_string(limits::kResultBytesMax) +
                               "; store it elsewhere and return a reference";
      }
      break;
    }
    case Outcome::Kind::kFailed:
      item.kind = FinishItem::Kind::kFailed;
      item.failure_type = outcome.type().empty() ? "failed" : outcome.type();
      item.failure_message = std::move(outcome).take_text();
      break;
    case Outcome::Kind::kSnoozed:
      item.kind = FinishItem::Kind::kSnoozed;
      break;
  }
  return item;
}

}  // namespace rota::internal
