// SPDX-License-Identifier: Apache-2.0
//
// Lease calls, heartbeats and outcomes from the wire. Input: one byte that says which, then a
// LeaseJobsRequest, a HeartbeatRequest or a FinishJobsRequest.
#include <set>

#include "fuzz/requests.h"
#include "rpc/convert_worker.h"

namespace {

using namespace rota;
namespace limits = base::limits;

constexpr std::int64_t kMonoMs = 5'000'000;

void check_outcome(const core::WorkerOutcome& outcome) {
  FUZZ_CHECK(outcome.result.size() <= limits::kResultBytesMax, "a result over the limit");
  FUZZ_CHECK(outcome.log_tail.size() <= limits::kLogTailBytesMax, "a log over the limit");
  FUZZ_CHECK(outcome.failure.type.size() <= limits::kFailureTypeBytesMax &&
                 outcome.failure.message.size() <= limits::kFailureMessageBytesMax &&
                 outcome.failure.detail.size() <= limits::kFailureDetailBytesMax,
             "a failure over its limits");
  if (outcome.retry_after_ms) {
    fuzz::check_within(*outcome.retry_after_ms, 0, limits::kBackoffMsMax, "retry_after");
  }
}

// One bad item is answered alone.
void check_finish(const base::Result<core::FinishJobs>& finish, int items) {
  if (!finish) return fuzz::check_refusal(finish.error());
  FUZZ_CHECK(static_cast<int>(finish->items.size()) == items, "outcomes were lost");
  core::FinishReply reply;
  for (const core::FinishItem& item : finish->items) {
    if (item.invalid) {
      fuzz::check_refusal(*item.invalid);
      reply.items.emplace_back(*item.invalid);
      continue;
    }
    FUZZ_CHECK(item.lease.token > 0 && item.lease.key.valid(), "an outcome of no lease");
    check_outcome(item.outcome);
  }
  google::protobuf::RepeatedPtrField<v1::FinishResult> results;
  rpc::finish_to_wire(reply, &results);
  FUZZ_CHECK(static_cast<std::size_t>(results.size()) == reply.items.size(), "answers were lost");
  for (const auto& result : results) {
    FUZZ_CHECK(result.has_error() && base::find_reason(result.error().reason()),
               "an item's error of no reason");
  }
}

void check_lease(v1::LeaseJobsRequest& wire) {
  rpc::Caller caller{.principal = "local", .name_space = "default", .received_mono_ms = kMonoMs};
  const auto lease = rpc::lease_from_wire(wire, caller, kMonoMs);
  if (!lease) {
    fuzz::check_refusal(lease.error());
  } else {
    fuzz::check_within(lease->max_jobs, 1, limits::kLeaseJobsMax, "max_jobs");
    fuzz::check_within(lease->wait_ms, 0, limits::kPollWaitMsMax, "wait");
    fuzz::check_within(lease->lease_ttl_ms, limits::kLeaseTtlMsMin, limits::kLeaseTtlMsMax, "ttl");
    const std::set<std::string> queues(lease->queues.begin(), lease->queues.end());
    FUZZ_CHECK(queues.size() == lease->queues.size() && !queues.empty() &&
                   queues.size() <= limits::kLeaseQueuesMax,
               "queues twice, none, or too many");
    for (const std::string& queue : queues) fuzz::check_named("queues", queue);
    FUZZ_CHECK(!base::check_session_id("session_id", lease->session_id), lease->session_id);
    if (wire.outcomes_size() > 0) {
      FUZZ_CHECK(lease->wait_ms <= limits::kPollWithOutcomesWaitMsMax, "outcomes wait for a poll");
    }
  }
  const auto seen = rpc::worker_from_wire(wire, caller);
  if (!seen) fuzz::check_refusal(seen.error());
  const int outcomes = wire.outcomes_size();
  if (outcomes > 0) check_finish(rpc::finish_from_wire(&wire), outcomes);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 3) {
    case 0:
      if (v1::LeaseJobsRequest wire; fuzz::read(input.rest(), &wire)) check_lease(wire);
      break;
    case 1: {
      v1::HeartbeatRequest wire;
      if (!fuzz::read(input.rest(), &wire)) break;
      const auto beat = rpc::heartbeat_from_wire(wire);
      if (!beat) {
        fuzz::check_refusal(beat.error());
        break;
      }
      FUZZ_CHECK(static_cast<int>(beat->leases.size()) == wire.leases_size(), "leases were lost");
      FUZZ_CHECK(beat->leases.size() <= limits::kHeartbeatLeasesMax, "too many leases");
      break;
    }
    default: {
      v1::FinishJobsRequest wire;
      if (!fuzz::read(input.rest(), &wire)) break;
      const int items = wire.items_size();
      check_finish(rpc::finish_from_wire(&wire), items);
      break;
    }
  }
  return 0;
}
