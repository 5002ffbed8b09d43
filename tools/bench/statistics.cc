// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rota::bench {

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {.median = median, .min = values.front(), .max = values.back()};
}

// A value of n bits has its highest kExactBits bits looked at: the first of them is 1, the others
// number the cell within the octave.
std::size_t Histogram::cell_of(std::uint64_t ns) {
  const int shift = std::max(0, static_cast<int>(std::bit_width(ns)) - kExactBits);
  const std::size_t cell = static_cast<std::size_t>(shift) * kCellsOfOctave +
                           static_cast<std::size_t>(ns >> static_cast<unsigned>(shift));
  return std::min(cell, kCells - 1);
}

std::uint64_t Histogram::upper_bound(std::size_t cell) {
  if (cell < 2 * kCellsOfOctave) return cell;
  const std::size_t shift = cell / kCellsOfOctave - 1;
  const std::uint64_t head = cell - shift * kCellsOfOctave;
  return ((head + 1) << shift) - 1;
}

void Histogram::record(std::int64_t ns) {
  const auto value = static_cast<std::uint64_t>(std::max<std::int64_t>(ns, 0));
  cells_[cell_of(value)].fetch_add(1, std::memory_order_relaxed);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < kCells; ++i) {
    const std::uint64_t more = other.cells_[i].load(std::memory_order_relaxed);
    if (more > 0) cells_[i].fetch_add(more, std::memory_order_relaxed);
  }
}

std::uint64_t Histogram::count() const {
  std::uint64_t sum = 0;
  for (const auto& cell : cells_) sum += cell.load(std::memory_order_relaxed);
  return sum;
}

std::int64_t Histogram::percentile(double share) const {
  const std::uint64_t all = count();
  if (all == 0) return 0;
  const double wanted = std::ceil(share * static_cast<double>(all));
  const std::uint64_t rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1, all);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < kCells; ++i) {
    seen += cells_[i].load(std::memory_order_relaxed);
    if (seen >= rank) return static_cast<std::int64_t>(upper_bound(i));
  }
  return static_cast<std::int64_t>(upper_bound(kCells - 1));
}

}  // namespace rota::bench
