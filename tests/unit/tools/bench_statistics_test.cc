// SPDX-License-Identifier: Apache-2.0
#include "bench/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace rota::bench {
namespace {

TEST(BenchSummary, MedianMinAndMaxWhateverTheOrder) {
  const Summary odd = summarize({5, 1, 100});
  EXPECT_EQ(odd.median, 5);
  EXPECT_EQ(odd.min, 1);
  EXPECT_EQ(odd.max, 100);
  const Summary even = summarize({4, 1, 3, 2});
  EXPECT_EQ(even.median, 2.5);
  EXPECT_EQ(summarize({7}).median, 7);
}

TEST(BenchSummary, OfNothingAllIsZero) {
  const Summary none = summarize({});
  EXPECT_EQ(none.median, 0);
  EXPECT_EQ(none.min, 0);
  EXPECT_EQ(none.max, 0);
}

TEST(BenchHistogram, SmallTimesAreExact) {
  Histogram histogram;
  for (int i = 1; i <= 100; ++i) histogram.record(i);
  EXPECT_EQ(histogram.count(), 100u);
  EXPECT_EQ(histogram.percentile(0.50), 50);
  EXPECT_EQ(histogram.percentile(0.99), 99);
  EXPECT_EQ(histogram.percentile(0.991), 100);
  EXPECT_EQ(histogram.percentile(1.0), 100);
  EXPECT_EQ(histogram.percentile(0.000'001), 1);
}

TEST(BenchHistogram, EmptyAndOddTimes) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile(0.99), 0);
  histogram.record(-5);
  EXPECT_EQ(histogram.percentile(1.0), 0);
  histogram.record(std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(histogram.count(), 2u);
  EXPECT_EQ(histogram.percentile(1.0), (std::int64_t{1} << 42) - 1) << "the largest cell";
}

// Against the sorted values themselves: never less than the true one, and less than 0.8 % more.
TEST(BenchHistogram, PercentilesAreNearTheTrueOnes) {
  const std::uint64_t seed = 20'261'130;
  SCOPED_TRACE(seed);
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> exponent(0, 12);
  Histogram histogram;
  std::vector<std::int64_t> values;
  for (int i = 0; i < 20'000; ++i) {
    values.push_back(static_cast<std::int64_t>(std::pow(10, exponent(random))));
    histogram.record(values.back());
  }
  std::sort(values.begin(), values.end());
  for (const double share : {0.001, 0.01, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(share * 20'000));
    const auto exact = static_cast<double>(values[rank - 1]);
    const auto told = static_cast<double>(histogram.percentile(share));
    EXPECT_GE(told, exact) << share;
    EXPECT_LE(told, exact * 1.008) << share;
  }
}

TEST(BenchHistogram, CellsFollowOneAnotherWithoutGaps) {
  // At each power of two the next kind of cell begins.
  for (int bits = 1; bits < 42; ++bits) {
    const std::int64_t edge = std::int64_t{1} << bits;
    for (const std::int64_t value : {edge - 1, edge, edge + 1}) {
      const auto histogram = std::make_unique<Histogram>();
      histogram->record(value);
      EXPECT_GE(histogram->percentile(1.0), value);
      EXPECT_LE(static_cast<double>(histogram->percentile(1.0)),
                static_cast<double>(value) * 1.008);
    }
  }
}

TEST(BenchHistogram, MergeAddsAndThreadsLoseNothing) {
  Histogram one, other;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&one] {
        for (int value = 0; value < 10'000; ++value) one.record(value);
      });
    }
  }
  other.record(1'000'000);
  other.merge(one);
  EXPECT_EQ(one.count(), 40'000u);
  EXPECT_EQ(other.count(), 40'001u);
  EXPECT_EQ(one.percentile(0.5), other.percentile(0.5));
  EXPECT_GE(other.percentile(1.0), 1'000'000);
}

}  // namespace
}  // namespace rota::bench
