// SPDX-License-Identifier: Apache-2.0
#include "bench/board.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "bench/failure.h"
#include "bench/jobs.h"

namespace rota::bench {
namespace {

class BenchBoardTest : public testing::Test {
 protected:
  BenchBoardTest() {
    std::string path = testing::TempDir() + "/rota-board-XXXXXX";
    if (mkdtemp(path.data()) == nullptr) ADD_FAILURE() << "cannot make a folder";
    folder_ = path;
  }
  ~BenchBoardTest() override { std::filesystem::remove_all(folder_); }
  std::string file() const { return folder_ + "/board"; }

 private:
  std::string folder_;
};

// Two mappings of one file are what two processes have.
TEST_F(BenchBoardTest, TheOtherSideSeesWhatIsSaid) {
  Board bench(file(), 1'000);
  Board worker(file());
  EXPECT_FALSE(bench.wait_ready(0));
  worker.say_ready();
  EXPECT_TRUE(bench.wait_ready(0));
  EXPECT_FALSE(bench.wait_ready(0)) << "each ready counts once";

  bench.set_target(2);
  bench.go(1);
  worker.wait_go();
  worker.handler_succeeds(0);
  EXPECT_FALSE(bench.wait_target(0));
  worker.handler_succeeds(999);
  EXPECT_TRUE(bench.wait_target(0));
  EXPECT_EQ(bench.finished(), 2u);
  bench.stop(1);
  worker.wait_stop();
  worker.starts(3).record(10);
  EXPECT_EQ(bench.starts(3).count(), 1u);
  worker.slot(7).ended_ns = 5;
  EXPECT_EQ(bench.slot(7).ended_ns, 5);
}

TEST_F(BenchBoardTest, AJobHasEffectOnceAndOnlyIfItExists) {
  Board board(file(), 65);
  board.handler_succeeds(64);
  board.handler_succeeds(63);
  EXPECT_EQ(board.doubled(), 0u);
  board.handler_succeeds(64);
  EXPECT_EQ(board.doubled(), 1u);
  board.handler_succeeds(65);
  EXPECT_EQ(board.unknown(), 1u);
  EXPECT_EQ(board.finished(), 2u) << "neither of the two counts as work done";
}

TEST_F(BenchBoardTest, TheMostThatRanAtOnceStays) {
  Board board(file(), 1);
  board.handler_begins();
  board.handler_ends();
  EXPECT_EQ(board.most_running(), 1u);
  board.handler_begins();
  board.handler_begins();
  board.handler_ends();
  board.handler_ends();
  EXPECT_EQ(board.most_running(), 2u);
}

TEST_F(BenchBoardTest, WhatIsNoBoardIsRefused) {
  EXPECT_THROW(Board(file() + "-missing"), Failed);
  std::ofstream(file()) << "short";
  EXPECT_THROW(Board board(file()), Failed);
  EXPECT_THROW(Board(file(), 10), Failed) << "a file that is there is not overwritten";
}

TEST(BenchJobs, APayloadTellsItsMarkAgain) {
  const PayloadMaker maker(1);
  const std::string payload =
      maker.make({.number = 0xfedc'ba98'7654'3210, .sent_ns = 123'456'789, .histogram = 63});
  EXPECT_EQ(payload.size(), kPayloadBytes);
  const auto mark = read_mark(payload);
  ASSERT_TRUE(mark.has_value());
  EXPECT_EQ(mark->number, 0xfedc'ba98'7654'3210);
  EXPECT_EQ(mark->sent_ns, 123'456'789);
  EXPECT_EQ(mark->histogram, 63);
}

TEST(BenchJobs, PayloadsFollowTheSeedAndDifferByNumber) {
  const std::string one = PayloadMaker(1).make({.number = 5});
  EXPECT_EQ(one, PayloadMaker(1).make({.number = 5}));
  EXPECT_NE(one.substr(100), PayloadMaker(2).make({.number = 5}).substr(100));
  EXPECT_NE(one.substr(100), PayloadMaker(1).make({.number = 6}).substr(100));
  EXPECT_EQ(one.substr(33, 67), PayloadMaker(2).make({.number = 6}).substr(33, 67));
}

TEST(BenchJobs, AForeignPayloadHasNoMark) {
  const std::string payload = PayloadMaker(1).make({.number = 5});
  EXPECT_FALSE(read_mark("").has_value());
  EXPECT_FALSE(read_mark(payload.substr(1)).has_value());
  std::string other = payload;
  other[3] = 'g';
  EXPECT_FALSE(read_mark(other).has_value());
  other = payload;
  other[32] = ' ';
  EXPECT_FALSE(read_mark(other).has_value());
}

}  // namespace
}  // namespace rota::bench
