// SPDX-License-Identifier: Apache-2.0
//
// How much room the file system of a store has, and what that allows: the soft limit, below which
// no new work is taken, the hard limit, below which nothing is written, and the ballast.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/store.h"
#include "store/ballast.h"
#include "store/open.h"

namespace rota::store {

class SpaceWatch {
 public:
  // `free_bytes`: what the file system has left for this process, where it says so.
  using FreeFn = std::function<std::optional<std::uint64_t>()>;
  SpaceWatch(const StoreSizes& sizes, Ballast ballast, FreeFn free_bytes);
  SpaceWatch(SpaceWatch&& other) noexcept;
  SpaceWatch& operator=(SpaceWatch&&) = delete;

  // Before the database is opened. Below the hard limit the ballast is given up, so that what opens
  // can be drained: until there is room for another one, no new work is taken, also not by the
  // opens that follow. kDiskFull when even the open itself would not fit.
  std::optional<Failure> make_room(const std::string& directory);
  bool gave_up_ballast() const { return draining_.load(std::memory_order_relaxed); }

  // Any thread. Asks the file system at most once a second, and at once when `flushes` is another
  // number than at the last call.
  core::Pressure pressure(std::uint64_t flushes);

  // Makes the ballast when there is room for it above the soft limit. For the open, and from then
  // on once a second by one thread. Says why when it cannot be made, and tries again after ten
  // minutes.
  std::optional<Failure> tend_ballast();

 private:
  std::optional<std::uint64_t> free() const { return free_bytes_(); }
  bool room_for_ballast(std::uint64_t free) const;

  const StoreSizes sizes_;
  Ballast ballast_;
  const FreeFn free_bytes_;
  std::int64_t make_from_ms_ = 0;  // not tried before
  std::atomic<bool> draining_{false};
  std::atomic<std::int64_t> checked_ms_{0};
  std::atomic<std::uint64_t> flushes_{0};
  std::atomic<core::Pressure> pressure_{core::Pressure::kOk};
};

}  // namespace rota::store
