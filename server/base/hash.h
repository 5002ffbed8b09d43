// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 over parts, for fingerprints of requests and jobs: two lists of parts have the same
// digest only if they are equal, also when bytes move from one part to its neighbour.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

namespace rota::base {

using Digest = std::array<std::uint8_t, 32>;

// Collects parts one by one. Not thread-safe.
class PartHasher {
 public:
  PartHasher();
  ~PartHasher();
  PartHasher(const PartHasher&) = delete;
  PartHasher& operator=(const PartHasher&) = delete;

  // Adds a part: its length as eight bytes, big-endian, then its bytes.
  PartHasher& add(std::string_view part);

  // The digest of all parts added. Before the next part comes restart().
  Digest finish();
  // Forgets the parts added so far.
  void restart();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// The digest of these parts in this order.
Digest hash_parts(std::initializer_list<std::string_view> parts);

// The digest as 32 raw bytes, for storing in a record.
inline std::string_view as_bytes(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

// Lower-case hexadecimal text of any bytes.
std::string to_hex(std::string_view bytes);

}  // namespace rota::base
