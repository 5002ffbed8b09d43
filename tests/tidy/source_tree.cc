// SPDX-License-Identifier: Apache-2.0
#include "tidy/source_tree.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <sstream>

namespace rota::tidy {
namespace {

namespace fs = std::filesystem;

bool is_skipped_folder(const std::string& name) {
  return name == "build" || name == "node_modules" || (name.starts_with(".") && name != ".ci");
}

std::vector<std::string> split_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  }
  return lines;
}

bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

}  // namespace

std::string to_string(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    text += finding.path + ":" + std::to_string(finding.line) + ": " + finding.text + "\n";
  }
  return text;
}

std::vector<SourceFile> read_tree(const fs::path& root) {
  std::vector<SourceFile> files;
  for (auto at = fs::recursive_directory_iterator(root); at != fs::end(at); ++at) {
    const std::string name = at->path().filename().string();
    if (at->is_directory()) {
      if (is_skipped_folder(name)) at.disable_recursion_pending();
      continue;
    }
    if (!at->is_regular_file()) continue;
    std::ifstream in(at->path(), std::ios::binary);
    std::stringstream buffer;
    buffer << in.rdbuf();
    const std::string text = buffer.str();
    if (text.find('\0') != std::string::npos) continue;
    SourceFile read = file(fs::relative(at->path(), root).generic_string(), text);
    read.executable = (at->status().permissions() & fs::perms::owner_exec) != fs::perms::none;
    files.push_back(std::move(read));
  }
  std::sort(files.begin(), files.end(),
            [](const SourceFile& a, const SourceFile& b) { return a.path < b.path; });
  return files;
}

SourceFile file(std::string path, std::string_view text) {
  return SourceFile{.path = std::move(path), .lines = split_lines(text)};
}

bool has_word(std::string_view line, std::string_view word) {
  for (std::size_t at = line.find(word); at != std::string_view::npos;
       at = line.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool free_before = at == 0 || !is_word_character(line[at - 1]);
    const bool free_behind = end == line.size() || !is_word_character(line[end]);
    if (free_before && free_behind) return true;
  }
  return false;
}

}  // namespace rota::tidy
