// SPDX-License-Identifier: Apache-2.0
//
// An executor of which the test decides when each piece runs: completions can be held back, and
// dropped, which is what a crash does to them.
#pragma once

#include <deque>
#include <functional>
#include <utility>

#include "core/store.h"

namespace rota::testing {

class HeldExecutor final : public core::Executor {
 public:
  void execute(std::function<void()> work) override { held_.push_back(std::move(work)); }

  std::size_t held() const { return held_.size(); }
  bool run_one() {
    if (held_.empty()) return false;
    auto work = std::move(held_.front());
    held_.pop_front();
    work();
    return true;
  }
  void run_all() {
    while (run_one()) {
    }
  }
  void drop_all() { held_.clear(); }

 private:
  std::deque<std::function<void()>> held_;
};

}  // namespace rota::testing
