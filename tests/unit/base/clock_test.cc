// SPDX-License-Identifier: Apache-2.0
#include "base/clock.h"

#include <gtest/gtest.h>

namespace rota::base {
namespace {

TEST(SystemClock, ReadsPlausibleTimesThatDoNotGoBack) {
  const SystemClock clock;
  EXPECT_GT(clock.wall_ms(), 1'700'000'000'000);
  const std::int64_t mono = clock.mono_ms();
  const std::int64_t boot = clock.boot_ms();
  for (int i = 0; i < 1'000; ++i) ASSERT_GE(clock.mono_ms(), mono);
  EXPECT_GE(clock.boot_ms(), boot);
  EXPECT_GE(clock.boot_ms(), mono) << "suspension is counted on top";
}

}  // namespace
}  // namespace rota::base
