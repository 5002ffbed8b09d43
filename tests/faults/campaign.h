// SPDX-License-Identifier: Apache-2.0
//
// All kinds of faults, each a row of fault points to be tried one after the other.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "faults/bench.h"

namespace rota::faults {

struct Campaign {
  std::string kind;  // "EIO from then on: sync"
  // Known beforehand. Those of disk faults are calls of one run; another may make a few more or
  // less, since RocksDB works in the background.
  std::uint64_t points = 0;
  std::function<Verdict(std::uint64_t point)> run;
  // Disk faults: points from `points` on may exist, up to the first whose run meets no fault.
  bool open_ended = false;
};

// What several campaigns share: the images they damage.
struct Campaigns {
  std::vector<Campaign> all;
  std::string text;  // one line about the work: calls, files
};

// The bench must outlive them.
Campaigns make_campaigns(Bench& bench, std::uint64_t seed);

// The i-th of `points` in an order that spreads over them all from the begin on.
std::uint64_t spread(std::uint64_t i, std::uint64_t points, std::uint64_t seed);

}  // namespace rota::faults
