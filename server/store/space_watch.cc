// SPDX-License-Identifier: Apache-2.0
#include "store/space_watch.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/names.h"

namespace rota::store {

using core::Pressure;

namespace {

constexpr std::int64_t kCheckMs = 1000;
constexpr std::int64_t kMakeAgainMs = 600'000;

std::int64_t mono_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

std::string size_text(std::uint64_t bytes) {
  return base::format_bytes(static_cast<std::int64_t>(std::min<std::uint64_t>(bytes, INT64_MAX)));
}

}  // namespace

SpaceWatch::SpaceWatch(const StoreSizes& sizes, Ballast ballast, FreeFn free_bytes)
    : sizes_(sizes),
      ballast_(std::move(ballast)),
      free_bytes_(std::move(free_bytes)),
      draining_(ballast_.given_up()) {}

SpaceWatch::SpaceWatch(SpaceWatch&& other) noexcept
    : sizes_(other.sizes_),
      ballast_(std::move(other.ballast_)),
      free_bytes_(other.free_bytes_),
      make_from_ms_(other.make_from_ms_),
      draining_(other.draining_.load()) {}

std::optional<Failure> SpaceWatch::make_room(const std::string& directory) {
  ballast_.drop_unfinished();
  auto now = free();
  if (!now) return std::nullopt;
  if (*now < sizes_.no_space_bytes && ballast_.held_bytes() != 0) {
    if (auto failure = ballast_.give_up()) return failure;
    draining_ = true;
    now = free();
  }
  if (now && room_for_ballast(*now)) draining_ = false;
  if (!now || *now >= sizes_.open_space_bytes) return std::nullopt;
  return Failure{FailureKind::kDiskFull,
                 directory + ": " + size_text(*now) + " are free in its file system, " +
                     size_text(sizes_.open_space_bytes) + " are needed to open it"};
}

bool SpaceWatch::room_for_ballast(std::uint64_t free) const {
  return free >= sizes_.low_space_bytes && free - sizes_.low_space_bytes >= ballast_.wanted_bytes();
}

Pressure SpaceWatch::pressure(std::uint64_t flushes) {
  const std::int64_t now_ms = mono_ms();
  std::int64_t before = checked_ms_.load(std::memory_order_relaxed);
  const bool flushed = flushes_.exchange(flushes, std::memory_order_relaxed) != flushes;
  if (!flushed && before != 0 && now_ms - before < kCheckMs) {
    return pressure_.load(std::memory_order_relaxed);
  }
  if (!checked_ms_.compare_exchange_strong(before, now_ms)) return pressure_.load();
  if (const auto now = free()) {
    if (draining_ && room_for_ballast(*now)) draining_ = false;
    Pressure found = *now < sizes_.no_space_bytes    ? Pressure::kReadOnly
                     : *now < sizes_.low_space_bytes ? Pressure::kRefuseNew
                                                     : Pressure::kOk;
    if (draining_) found = std::max(found, Pressure::kRefuseNew);
    pressure_ = found;
  }
  return pressure_.load();
}

std::optional<Failure> SpaceWatch::tend_ballast() {
  if (ballast_.wanted_bytes() == 0) return ballast_.remove();
  if (ballast_.complete() || mono_ms() < make_from_ms_) return std::nullopt;
  const auto now = free();
  if (!now || !room_for_ballast(*now)) return std::nullopt;
  auto failure = ballast_.make();
  if (failure) make_from_ms_ = mono_ms() + kMakeAgainMs;
  return failure;
}

}  // namespace rota::store
