// SPDX-License-Identifier: Apache-2.0
//
// What happened in a run: a hash over every step, so that two runs of one seed can be compared bit
// for bit, printed line by line on demand; and the first invariant that was broken.
#pragma once

#include <cstdint>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace rota::sim {

class Trace {
 public:
  explicit Trace(bool print) : print_(print) {}

  void at(std::int64_t mono_ms) { mono_ms_ = mono_ms; }
  // `text` must lead from the inputs of the run alone: no addresses, no real time.
  void add(std::string_view what, std::initializer_list<std::uint64_t> numbers) {
    mix(static_cast<std::uint64_t>(mono_ms_));
    for (const char c : what) mix(static_cast<unsigned char>(c));
    for (const std::uint64_t n : numbers) mix(n);
    if (!print_) return;
    std::printf("%10.3f %.*s", static_cast<double>(mono_ms_) / 1000.0,
                static_cast<int>(what.size()), what.data());
    for (const std::uint64_t n : numbers) std::printf(" %llu", static_cast<unsigned long long>(n));
    std::printf("\n");
  }
  // A line for the reader only; built only when it is printed.
  void say(const std::function<std::string()>& text) const {
    if (print_) std::printf("           | %s\n", text().c_str());
  }
  std::uint64_t hash() const { return hash_; }

 private:
  void mix(std::uint64_t n) { hash_ = (hash_ ^ n) * 0x100000001b3ULL; }

  bool print_;
  std::int64_t mono_ms_ = 0;
  std::uint64_t hash_ = 0xcbf29ce484222325ULL;
};

// The number is that of the table in invariants.md; 0 = none of them: the harness itself.
struct Violation {
  int invariant = 0;
  std::string text;
  std::uint64_t step = 0;
};

// Keeps the first violation only: what follows from a broken state says little.
class Verdict {
 public:
  void fail(int invariant, std::string text) {
    if (!first_) first_ = Violation{invariant, std::move(text), step_};
  }
  void at_step(std::uint64_t step) { step_ = step; }
  bool ok() const { return !first_; }
  const std::optional<Violation>& first() const { return first_; }

 private:
  std::optional<Violation> first_;
  std::uint64_t step_ = 0;
};

}  // namespace rota::sim
