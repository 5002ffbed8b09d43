// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "src/lease.h"

namespace rota::internal {

using LeasePtr = std::shared_ptr<Lease>;

// What this process holds: leases until their outcome is accepted or they are lost, and, apart from
// that, the jobs whose handler has not returned: a handler may outlive its lease. Thread-safe.
class LeaseTable {
 public:
  // False when an earlier handler of the job is still running here: the job must not start. The
  // lease is held in both cases.
  bool add(const LeasePtr& lease);

  // Without starting it: a lease that goes back at once.
  void hold(const LeasePtr& lease);

  // The handler that add() allowed has returned.
  void handler_ended(const Lease& lease);

  // The lease is over or its outcome accepted. False when it was not held any more.
  bool drop(std::uint64_t token);

  LeasePtr find(std::uint64_t token) const;
  std::vector<LeasePtr> all() const;
  bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::uint64_t, LeasePtr> held_;
  std::unordered_set<std::string> running_jobs_;
};

}  // namespace rota::internal
