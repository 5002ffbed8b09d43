// SPDX-License-Identifier: Apache-2.0
//
// What every target of this folder shares. A target is one file with LLVMFuzzerTestOneInput() and
// the properties of one decoder; with clang libFuzzer calls it, else replay.cc does with the files
// of corpus/<target>.
//
// A target keeps nothing from one input to the next, so that a file of the corpus alone repeats
// what it found. The two that hold a whole server say how far that goes.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace rota::fuzz {

[[noreturn]] inline void fail(const char* file, int line, const char* what,
                              const std::string& words) {
  std::fprintf(stderr, "%s:%d: does not hold: %s\n%s\n", file, line, what, words.c_str());
  std::abort();
}

// What must hold for every input. The process ends where it does not, and the fuzzer keeps the
// input. `words` is evaluated only then.
#define FUZZ_CHECK(condition, words) \
  ((condition) ? static_cast<void>(0) : ::rota::fuzz::fail(__FILE__, __LINE__, #condition, (words)))

// The bytes of an input, taken from the front. Behind its end there are zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size)
      : left_(reinterpret_cast<const char*>(data), size) {}

  std::uint8_t byte() { return static_cast<std::uint8_t>(number(1)); }
  std::uint64_t u64() { return number(8); }
  std::int64_t i64() { return static_cast<std::int64_t>(u64()); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(number(4)); }
  std::string_view take(std::size_t n) {
    const std::string_view taken = left_.substr(0, n);
    left_.remove_prefix(taken.size());
    return taken;
  }
  // One byte says how long it is.
  std::string_view text() { return take(byte()); }
  // Up to the next line feed, which is taken away too.
  std::string_view line() {
    const std::string_view taken = take(std::min(left_.find('\n'), left_.size()));
    take(1);
    return taken;
  }
  std::string_view rest() { return take(left_.size()); }
  bool empty() const { return left_.empty(); }

 private:
  std::uint64_t number(std::size_t bytes) {
    std::uint64_t v = 0;
    const std::string_view taken = take(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
      v = (v << 8U) | (i < taken.size() ? static_cast<std::uint8_t>(taken[i]) : 0U);
    }
    return v;
  }
  std::string_view left_;
};

// The number at the beginning of a text; 0 when there is none that fits.
inline std::int64_t number_in(std::string_view text) {
  std::int64_t v = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), v);
  return fault == std::errc() ? v : 0;
}

// For messages: "0a ff 00".
inline std::string hex(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  for (const char c : bytes) {
    const auto byte = static_cast<std::uint8_t>(c);
    text += {kDigits[byte >> 4U], kDigits[byte & 15U], ' '};
  }
  return text;
}

}  // namespace rota::fuzz
