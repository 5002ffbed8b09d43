// SPDX-License-Identifier: Apache-2.0
//
// Large payloads lie in rows of their own and are read only when a worker is given the job: after
// the grant is durable, on a reader thread.
#pragma once

#include <string>

#include "core/command.h"
#include "core/store.h"

namespace rota::runtime {

bool needs_payloads(const core::LeaseReply& reply);

// Puts the payloads into the reply's bodies (copies of them; the engine's stay as they are).
// Blocking read. A job whose row is gone has ended since the grant and is taken out of the reply.
// False when the store cannot be read: `fault` says why.
bool fill_payloads(const core::ShardStore& store, core::LeaseReply* reply, std::string* fault);

}  // namespace rota::runtime
