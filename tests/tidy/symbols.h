// SPDX-License-Identifier: Apache-2.0
//
// What a static library asks of the outside, by `nm`.
#pragma once

#include <string>
#include <vector>

namespace rota::tidy {

// The undefined symbols of the archive, mangled, without versions. Empty if nm cannot read it.
std::vector<std::string> undefined_symbols(const std::string& nm, const std::string& archive);

// Those of `symbols` that a pure layer may not use: clocks, threads, chance, files, environment,
// network, output.
std::vector<std::string> impure_symbols(const std::vector<std::string>& symbols);

}  // namespace rota::tidy
