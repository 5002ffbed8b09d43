// SPDX-License-Identifier: Apache-2.0
//
// When each of many time-ordered ranges is to be swept next. What is not due costs nothing, however
// many ranges there are; what is due goes in the order it became due, so that one range with much
// to sweep, planned anew after each slice, does not hold up the others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "base/limits.h"

namespace rota::core {

template <class Key>
class SweepPlan {
 public:
  // No later than `at_ms`; INT64_MAX changes nothing.
  void plan(const Key& key, std::int64_t at_ms) {
    if (at_ms == INT64_MAX) return;
    const auto [it, fresh] = at_.try_emplace(key, at_ms);
    if (!fresh) {
      if (it->second <= at_ms) return;
      order_.erase({it->second, key});
      it->second = at_ms;
    }
    order_.emplace(at_ms, key);
  }
  void forget(const Key& key) {
    const auto it = at_.find(key);
    if (it == at_.end()) return;
    order_.erase({it->second, key});
    at_.erase(it);
  }
  // Takes the first that is due; false when none is.
  bool take_due(std::int64_t now_ms, Key* key) {
    if (order_.empty() || order_.begin()->first > now_ms) return false;
    *key = order_.begin()->second;
    forget(*key);
    return true;
  }
  // INT64_MAX when nothing is planned.
  std::int64_t next_ms() const { return order_.empty() ? INT64_MAX : order_.begin()->first; }

 private:
  std::map<Key, std::int64_t> at_;
  std::set<std::pair<std::int64_t, Key>> order_;
};

// How many rows a duty reads at once: the size of rows is not known before, so the number follows
// what the last slice brought.
class SliceSize {
 public:
  explicit SliceSize(std::uint32_t most) : most_(most), rows_(std::min(most, kFirst)) {}
  std::uint32_t rows() const { return rows_; }
  void brought(std::size_t bytes) {
    if (bytes > static_cast<std::size_t>(base::limits::kScanPageBytesMax)) {
      rows_ = std::max(1U, rows_ / 2);
    } else {
      rows_ = std::min(most_, rows_ * 2);
    }
  }

 private:
  static constexpr std::uint32_t kFirst = 128;
  std::uint32_t most_;
  std::uint32_t rows_;
};

}  // namespace rota::core
