// SPDX-License-Identifier: Apache-2.0
#include "src/lease_table.h"

namespace rota::internal {

bool LeaseTable::add(const LeasePtr& lease) {
  std::lock_guard lock(mutex_);
  held_.emplace(lease->token(), lease);
  return running_jobs_.insert(lease->job().id).second;
}

void LeaseTable::hold(const LeasePtr& lease) {
  std::lock_guard lock(mutex_);
  held_.emplace(lease->token(), lease);
}

void LeaseTable::handler_ended(const Lease& lease) {
  std::lock_guard lock(mutex_);
  running_jobs_.erase(lease.job().id);
}

bool LeaseTable::drop(std::uint64_t token) {
  LeasePtr dropped;  // destroyed after the lock is free
  std::lock_guard lock(mutex_);
  const auto found = held_.find(token);
  if (found == held_.end()) return false;
  dropped = std::move(found->second);
  held_.erase(found);
  return true;
}

LeasePtr LeaseTable::find(std::uint64_t token) const {
  std::lock_guard lock(mutex_);
  const auto found = held_.find(token);
  return found == held_.end() ? nullptr : found->second;
}

std::vector<LeasePtr> LeaseTable::all() const {
  std::lock_guard lock(mutex_);
  std::vector<LeasePtr> leases;
  leases.reserve(held_.size());
  for (const auto& [token, lease] : held_) leases.push_back(lease);
  return leases;
}

bool LeaseTable::empty() const {
  std::lock_guard lock(mutex_);
  return held_.empty();
}

}  // namespace rota::internal
