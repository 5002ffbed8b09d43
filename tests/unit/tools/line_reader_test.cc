// SPDX-License-Identifier: Apache-2.0
#include "rota/line_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace rota::cli {
namespace {

class Pipe {
 public:
  Pipe() {
    EXPECT_EQ(pipe2(ends_, O_CLOEXEC), 0);
    fcntl(ends_[1], F_SETPIPE_SZ, 1024 * 1024);
  }
  ~Pipe() {
    close(ends_[0]);
    close_writer();
  }
  void put(const std::string& text) {
    EXPECT_EQ(write(ends_[1], text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_writer() {
    if (ends_[1] >= 0) close(ends_[1]);
    ends_[1] = -1;
  }
  int reader() const { return ends_[0]; }

 private:
  int ends_[2] = {-1, -1};
};

using Got = LineReader::Got;

// The next that is not a piece of a line passed over.
Got next_of(LineReader& reader, std::string_view* line) {
  Got got = Got::kSkipping;
  while (got == Got::kSkipping) got = reader.next(line);
  return got;
}

TEST(LineReader, SplitsLines) {
  Pipe pipe;
  pipe.put("a\nbb\r\n\nlast");
  pipe.close_writer();
  LineReader reader(pipe.reader(), 100);
  std::vector<std::string> lines;
  std::string_view line;
  while (reader.next(&line) == Got::kLine) lines.emplace_back(line);
  EXPECT_EQ(lines, (std::vector<std::string>{"a", "bb", "", "last"}));
  EXPECT_EQ(reader.line_number(), 4);
  EXPECT_EQ(reader.next(&line), Got::kEnd);
}

TEST(LineReader, NeverWaits) {
  Pipe pipe;
  LineReader reader(pipe.reader(), 100);
  std::string_view line;
  EXPECT_EQ(reader.next(&line), Got::kNotYet);
  EXPECT_FALSE(reader.saw_bytes());
  pipe.put("ha");
  EXPECT_EQ(reader.next(&line), Got::kNotYet);
  EXPECT_TRUE(reader.saw_bytes());
  pipe.put("lf\nre");
  ASSERT_EQ(reader.next(&line), Got::kLine);
  EXPECT_EQ(line, "half");
  EXPECT_EQ(reader.next(&line), Got::kNotYet);
  pipe.close_writer();
  ASSERT_EQ(reader.next(&line), Got::kLine);
  EXPECT_EQ(line, "re");
  EXPECT_EQ(reader.next(&line), Got::kEnd);
}

TEST(LineReader, PassesOverLinesThatAreTooLong) {
  Pipe pipe;
  const std::string longer(600 * 1024, 'x');
  pipe.put("one\n" + longer + "\nthree\n" + std::string(11, 'y') + "\nfive\n");
  pipe.close_writer();
  LineReader reader(pipe.reader(), 10);
  std::string_view line;
  ASSERT_EQ(reader.next(&line), Got::kLine);
  ASSERT_EQ(reader.next(&line), Got::kTooLong);
  EXPECT_EQ(reader.line_number(), 2);
  ASSERT_EQ(next_of(reader, &line), Got::kLine);
  EXPECT_EQ(line, "three");
  EXPECT_EQ(reader.line_number(), 3);
  ASSERT_EQ(reader.next(&line), Got::kTooLong);
  EXPECT_EQ(reader.line_number(), 4);
  ASSERT_EQ(reader.next(&line), Got::kLine);
  EXPECT_EQ(line, "five");
  EXPECT_EQ(reader.next(&line), Got::kEnd);
}

TEST(LineReader, EachCallEndsOverALineThatNeverDoes) {
  const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(zeros, 0);
  LineReader reader(zeros, 10);
  std::string_view line;
  ASSERT_EQ(reader.next(&line), Got::kTooLong);
  ASSERT_EQ(reader.next(&line), Got::kSkipping);
  EXPECT_EQ(next_of(reader, &line), Got::kEndless);
  EXPECT_EQ(reader.next(&line), Got::kEndless);
  EXPECT_EQ(reader.line_number(), 1);
  close(zeros);
}

TEST(LineReader, ReportsADescriptorThatCannotBeRead) {
  const int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_GE(folder, 0);
  LineReader reader(folder, 10);
  std::string_view line;
  EXPECT_EQ(reader.next(&line), Got::kFault);
  close(folder);
}

}  // namespace
}  // namespace rota::cli
