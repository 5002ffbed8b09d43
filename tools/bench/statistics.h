// SPDX-License-Identifier: Apache-2.0
//
// What is made of measured values: medians of runs, and percentiles of very many short times.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rota::bench {

struct Summary {
  double median = 0, min = 0, max = 0;
};

// Of an even number of values the median is the mean of the middle two. Of none: all zero.
Summary summarize(std::vector<double> values);

// Counts of times in nanoseconds. A time is counted in a cell whose bounds are less than 0.8 %
// apart, those below 256 ns exactly; so is a percentile. Thread-safe, and all zero bytes are an
// empty one: it may lie in memory that several processes share.
class Histogram {
 public:
  // Negative times count as 0, times above an hour and ten minutes as the largest cell.
  void record(std::int64_t ns);
  void merge(const Histogram& other);

  std::uint64_t count() const;
  // The largest time that the cell of the wanted value stands for, so never less than the value
  // itself, which is the smallest with at least `share` of all values at or below it (the nearest
  // rank). `share` is above 0 and at most 1. 0 when nothing was recorded.
  std::int64_t percentile(double share) const;
  double percentile_ms(double share) const { return static_cast<double>(percentile(share)) / 1e6; }

 private:
  static constexpr int kExactBits = 8;  // up to 2^8 each value has its cell
  static constexpr std::size_t kCellsOfOctave = std::size_t{1} << (kExactBits - 1);
  static constexpr int kOctaves = 34;  // above the exact ones: up to 2^42 ns
  static constexpr std::size_t kCells = (kOctaves + 2) * kCellsOfOctave;

  static std::size_t cell_of(std::uint64_t ns);
  static std::uint64_t upper_bound(std::size_t cell);

  std::array<std::atomic<std::uint64_t>, kCells> cells_{};
};

}  // namespace rota::bench
