// SPDX-License-Identifier: Apache-2.0
//
// Large payloads lie in rows of their own and are read only when a worker is given the job: after
// the grant is durable, on a reader thread.
#pragma once

#include <optional>

#include "core/command.h"
#include "core/store.h"
#include "store/failure.h"

namespace rota::runtime {

bool needs_payloads(const core::LeaseReply& reply);

// Puts the payloads into the reply's bodies (copies of them; the engine's stay as they are).
// Blocking reads. A job that has ended since the grant is taken out of the reply. What failed, if
// anything: a read, or, as damage, the payload of a job that is still there is missing; the reply
// is worth nothing then.
std::optional<store::Failure> fill_payloads(const core::ShardStore& store, core::LeaseReply* reply);

}  // namespace rota::runtime
