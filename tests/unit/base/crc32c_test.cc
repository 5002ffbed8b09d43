// SPDX-License-Identifier: Apache-2.0
#include "base/crc32c.h"

#include <gtest/gtest.h>

#include <string>

namespace rota::base {
namespace {

TEST(Crc32c, GivesThePublishedValues) {
  EXPECT_EQ(crc32c(""), 0u);
  EXPECT_EQ(crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8a9136aau);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string ascending;
  for (int i = 0; i < 32; ++i) ascending.push_back(static_cast<char>(i));
  EXPECT_EQ(crc32c(ascending), 0x46dd794eu);
}

TEST(Crc32c, BothImplementationsAgreeForEveryLengthAndCut) {
  std::string data;
  for (int i = 0; i < 200; ++i) data.push_back(static_cast<char>(i * 37 + 11));
  for (std::size_t size = 0; size <= data.size(); ++size) {
    const std::string_view head = std::string_view(data).substr(0, size);
    ASSERT_EQ(crc32c(head), internal::crc32c_portable(head, 0)) << size;
    ASSERT_EQ(crc32c(std::string_view(data).substr(size), crc32c(head)), crc32c(data)) << size;
  }
}

TEST(Crc32c, EveryFlippedBitIsFound) {
  std::string data = "a record of the store";
  const std::uint32_t good = crc32c(data);
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
    EXPECT_NE(crc32c(data), good) << bit;
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << (bit % 8)));
  }
}

}  // namespace
}  // namespace rota::base
