// SPDX-License-Identifier: Apache-2.0
#include "tidy/symbols.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rota::tidy {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

TEST(Symbols, EngineAndModelAreClosedToTheOutside) {
  for (const char* library : {ROTA_CORE_LIBRARY, ROTA_MODEL_LIBRARY, ROTA_SCHEDULE_LIBRARY}) {
    const auto symbols = undefined_symbols(ROTA_NM, library);
    ASSERT_THAT(symbols, Not(IsEmpty())) << library;
    EXPECT_THAT(impure_symbols(symbols), IsEmpty()) << library;
  }
}

TEST(Symbols, TheCheckFindsWhatALibraryUses) {
  const auto impure = impure_symbols(undefined_symbols(ROTA_NM, ROTA_IMPURE_LIBRARY));
  EXPECT_THAT(impure, Contains("clock_gettime"));
  EXPECT_THAT(impure, Contains("getenv"));
  EXPECT_THAT(impure, Contains(StartsWith("_ZNSt13random_device")));
  EXPECT_THAT(impure, Contains(StartsWith("_ZNSt6chrono3_V212system_clock")));
}

TEST(Symbols, AnUnreadableLibraryIsNotClean) {
  EXPECT_THAT(undefined_symbols(ROTA_NM, "/nowhere/lib.a"), IsEmpty());
}

}  // namespace
}  // namespace rota::tidy
