// SPDX-License-Identifier: Apache-2.0
//
// Known mistakes (mistakes.inc), with which the tests are tested: one can be planted at the start
// of any program of the preset `mutation`, and of no other.
//
//   ROTA_MISTAKE=skip-token-comparison build/mutation/tests/engine_test
//   ROTA_MISTAKE=list build/mutation/tests/engine_test    prints them all
//
// tools/mutation plants each in turn and shows which layer of the tests notices. In the code:
//
//   if (planted(Mistake::kSkipTokenComparison) || lease.token == item.token) ...
//
// In every other preset planted() is false at compile time: no program holds the wrong branch, the
// switch, or a name.
#pragma once

#include <cstdint>

namespace rota::base {

enum class Mistake : std::uint8_t {
  kNone,
#define ROTA_MISTAKE(id, name, where, sentence) id,
#include "base/mistakes.inc"
#undef ROTA_MISTAKE
};

#ifdef ROTA_MUTATION
// Read from the environment before main(), which a name that is not in the table prevents.
extern const Mistake planted_mistake;
inline bool planted(Mistake mistake) { return mistake == planted_mistake; }
#else
consteval bool planted(Mistake) { return false; }
#endif

}  // namespace rota::base
