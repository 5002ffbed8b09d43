// SPDX-License-Identifier: Apache-2.0
//
// What is to happen, in virtual time. Of two things at one instant the rng says which comes first,
// so that no order of arrival is ever relied on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "sim/rng.h"

namespace rota::sim {

class Agenda {
 public:
  explicit Agenda(Rng rng) : rng_(rng) {}

  std::int64_t now_ms() const { return now_ms_; }
  void in(std::int64_t delay_ms, std::function<void()> work) {
    const std::int64_t at = now_ms_ + (delay_ms > 0 ? delay_ms : 0);
    events_.emplace(std::tuple{at, rng_.next(), ++count_}, std::move(work));
  }
  bool empty() const { return events_.empty(); }
  std::int64_t next_ms() const { return std::get<0>(events_.begin()->first); }
  // Goes to the time of the next event and runs it. There must be one.
  void run_next() {
    auto first = events_.begin();
    now_ms_ = std::get<0>(first->first);
    const std::function<void()> work = std::move(first->second);
    events_.erase(first);
    work();
  }

 private:
  Rng rng_;
  std::int64_t now_ms_ = 1'000'000;
  std::uint64_t count_ = 0;
  std::map<std::tuple<std::int64_t, std::uint64_t, std::uint64_t>, std::function<void()>> events_;
};

}  // namespace rota::sim
