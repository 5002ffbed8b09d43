// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker_board.h"

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

WorkerSeen worker(std::string session, std::vector<std::string> queues = {"q"}) {
  WorkerSeen seen;
  seen.info.worker_id = "w-" + session;
  seen.name_space = "default";
  seen.session_id = std::move(session);
  seen.queues = std::move(queues);
  return seen;
}

TEST(WorkerBoard, CountsLeaseCallsThatWait) {
  WorkerBoard board;
  board.lease_call_began(worker("a"), 100, 1);
  board.lease_call_began(worker("a"), 200, 2);
  auto page = board.page("default", "", "", 10, 2);
  ASSERT_EQ(page.size(), 1U);
  EXPECT_EQ(page[0].parked, 2U);
  EXPECT_EQ(page[0].first_seen_wall_ms, 100);
  EXPECT_EQ(page[0].last_seen_wall_ms, 200);
  board.lease_call_ended("a");
  board.lease_call_ended("a");
  board.lease_call_ended("a");
  EXPECT_EQ(board.page("default", "", "", 10, 2)[0].parked, 0U);
}

TEST(WorkerBoard, AHeartbeatKeepsASessionKnown) {
  WorkerBoard board(10, 1000);
  board.lease_call_began(worker("a"), 0, 0);
  board.lease_call_began(worker("b"), 0, 0);
  board.lease_call_ended("a");
  board.lease_call_ended("b");
  board.heard("a", 900, 900);
  board.heard("unknown", 900, 900);
  EXPECT_EQ(board.size(1500), 1U);
  board.forget_old(1500);
  const auto page = board.page("default", "", "", 10, 1500);
  ASSERT_EQ(page.size(), 1U);
  EXPECT_EQ(page[0].session_id, "a");
}

TEST(WorkerBoard, PagesBySessionAndQueue) {
  WorkerBoard board;
  board.lease_call_began(worker("a", {"q1"}), 0, 0);
  board.lease_call_began(worker("b", {"q2"}), 0, 0);
  board.lease_call_began(worker("c", {"q1", "q2"}), 0, 0);
  const auto all = board.page("default", "", "a", 1, 0);
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].session_id, "b");
  const auto asking = board.page("default", "q1", "", 10, 0);
  ASSERT_EQ(asking.size(), 2U);
  EXPECT_EQ(asking[1].session_id, "c");
  EXPECT_TRUE(board.page("other", "", "", 10, 0).empty());
}

TEST(WorkerBoard, BoundedByForgettingTheQuietest) {
  WorkerBoard board(2);
  board.lease_call_began(worker("a"), 0, 3);
  board.lease_call_began(worker("b"), 0, 1);
  board.lease_call_began(worker("c"), 0, 2);
  const auto page = board.page("default", "", "", 10, 3);
  ASSERT_EQ(page.size(), 2U);
  EXPECT_EQ(page[0].session_id, "a");
  EXPECT_EQ(page[1].session_id, "c");
}

}  // namespace
}  // namespace rota::runtime
