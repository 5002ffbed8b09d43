// SPDX-License-Identifier: Apache-2.0
//
// CRC-32C (Castagnoli), the checksum of stored records and page tokens. It finds damage; it is no
// protection against intent. Uses the processor's instruction where it has one.
#pragma once

#include <cstdint>
#include <string_view>

namespace rota::base {

// The checksum of `data`, continuing from the checksum of what stood before it:
// crc32c(b, crc32c(a)) == crc32c(a + b).
std::uint32_t crc32c(std::string_view data, std::uint32_t before = 0);

namespace internal {
// The table implementation alone, so that a test can compare both.
std::uint32_t crc32c_portable(std::string_view data, std::uint32_t before);
}  // namespace internal

}  // namespace rota::base
