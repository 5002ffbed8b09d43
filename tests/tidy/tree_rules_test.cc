// SPDX-License-Identifier: Apache-2.0
#include "tidy/tree_rules.h"

#include <gtest/gtest.h>

namespace rota::tidy {
namespace {

constexpr char kHead[] = "// SPDX-License-Identifier: Apache-2.0\n";

TEST(TreeRules, HoldForThisTree) {
  const auto tree = read_tree(ROTA_SOURCE_DIR);
  ASSERT_GT(tree.size(), 100u);
  const auto findings = check_tree(tree);
  EXPECT_TRUE(findings.empty()) << to_string(findings);
}

// The only finding of this tree must be this one.
void expect_finding(const std::vector<SourceFile>& tree, std::size_t line,
                    const std::string& text) {
  const auto findings = check_tree(tree);
  ASSERT_EQ(findings.size(), 1u) << text << "\n" << to_string(findings);
  EXPECT_EQ(findings[0].line, line);
  EXPECT_NE(findings[0].text.find(text), std::string::npos) << findings[0].text;
}

TEST(TreeRules, FindLongFiles) {
  std::string text = kHead;
  for (int i = 0; i < 799; ++i) text += "//\n";
  EXPECT_TRUE(check_tree({file("server/a.inc", text)}).empty());
  expect_finding({file("server/a.inc", text + "//\n")}, 801, "801 lines, limit 800");
}

TEST(TreeRules, FindMissingHeads) {
  expect_finding({file("proto/a.proto", "syntax = \"proto3\";\n")}, 1, "SPDX");
  expect_finding({file("server/a.h", kHead)}, 1, "#pragma once");
}

TEST(TreeRules, FindLeftOverWords) {
  expect_finding({file("docs/a.md", std::string("fine\nTO") + "DO: more\n")}, 2, "finish it");
  expect_finding({file("server/a.inc", std::string(kHead) + "// FIX" + "ME\n")}, 2, "fix it");
  EXPECT_TRUE(check_tree({file("docs/a.md", std::string("mkstemp XXXX") + "XX\n")}).empty());
}

TEST(TreeRules, FindSleepsAndSkipsInTests) {
  const std::string sleep = std::string(kHead) + "std::this_thread::sleep_" + "for(1s);\n";
  expect_finding({file("tests/a.inc", sleep)}, 2, "condition");
  EXPECT_TRUE(check_tree({file("server/a.inc", sleep)}).empty());
  EXPECT_TRUE(check_tree({file("tests/support/a.inc", sleep)}).empty());
  expect_finding({file("tests/a.inc", std::string(kHead) + "GTEST_" + "SKIP();\n")}, 2, "runs");
  expect_finding({file("tests/a.inc", std::string(kHead) + "TEST(A, DISABLED" + "_B) {}\n")}, 2,
                 "runs");
}

TEST(TreeRules, FindPathsOfOneMachine) {
  expect_finding({file("docs/a.md", std::string("see /ro") + "ot/x\n")}, 1, "one machine");
}

TEST(TreeRules, FindWrongModes) {
  SourceFile script = file("tools/run", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n");
  expect_finding({script}, 1, "not executable");
  script.executable = true;
  EXPECT_TRUE(check_tree({script}).empty());
  SourceFile text = file("docs/a.md", "text\n");
  text.executable = true;
  expect_finding({text}, 1, "no script");
}

TEST(TreeRules, FindFilesThatNothingBuilds) {
  const SourceFile list = file("tests/CMakeLists.txt",
                               "# SPDX-License-Identifier: Apache-2.0\n"
                               "add_executable(a unit/a.cc)\n");
  EXPECT_TRUE(check_tree({list, file("tests/unit/a.cc", kHead)}).empty());
  expect_finding({list, file("tests/unit/b.cc", kHead)}, 1, "no CMakeLists.txt names");
  expect_finding({list, file("b.cc", kHead)}, 1, "no CMakeLists.txt names");
}

TEST(TreeRules, FindDeadLinks) {
  const SourceFile target = file("docs/b.md", "text\n");
  EXPECT_TRUE(
      check_tree({target, file("docs/a.md", "[b](b.md#part) [up](../docs/) [w](https://x)")})
          .empty());
  expect_finding({target, file("docs/a.md", "ok\n[c](c.md)\n")}, 2, "link to nothing: c.md");
}

}  // namespace
}  // namespace rota::tidy
