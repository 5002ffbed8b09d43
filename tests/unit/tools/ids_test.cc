// SPDX-License-Identifier: Apache-2.0
#include "rota/ids.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace rota::cli {
namespace {

// What `-` between two arguments becomes when standard input holds `text`.
Result<JobIds> read(const std::string& text) {
  int ends[2];
  EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
  EXPECT_EQ(write(ends[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  close(ends[1]);
  auto ids = expand_ids({"first", "-", "last"}, ends[0]);
  close(ends[0]);
  return ids;
}

TEST(Ids, LinesAreIdsWithoutTheBlanksAroundThem) {
  const auto ids = read("  0g7k9\n\t0g7p4 \r\n\n   \n0g7m2");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->all, (std::vector<std::string>{"first", "0g7k9", "0g7p4", "0g7m2", "last"}));
}

TEST(Ids, BlanksWithinAnIdStay) {
  const auto ids = read(" a b \n");
  ASSERT_TRUE(ids);
  EXPECT_EQ(ids->all.at(1), "a b");
}

TEST(Ids, ALineThatIsNoIdOfAnyServerRefusesTheWholeInput) {
  const auto ids = read("0g7k9\n" + std::string(300, 'x') + "\n0g7m2\n");
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message, "line 2 is longer than 256 bytes, which no id is");
}

TEST(Ids, AnInputWithoutAnEndIsNotReadForEver) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  const auto ids = expand_ids({"-"}, zeros);
  close(zeros);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().field, "-");
}

TEST(Ids, AnInputThatCannotBeReadIsAnError) {
  const int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  const auto ids = expand_ids({"-"}, folder);
  close(folder);
  ASSERT_FALSE(ids);
  EXPECT_EQ(ids.error().message, "standard input: Is a directory");
}

TEST(Ids, TheAnswerIsAListForTwoArgumentsAndForStandardInput) {
  EXPECT_FALSE(expand_ids({"0g7k9"})->many);
  EXPECT_TRUE(expand_ids({"0g7k9", "0g7p4"})->many);
  // However little standard input had: who wrote the script does not know how much it will be.
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(nothing, 0);
  EXPECT_TRUE(expand_ids({"-"}, nothing)->many);
  const auto one = expand_ids({"-", "0g7k9"}, nothing);
  close(nothing);
  EXPECT_TRUE(one->many);
  EXPECT_EQ(one->all.size(), 1U);
}

TEST(Ids, AnErrorOfOneOfSeveralNamesItOnce) {
  Error error;
  error.message = "no such job";
  EXPECT_EQ(with_id(error, "0g7k9").message, "no such job (0g7k9)");
  EXPECT_EQ(with_id(with_id(error, "0g7k9"), "0g7k9").message, "no such job (0g7k9)");
  EXPECT_EQ(with_id(error, "\xff").message, "no such job") << "shown in quotes where it is refused";
}

}  // namespace
}  // namespace rota::cli
