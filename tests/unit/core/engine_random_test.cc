// SPDX-License-Identifier: Apache-2.0
//
// The random run of tests/support/random_run.h, over many seeds, until all of it has ended.
//
// ROTA_TEST_SEED=N runs one more seed; a failure prints the seed it came from.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>

#include "support/random_run.h"

namespace rota::testing {
namespace {

class EngineRandom : public ::testing::TestWithParam<std::uint64_t> {};

TEST_P(EngineRandom, KeepsItsPromises) {
  for (std::uint64_t i = 0; i < 8 && !HasFailure(); ++i) {
    const std::uint64_t seed = GetParam() * 1'000 + i;
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomRun(seed).run(2'500);
  }
}
INSTANTIATE_TEST_SUITE_P(Seeds, EngineRandom, ::testing::Range<std::uint64_t>(1, 9));

TEST(EngineRandomSeed, AnotherOneEachTime) {
  std::uint64_t seed = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'000);
  if (const char* given = std::getenv("ROTA_TEST_SEED")) seed = std::strtoull(given, nullptr, 10);
  std::printf("ROTA_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  RandomRun(seed).run(4'000);
}

}  // namespace
}  // namespace rota::testing
