// SPDX-License-Identifier: Apache-2.0
//
// Rules for the files of the tree that no compiler checks.
#pragma once

#include <vector>

#include "tidy/source_tree.h"

namespace rota::tidy {

// - a source file has at most 800 lines and names its licence in the first three
// - a header has `#pragma once`
// - no left-over words, no skipped or disabled test, no sleep in a test, no path or package host of
//   one machine
// - a .cc file is named by the CMakeLists.txt of its folder, or with its folder by another one
// - a script with a #! line is executable, and nothing else is
// - a relative link in a Markdown file leads to something
std::vector<Finding> check_tree(const std::vector<SourceFile>& tree);

}  // namespace rota::tidy
