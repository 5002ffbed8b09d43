// SPDX-License-Identifier: Apache-2.0
// Bounds and defaults of WorkerOptions, and how an Outcome becomes a report.
#pragma once

#include "internal/worker_port.h"
#include "rota/worker.h"
#include "src/lease.h"

namespace rota::internal {

WorkerOptions with_defaults(WorkerOptions options);
Result<Ok> check(const WorkerOptions& options);
Error precondition(std::string message);

// An oversized result becomes a failure that is not retried: the next attempt would make it too.
FinishItem to_item(Lease& lease, Outcome outcome);

}  // namespace rota::internal
