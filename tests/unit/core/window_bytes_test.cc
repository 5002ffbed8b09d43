// SPDX-License-Identifier: Apache-2.0
//
// The windows of all queues together are bounded in bytes, and nothing is lost by that.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "support/engine_harness.h"

namespace rota::testing {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr std::size_t kPayload = 4'000;
constexpr std::size_t kEntry = kPayload + kKiB;  // no more than this

using Keys = std::vector<core::JobKey>;

core::EngineOptions bounded(std::size_t window_bytes) {
  core::EngineOptions options;
  options.window_bytes = window_bytes;
  return options;
}

std::string name_of(int i) { return "q" + std::to_string(i); }

Keys add_jobs(EngineHarness& h, const std::string& queue, int count) {
  auto one = job(queue);
  one.payload.assign(kPayload, 'x');
  Keys keys;
  const auto reply = h.expect<core::EnqueueReply>(
      enqueue(std::vector<core::JobRequest>(static_cast<std::size_t>(count), one)));
  for (const auto& item : reply.items) keys.push_back(std::get<core::EnqueuedJob>(item).key);
  return keys;
}

void pause(EngineHarness& h, const std::string& queue) { h.call(core::PauseQueue{queue, "later"}); }

// All that wait, in order and none twice.
void expect_in_order(EngineHarness& h, const std::string& queue, const Keys& keys) {
  for (std::size_t taken = 0; taken < keys.size();) {
    const auto reply = h.lease(lease({queue}, 2));
    ASSERT_FALSE(reply.jobs.empty()) << queue << ": lost after " << taken;
    for (const auto& granted : reply.jobs) {
      ASSERT_LT(taken, keys.size());
      ASSERT_EQ(granted.key, keys[taken++]) << queue;
    }
  }
  EXPECT_TRUE(h.nothing_to_lease(queue));
}

TEST(WindowBytes, HoldOverManyQueuesWithShortBacklogs) {
  constexpr std::size_t kBound = 16 * kKiB * kKiB;
  constexpr int kQueues = 1'800;
  EngineHarness h(bounded(kBound));
  h.set_checks(false);
  for (int i = 0; i < kQueues; ++i) h.queue(name_of(i));
  std::map<int, Keys> keys;
  std::size_t most = 0;
  for (int i = 0; i < kQueues; ++i) {
    keys[i] = add_jobs(h, name_of(i), 3);
    most = std::max<std::size_t>(most, h.engine().stats().window_bytes);
  }
  ASSERT_GT(kQueues * 3 * kPayload, kBound + kBound / 4);
  EXPECT_LE(most, kBound);
  EXPECT_GT(most, kBound / 2) << "what there is room for is kept";
  for (int i = 0; i < kQueues; i += 7) expect_in_order(h, name_of(i), keys[i]);
}

TEST(WindowBytes, QueuesThatNobodyAsksGiveWayWhole) {
  EngineHarness h(bounded(20 * kEntry));
  h.queue("idle");
  h.queue("asked");
  const Keys idle = add_jobs(h, "idle", 5);
  pause(h, "asked");
  const auto call = h.send(poll({"asked"}));
  h.settle();
  Keys asked = add_jobs(h, "asked", 14);
  ASSERT_EQ(h.engine().stats().window_rows, 19U);
  for (const auto& key : add_jobs(h, "asked", 6)) asked.push_back(key);
  EXPECT_EQ(h.engine().stats().window_rows, 20U) << "the idle one shrinks to nothing, no other";

  h.call(core::ResumeQueue{"asked"});
  EXPECT_EQ(h.take_as<core::LeaseReply>(call).jobs.at(0).key, asked[0]);
  asked.erase(asked.begin());
  expect_in_order(h, "idle", idle);
  expect_in_order(h, "asked", asked);
}

// A queue that was asked once is idle again when its poll has left.
TEST(WindowBytes, AQueueIsIdleAgainAfterItsPoll) {
  EngineHarness h(bounded(20 * kEntry));
  h.queue("a");
  h.queue("b");
  pause(h, "a");
  h.send(poll({"a"}, 1'000));
  h.settle();
  const Keys a = add_jobs(h, "a", 12);
  h.advance(1'000);
  ASSERT_EQ(h.engine().stats().parked_polls, 0U);
  pause(h, "b");
  h.send(poll({"b"}));
  h.settle();
  add_jobs(h, "b", 20);
  EXPECT_EQ(h.engine().stats().window_rows, 20U);
  h.call(core::ResumeQueue{"a"});
  expect_in_order(h, "a", a);
}

TEST(WindowBytes, QueuesThatAreAskedShareTheRoomAndKeepTheirHeads) {
  constexpr std::size_t kBound = 60 * kEntry;
  constexpr int kQueues = 30;
  EngineHarness h(bounded(kBound));
  std::map<int, Keys> keys;
  std::map<int, core::CallId> calls;
  for (int i = 0; i < kQueues; ++i) {
    h.queue(name_of(i));
    pause(h, name_of(i));
    calls[i] = h.send(poll({name_of(i)}));
    h.settle();
    keys[i] = add_jobs(h, name_of(i), 10);
    EXPECT_LE(h.engine().stats().window_bytes, kBound);
  }
  EXPECT_GE(h.engine().stats().window_rows, 30U);
  // A head is there without a read.
  const std::size_t reads = h.reads_open();
  for (int i = 0; i < kQueues; ++i) {
    h.send(core::ResumeQueue{name_of(i)});
    h.seal();
    while (h.commit_in_flight()) h.step_store();
    const auto reply = h.take_as<core::LeaseReply>(calls[i]);
    ASSERT_EQ(reply.jobs.size(), 1U);
    EXPECT_EQ(reply.jobs[0].key, keys[i][0]);
  }
  EXPECT_EQ(reads, 0U);
  h.settle();
  for (int i = 0; i < kQueues; ++i) {
    keys[i].erase(keys[i].begin());
    expect_in_order(h, name_of(i), keys[i]);
  }
}

// More heads than there is room for: they are all that is over it.
TEST(WindowBytes, HeadsAreKeptEvenWhenTheyAreTooMany) {
  constexpr int kQueues = 40;
  EngineHarness h(bounded(10 * kEntry));
  std::map<int, Keys> keys;
  for (int i = 0; i < kQueues; ++i) {
    h.queue(name_of(i));
    pause(h, name_of(i));
    h.send(poll({name_of(i)}));
    h.settle();
    keys[i] = add_jobs(h, name_of(i), 4);
  }
  EXPECT_EQ(h.engine().stats().window_rows, static_cast<std::uint64_t>(kQueues));
  // With the room used up a queue works off its jobs all the same.
  h.queue("late");
  const Keys late = add_jobs(h, "late", 6);
  expect_in_order(h, "late", late);
  for (int i = 0; i < kQueues; ++i) {
    const auto call = h.send(core::ResumeQueue{name_of(i)});
    h.settle();
    h.take(call);
    keys[i].erase(keys[i].begin());  // to the parked call
    expect_in_order(h, name_of(i), keys[i]);
  }
}

// What is deleted is on no list any more.
TEST(WindowBytes, DeletedQueuesAreForgotten) {
  EngineHarness h(bounded(4 * kEntry));
  for (int i = 0; i < 6; ++i) {
    h.queue(name_of(i));
    add_jobs(h, name_of(i), 1);
    if (i % 2 == 0) h.finish(h.take_job(name_of(i)), succeeded());
    if (i % 2 == 0) h.call(core::DeleteQueue{name_of(i)});
  }
  h.queue("last");
  const Keys keys = add_jobs(h, "last", 10);
  EXPECT_LE(h.engine().stats().window_bytes, 4 * kEntry);
  expect_in_order(h, "last", keys);
}

}  // namespace
}  // namespace rota::testing
