// SPDX-License-Identifier: Apache-2.0
//
// All kinds of faults, each a row of fault points to be tried one after the other.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
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
  // Points that were tried while the campaigns were made, since others build on them; they count
  // whatever is asked for.
  std::map<std::uint64_t, Verdict> learned;
  // Disk faults: points from `points` on may exist, up to the first whose run meets no fault.
  bool open_ended = false;
};

// The campaigns, and the images that some of them damage.
struct Campaigns {
  std::vector<Campaign> all;
  std::deque<Image> images;  // the campaigns point to them
  std::string text;          // about the work and the images; some lines
};

// The bench must outlive them.
Campaigns make_campaigns(Bench& bench, std::uint64_t seed);

// The i-th of `points` in an order that spreads over them all from the begin on.
std::uint64_t spread(std::uint64_t i, std::uint64_t points, std::uint64_t seed);

}  // namespace rota::faults
