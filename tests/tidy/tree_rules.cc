// SPDX-License-Identifier: Apache-2.0
#include "tidy/tree_rules.h"

#include <algorithm>
#include <map>
#include <set>

namespace rota::tidy {
namespace {

constexpr std::size_t kLinesMax = 800;

struct Forbidden {
  std::string_view word;
  std::string_view under;   // only in this folder; empty: everywhere
  std::string_view except;  // but not in this one; empty: no exception
  std::string_view instead;
};

// Written in two halves, so that this file passes its own rule.
const std::vector<Forbidden>& forbidden_words() {
  static const std::vector<Forbidden> table = {
      {"TO"
       "DO",
       "", "", "finish it, or describe it as what comes later"},
      {"FIX"
       "ME",
       "", "", "fix it"},
      {"XX"
       "X",
       "", "", "say what is wrong"},
      {"HA"
       "CK",
       "", "", "say why it must be so"},
      {"GTEST_"
       "SKIP",
       "", "", "a test runs or does not exist"},
      {"sleep_"
       "for",
       "tests/", "tests/support/", "wait for a condition with a deadline"},
      {"sleep_"
       "until",
       "tests/", "tests/support/", "wait for a condition with a deadline"},
      {"us"
       "leep",
       "tests/", "tests/support/", "wait for a condition with a deadline"},
      {"nano"
       "sleep",
       "tests/", "tests/support/", "wait for a condition with a deadline"},
  };
  return table;
}

// Found anywhere in a line, not only as whole words.
const std::vector<Forbidden>& forbidden_texts() {
  static const std::vector<Forbidden> table = {
      {"TEST(DISABLED"
       "_",
       "", "", "a test runs or does not exist"},
      {", DISABLED"
       "_",
       "tests/", "", "a test runs or does not exist"},
      {"/ro"
       "ot/",
       "", "", "no path of one machine"},
      {"/ho"
       "me/",
       "", "", "no path of one machine"},
      {"deb.debian"
       ".org",
       "", "", "the machine's own sources decide"},
      {"registry.npmjs"
       ".org",
       "", "", "the machine's own registry decides"},
      {"pypi"
       ".org",
       "", "", "the machine's own registry decides"},
  };
  return table;
}

bool is_source(const SourceFile& source) {
  for (std::string_view extension :
       {".cc", ".h", ".inc", ".proto", ".cmake", ".sh", ".js", ".mjs"}) {
    if (source.has_extension(extension)) return true;
  }
  const bool script = !source.lines.empty() && source.lines[0].starts_with("#!");
  return script || source.path == "CMakeLists.txt" || source.path.ends_with("/CMakeLists.txt");
}

class Checker {
 public:
  explicit Checker(const std::vector<SourceFile>& tree) : tree_(tree) {
    for (const SourceFile& source : tree) {
      paths_.insert(source.path);
      for (std::size_t slash = source.path.find('/'); slash != std::string::npos;
           slash = source.path.find('/', slash + 1)) {
        paths_.insert(source.path.substr(0, slash));
      }
    }
  }

  std::vector<Finding> run() {
    for (const SourceFile& source : tree_) {
      if (is_source(source)) check_source(source);
      if (source.path != "LICENSE") check_words(source);
      check_mode(source);
      if (source.has_extension(".cc")) check_built(source);
      if (source.has_extension(".md")) check_links(source);
    }
    return std::move(findings_);
  }

 private:
  void add(const SourceFile& source, std::size_t line, std::string text) {
    findings_.push_back({source.path, line, std::move(text)});
  }

  void check_source(const SourceFile& source) {
    if (source.lines.size() > kLinesMax) {
      add(source, kLinesMax + 1,
          std::to_string(source.lines.size()) + " lines, limit " + std::to_string(kLinesMax));
    }
    const auto head_end = source.lines.begin() + static_cast<std::ptrdiff_t>(
                                                     std::min<std::size_t>(3, source.lines.size()));
    const bool licensed = std::any_of(source.lines.begin(), head_end, [](const std::string& line) {
      return line.find("SPDX-License-Identifier: Apache-2.0") != std::string::npos;
    });
    // The copies of the standard error details keep the form of their origin.
    if (!licensed) add(source, 1, "no SPDX-License-Identifier in the first three lines");
    if (source.has_extension(".h") &&
        std::find(source.lines.begin(), source.lines.end(), "#pragma once") == source.lines.end()) {
      add(source, 1, "no #pragma once");
    }
  }

  static bool applies(const Forbidden& rule, const SourceFile& source) {
    if (!rule.under.empty() && !source.path.starts_with(rule.under)) return false;
    return rule.except.empty() || !source.path.starts_with(rule.except);
  }

  void check_words(const SourceFile& source) {
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      for (const Forbidden& rule : forbidden_words()) {
        if (applies(rule, source) && has_word(line, rule.word)) {
          add(source, i + 1, std::string(rule.word) + ": " + std::string(rule.instead));
        }
      }
      for (const Forbidden& rule : forbidden_texts()) {
        if (applies(rule, source) && line.find(rule.word) != std::string::npos) {
          add(source, i + 1, std::string(rule.word) + ": " + std::string(rule.instead));
        }
      }
    }
  }

  void check_mode(const SourceFile& source) {
    const bool script = !source.lines.empty() && source.lines[0].starts_with("#!");
    if (script && !source.executable) add(source, 1, "a script that is not executable");
    if (!script && source.executable) add(source, 1, "executable, but no script");
  }

  // A CMakeLists.txt of the file's folder names it, or any names it with its folder before it.
  void check_built(const SourceFile& source) {
    const std::size_t slash = source.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : source.path.substr(0, slash + 1);
    const std::string name = source.path.substr(folder.size());
    const std::size_t parent =
        slash == std::string::npos || slash == 0 ? std::string::npos : folder.rfind('/', slash - 1);
    const std::string with_folder =
        parent == std::string::npos ? source.path : source.path.substr(parent + 1);
    const bool built = std::any_of(tree_.begin(), tree_.end(), [&](const SourceFile& list) {
      if (list.path != "CMakeLists.txt" && !list.path.ends_with("/CMakeLists.txt")) return false;
      const std::string& wanted = list.path == folder + "CMakeLists.txt" ? name : with_folder;
      return std::any_of(list.lines.begin(), list.lines.end(), [&](const std::string& line) {
        return line.find(wanted) != std::string::npos;
      });
    });
    if (!built) add(source, 1, "no CMakeLists.txt names this file");
  }

  void check_links(const SourceFile& source) {
    const std::size_t slash = source.path.rfind('/');
    const std::string folder = slash == std::string::npos ? "" : source.path.substr(0, slash + 1);
    for (std::size_t i = 0; i < source.lines.size(); ++i) {
      const std::string& line = source.lines[i];
      for (std::size_t at = line.find("]("); at != std::string::npos;
           at = line.find("](", at + 2)) {
        const std::size_t end = line.find_first_of(") #", at + 2);
        std::string link = line.substr(at + 2, end == std::string::npos ? end : end - at - 2);
        if (link.empty() || link.find(':') != std::string::npos) continue;  // here, or elsewhere
        if (!leads_somewhere(folder, link)) add(source, i + 1, "link to nothing: " + link);
      }
    }
  }

  bool leads_somewhere(const std::string& folder, const std::string& link) const {
    const auto path = (std::filesystem::path(folder) / link).lexically_normal();
    std::string text = path.generic_string();
    while (text.ends_with("/")) text.pop_back();
    return text.empty() || text == "." || paths_.contains(text);
  }

  const std::vector<SourceFile>& tree_;
  std::set<std::string, std::less<>> paths_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_tree(const std::vector<SourceFile>& tree) { return Checker(tree).run(); }

}  // namespace rota::tidy
