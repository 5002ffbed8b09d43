// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "internal/worker_port.h"

namespace rota::internal {

// Outcomes that travel in a lease call. Without items there are none.
struct Carried {
  std::shared_ptr<const std::vector<FinishItem>> items{};
  Millis timeout{0};  // after which their call is given up
  // To be called once, with what the call says of them: one result for each, none at all when the
  // server did not take them, or the error of the call, after which they may have been taken or
  // not.
  std::function<void(Result<std::vector<Result<Ok>>>)> answered{};
};

}  // namespace rota::internal
