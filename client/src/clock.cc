// SPDX-License-Identifier: Apache-2.0
#include "internal/clock.h"

#include <sys/random.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <random>

namespace rota::internal {

std::string random_hex(std::size_t bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string raw(bytes, '\0');
  std::size_t filled = 0;
  while (filled < bytes) {
    const ssize_t got = getrandom(raw.data() + filled, bytes - filled, 0);
    if (got < 0) continue;  // EINTR; the kernel has no other error for this use
    filled += static_cast<std::size_t>(got);
  }
  std::string text;
  text.reserve(2 * bytes);
  for (const char c : raw) {
    const auto byte = static_cast<unsigned char>(c);
    text.push_back(kDigits[byte >> 4]);
    text.push_back(kDigits[byte & 15]);
  }
  return text;
}

Millis full_jitter(int failures, Millis first, Millis cap, Millis least) {
  thread_local std::minstd_rand engine{std::random_device{}()};
  const int doublings = std::clamp(failures, 0, 20);
  const std::int64_t bound = std::min<std::int64_t>(cap.count(), first.count() << doublings);
  std::uniform_int_distribution<std::int64_t> spread(0, std::max<std::int64_t>(bound, 0));
  return std::max(least, Millis(spread(engine)));
}

}  // namespace rota::internal
