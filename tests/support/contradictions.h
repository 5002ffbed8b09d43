// SPDX-License-Identifier: Apache-2.0
//
// What a run found that must not be: one sentence for each promise that does not hold.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rota::support {

// Counts all, keeps the first ones. Not thread-safe.
class Contradictions {
 public:
  void add(std::string text) {
    if (++count_ <= kShown) shown_.push_back(std::move(text));
  }
  bool none() const { return count_ == 0; }
  std::uint64_t count() const { return count_; }
  const std::vector<std::string>& shown() const { return shown_; }

 private:
  static constexpr std::size_t kShown = 20;
  std::uint64_t count_ = 0;
  std::vector<std::string> shown_{};
};

}  // namespace rota::support
