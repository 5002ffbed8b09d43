// SPDX-License-Identifier: Apache-2.0
//
// Queues and operations from the wire. Input: one byte that says which, then a SetQueueRequest or
// the text of an operation id.
#include "fuzz/requests.h"
#include "rpc/convert_queue.h"

namespace {

using namespace rota;
namespace limits = base::limits;

void check_age(std::int64_t ms, const char* what) {
  if (ms == 0 || ms == model::kForever) return;
  fuzz::check_within(ms, limits::kRetentionAgeMsMin, limits::kRetentionAgeMsMax, what);
}

void check_patch(const core::QueuePatch& patch) {
  if (patch.concurrency_limit && *patch.concurrency_limit) {
    fuzz::check_within(**patch.concurrency_limit, limits::kConcurrencyMin, limits::kConcurrencyMax,
                       "concurrency_limit");
  }
  if (patch.max_waiting && *patch.max_waiting) {
    fuzz::check_within(static_cast<std::int64_t>(**patch.max_waiting), 1, INT64_MAX, "max_waiting");
  }
  if (patch.retry) fuzz::check_retry(*patch.retry);
  fuzz::check_timeout(patch.attempt_timeout_ms);
  if (!patch.retention) return;
  check_age(patch.retention->succeeded_ms, "succeeded");
  check_age(patch.retention->cancelled_ms, "cancelled");
  check_age(patch.retention->dead_ms, "dead");
  check_age(patch.retention->ledger_ms, "ledger");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) {
    v1::SetQueueRequest wire;
    if (!fuzz::read(input.rest(), &wire)) return 0;
    const auto patch = rpc::queue_patch_from_wire(wire);
    patch ? check_patch(*patch) : fuzz::check_refusal(patch.error());
    return 0;
  }
  const std::string text(input.rest());
  if (!base::is_utf8(text)) return 0;  // no message holds it
  const auto number = rpc::operation_from_wire(text);
  if (!number) {
    fuzz::check_refusal(number.error());
  } else {
    FUZZ_CHECK(rpc::operation_id(*number) == text, "two texts name one operation");
  }
  return 0;
}
