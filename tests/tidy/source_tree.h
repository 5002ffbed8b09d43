// SPDX-License-Identifier: Apache-2.0
//
// The files of a source tree in memory, for the checks of this folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace rota::tidy {

struct SourceFile {
  std::string path;  // relative to the root, with slashes
  std::vector<std::string> lines;
  bool executable = false;

  bool has_extension(std::string_view extension) const { return path.ends_with(extension); }
};

// One broken rule.
struct Finding {
  std::string path;
  std::size_t line = 0;  // from 1; 0: the file as a whole
  std::string text;
};

// "server/core/a.h:3: ..." for each finding, one a line.
std::string to_string(const std::vector<Finding>& findings);

// Every text file below `root`, sorted by path. Left out: what .gitignore names (build folders and
// installed packages), hidden folders but .ci, and files that hold zero bytes.
std::vector<SourceFile> read_tree(const std::filesystem::path& root);

// A tree from literals, for tests of the checks themselves.
SourceFile file(std::string path, std::string_view text);

// True if `word` stands in `line` with no letter, digit or underscore on either side.
bool has_word(std::string_view line, std::string_view word);

}  // namespace rota::tidy
