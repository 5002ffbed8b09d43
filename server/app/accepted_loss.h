// SPDX-License-Identifier: Apache-2.0
//
// What a server owes its clients after the operator gave up batches that may have been acknowledged
// (--accept-loss-after): nothing that they handed out may be handed out again for something else.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "core/store.h"

namespace rota::app {

// Far more than any store can have used up since its last good batch; 2^13 jumps of tokens fit
// below their bound, 2^16 of queue numbers.
inline constexpr std::uint64_t kTokenJump = std::uint64_t{1} << 40U;
inline constexpr std::uint64_t kSequenceJump = std::uint64_t{1} << 24U;  // of the jobs of a queue
inline constexpr std::uint32_t kQueueJump = std::uint32_t{1} << 16U;
inline constexpr std::uint64_t kOperationJump = std::uint64_t{1} << 32U;

// Jumps the counters of fencing tokens, queues, jobs and operations in one batch, so that a token
// or an id given in a lost batch is never given again. That batch also makes the loss final, see
// StoreInfo::loss_accepted. Before the engine loads; waits for the commit, so the store's executor
// must work on the calling thread or one of its own.
base::Status jump_numbers(core::ShardStore& store);

}  // namespace rota::app
