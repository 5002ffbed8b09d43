// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace rota::internal {

// The largest answer that is taken: a single job or scheduler can be larger than a page of them.
inline constexpr int kReplyBytesMax = 64 * 1024 * 1024;

}  // namespace rota::internal
