// SPDX-License-Identifier: Apache-2.0
//
// Part of the preset `mutation` only.
#include "base/mutation.h"

#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace rota::base {
namespace {

struct Row {
  Mistake mistake;
  const char* name;
  const char* where;
  const char* sentence;
};

constexpr Row kTable[] = {
#define ROTA_MISTAKE(id, name, where, sentence) {Mistake::id, name, where, sentence},
#include "base/mistakes.inc"
#undef ROTA_MISTAKE
};

constexpr int kBadArguments = 2;

// Tab-separated, for programs.
void print_table() {
  for (const Row& row : kTable) std::printf("%s\t%s\t%s\n", row.name, row.where, row.sentence);
}

Mistake from_environment() {
  const char* text = std::getenv("ROTA_MISTAKE");
  if (text == nullptr) return Mistake::kNone;
  const std::string_view name(text);
  if (name == "list") {
    print_table();
    std::exit(0);
  }
  for (const Row& row : kTable) {
    if (name != row.name) continue;
    std::fprintf(stderr, "MISTAKE PLANTED: %s: %s\n", row.name, row.sentence);
    return row.mistake;
  }
  std::fprintf(stderr, "ROTA_MISTAKE=%s: there is no such mistake; ROTA_MISTAKE=list shows all\n",
               text);
  std::exit(kBadArguments);
}

}  // namespace

const Mistake planted_mistake = from_environment();

}  // namespace rota::base
