// SPDX-License-Identifier: Apache-2.0
#include "rota/worker_view.h"

#include <gtest/gtest.h>

namespace rota::cli {
namespace {

const View kView = {.now_ms = 1'796'000'000'000};

v1::Worker worker(int parked, int leases, std::int64_t silent_ms) {
  v1::Worker worker;
  worker.mutable_info()->set_worker_id("w-7f");
  worker.mutable_info()->set_concurrency(4);
  worker.set_parked_count(parked);
  worker.set_lease_count(leases);
  put_time(kView.now_ms - 60'000, worker.mutable_first_seen_time());
  put_time(kView.now_ms - silent_ms, worker.mutable_last_seen_time());
  return worker;
}

TEST(WorkerView, AWorkerThatWasKilledDoesNotLookLikeAnIdleOne) {
  EXPECT_EQ(worker_state_text(worker(1, 0, 19'000), kView), "asking") << "a long poll is silent";
  EXPECT_EQ(worker_state_text(worker(0, 4, 9'000), kView), "working");
  EXPECT_EQ(worker_state_text(worker(0, 0, 19'000), kView), "gone");
  EXPECT_EQ(worker_state_text(worker(0, 0, 6'000), kView), "not asking") << "told to wait";
  EXPECT_EQ(worker_state_text(worker(0, 0, 40), kView), "not asking") << "between two calls";
}

TEST(WorkerView, CellsTellWhenItWasSeenLast) {
  const auto cells = worker_cells(worker(0, 1, 9'000), kView);
  EXPECT_EQ(cells.size(), worker_header().size());
  EXPECT_EQ(cells[3], "1/4");
  EXPECT_EQ(cells[5], "9 s ago");
  EXPECT_EQ(cells[6], "1 min ago");
  EXPECT_EQ(worker_cells({}, kView)[5], "-") << "absent";
}

}  // namespace
}  // namespace rota::cli
