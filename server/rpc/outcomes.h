// SPDX-License-Identifier: Apache-2.0
//
// The outcomes of one call as commands of the engine. Each outcome may have it write a job's whole
// history anew (64 KiB), so a call with a thousand of them would be a batch of 64 MiB. Outcomes are
// independent of each other, so such a call is several commands, which the loop takes into as many
// batches as they need, in their order; it is answered when the last of them is durable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/limits.h"
#include "core/command.h"
#include "core/effect.h"

namespace rota::rpc {

inline constexpr std::size_t kOutcomesPerCommandMax = 64;
inline constexpr std::size_t kOutcomeBytesPerCommandMax = 1U << 20;
static_assert(static_cast<std::int64_t>(kOutcomesPerCommandMax) *
                      base::limits::kAttemptHistoryBytesMax <=
                  base::limits::kBatchBytesMax,
              "the histories that one command writes anew fit into one batch");

// At most kOutcomesPerCommandMax items and kOutcomeBytesPerCommandMax each (a first item may be
// larger), in order. At least one.
std::vector<core::FinishJobs> split(core::FinishJobs outcomes);

// What receives the answer of each part. `done` runs once, on the thread of the last answer: with
// the items of all parts in order and the newest commit, or with the first error among them. Where
// no more answers come, since a part was refused, it does not run.
using OnReply = std::function<void(core::Reply reply)>;
std::vector<OnReply> join(std::size_t parts, OnReply done);

}  // namespace rota::rpc
