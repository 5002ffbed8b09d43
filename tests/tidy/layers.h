// SPDX-License-Identifier: Apache-2.0
//
// Which folder may include what. The linker enforces most of it (cmake/RotaTarget.cmake); this
// finds the includes that would link all the same.
#pragma once

#include <vector>

#include "tidy/source_tree.h"

namespace rota::tidy {

// Every include of server/, client/, worker/, tools/ and examples/ that its layer may not have:
// a layer to its right, a library that belongs to another layer, and in the pure layers anything
// that reads the world outside.
std::vector<Finding> check_layers(const std::vector<SourceFile>& tree);

}  // namespace rota::tidy
