// SPDX-License-Identifier: Apache-2.0
#include "tidy/symbols.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <string_view>

namespace rota::tidy {
namespace {

const std::set<std::string, std::less<>>& impure_names() {
  static const std::set<std::string, std::less<>> names = {
      "clock_gettime",
      "gettimeofday",
      "time",
      "clock",
      "localtime",
      "localtime_r",
      "tzset",
      "pthread_create",
      "fork",
      "nano"
      "sleep",
      "sleep",
      "us"
      "leep",
      "open",
      "open64",
      "openat",
      "fopen",
      "fopen64",
      "read",
      "write",
      "pread",
      "pwrite",
      "unlink",
      "getenv",
      "secure_getenv",
      "setenv",
      "socket",
      "connect",
      "rand",
      "random",
      "rand_r",
      "getrandom",
      "arc4random",
      "syscall",
      "printf",
      "puts",
      "getpid",
  };
  return names;
}

// Mangled beginnings: std::thread, std::random_device, the chrono clocks, files, the standard
// streams, absl::Now.
constexpr std::string_view kImpurePrefixes[] = {"_ZNSt6thread",
                                                "_ZNSt13random_device",
                                                "_ZNSt6chrono3_V212system_clock",
                                                "_ZNSt6chrono3_V212steady_clock",
                                                "_ZNSt13basic_filebuf",
                                                "_ZNSt14basic_ofstream",
                                                "_ZNSt14basic_ifstream",
                                                "_ZSt4cout",
                                                "_ZSt4cerr",
                                                "_ZN4absl12lts_202206233NowEv"};

}  // namespace

std::vector<std::string> undefined_symbols(const std::string& nm, const std::string& archive) {
  std::vector<std::string> symbols;
  FILE* out = popen((nm + " --undefined-only --format=posix '" + archive + "'").c_str(), "r");
  if (out == nullptr) return symbols;
  std::array<char, 65'536> line{};
  while (std::fgets(line.data(), line.size(), out) != nullptr) {
    const std::string_view text = line.data();
    const std::size_t space = text.find(" U");
    if (space == std::string_view::npos) continue;
    symbols.emplace_back(text.substr(0, text.find_first_of(" @")));
  }
  if (pclose(out) != 0) symbols.clear();
  return symbols;
}

std::vector<std::string> impure_symbols(const std::vector<std::string>& symbols) {
  std::vector<std::string> impure;
  for (const std::string& symbol : symbols) {
    const bool prefixed =
        std::any_of(std::begin(kImpurePrefixes), std::end(kImpurePrefixes),
                    [&](std::string_view prefix) { return symbol.starts_with(prefix); });
    if (prefixed || impure_names().contains(symbol)) impure.push_back(symbol);
  }
  return impure;
}

}  // namespace rota::tidy
