// SPDX-License-Identifier: Apache-2.0
//
// What the services share: the running server, the guard, and the readers of the store.
#pragma once

#include "rpc/call_guard.h"
#include "rpc/job_reader.h"
#include "rpc/queue_directory.h"
#include "rpc/reply_budget.h"
#include "rpc/scheduler_reader.h"
#include "runtime/services.h"

namespace rota::rpc {

// Outlives the services and every call.
struct Context {
  explicit Context(runtime::Services services)
      : server(services),
        replies(services.limits.reply_bytes),
        guard(services.clock, replies),
        queues(services.store),
        jobs(services.store, services.leases, queues),
        schedulers(services.store) {}

  runtime::Services server;
  ReplyBudget replies;
  CallGuard guard;
  QueueDirectory queues;
  JobReader jobs;
  SchedulerReader schedulers;

  std::int64_t wall_ms() const { return server.loop.wall_ms(); }
  std::int64_t mono_ms() const { return server.clock.mono_ms(); }
};

}  // namespace rota::rpc
