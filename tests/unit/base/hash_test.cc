// SPDX-License-Identifier: Apache-2.0
#include "base/hash.h"

#include <gtest/gtest.h>

namespace rota::base {
namespace {

TEST(HashParts, IsSha256OverLengthsAndBytes) {
  // printf '\0\0\0\0\0\0\0\003abc' | sha256sum
  EXPECT_EQ(to_hex(as_bytes(hash_parts({"abc"}))),
            "c3494ca1a2cf8eeb8a11ded316fb55b83c3bbbedb6313cd50415251e5d09e12f");
  // sha256sum of nothing
  EXPECT_EQ(to_hex(as_bytes(hash_parts({}))),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(HashParts, TellsApartWhatOnlyDiffersInItsCuts) {
  EXPECT_NE(hash_parts({"ab", "c"}), hash_parts({"a", "bc"}));
  EXPECT_NE(hash_parts({"abc"}), hash_parts({"abc", ""}));
  EXPECT_NE(hash_parts({"a", "b"}), hash_parts({"b", "a"}));
  EXPECT_EQ(hash_parts({"a", "b"}), hash_parts({"a", "b"}));
}

TEST(HashParts, StepsGiveTheSameAsAList) {
  EXPECT_EQ(PartHasher().add("a").add("").add("b").finish(), hash_parts({"a", "", "b"}));
}

}  // namespace
}  // namespace rota::base
