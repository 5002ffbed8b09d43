// SPDX-License-Identifier: Apache-2.0
#include "runtime/event_ring.h"

#include <gtest/gtest.h>

namespace rota::runtime {
namespace {

std::vector<core::JobEvent> of_commit(core::CommitSeq seq, int count) {
  std::vector<core::JobEvent> events(static_cast<std::size_t>(count));
  for (core::JobEvent& event : events) event.seq = seq;
  return events;
}

TEST(EventRing, GoesOnFromTheCommitThatWasSeen) {
  EventRing ring;
  ring.publish(of_commit(1, 2));
  ring.publish(of_commit(3, 1));
  const EventRing::Page all = ring.after(0, 100);
  EXPECT_EQ(all.events.size(), 3U);
  EXPECT_EQ(all.last, 3U);
  EXPECT_FALSE(all.gap);
  EXPECT_EQ(ring.after(1, 100).events.size(), 1U);
  EXPECT_EQ(ring.after(3, 100).events.size(), 0U);
  EXPECT_EQ(ring.after(3, 100).last, 3U);
}

TEST(EventRing, ACommitIsNeverCutInTwo) {
  EventRing ring;
  ring.publish(of_commit(1, 5));
  ring.publish(of_commit(2, 5));
  const EventRing::Page page = ring.after(0, 3);
  EXPECT_EQ(page.events.size(), 5U);
  EXPECT_EQ(page.last, 1U);
}

TEST(EventRing, AReaderThatFellBehindIsTold) {
  EventRing ring(4);
  ring.publish(of_commit(1, 3));
  ring.publish(of_commit(2, 3));
  EXPECT_TRUE(ring.after(0, 100).gap);
  EXPECT_EQ(ring.after(0, 100).last, 2U);
  EXPECT_FALSE(ring.after(1, 100).gap);
  EXPECT_EQ(ring.after(1, 100).events.size(), 3U);
}

}  // namespace
}  // namespace rota::runtime
