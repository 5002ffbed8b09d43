// SPDX-License-Identifier: Apache-2.0
//
// Stored rows that cannot be decoded: the engine stops with the name of the row, and nothing of the
// turn that met it is committed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/damage.h"
#include "model/job_id.h"
#include "support/engine_harness.h"

namespace rota::testing {
namespace {

using core::Keyspace;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Runs turns until one of them says that a row is damaged.
std::string damage_met(EngineHarness& h) {
  for (int i = 0; i < 20; ++i) {
    const core::Turn turn = h.engine().seal(h.now());
    if (!turn.damage.empty()) {
      EXPECT_EQ(turn.batch, nullptr);
      EXPECT_TRUE(turn.replies.empty());
      EXPECT_TRUE(turn.events.empty());
      return turn.damage;
    }
    for (const core::ReadIssue& issue : turn.reads) {
      core::ReadDone done{issue.id, {}};
      std::string detail;
      EXPECT_EQ(h.store().snapshot_read(issue.spec, &done.result, &detail), core::ReadError::kNone);
      h.engine().apply(std::move(done), h.now());
    }
  }
  return {};
}

TEST(Damage, ABodyMetByARefillEndsTheEngine) {
  core::EngineOptions options;
  options.window_rows = 2;
  EngineHarness h(options);
  h.queue("q");
  std::vector<core::JobKey> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(h.enqueue(job()).key);
  h.disk().damage(Keyspace::kJob, model::keys::job(jobs[3]), "damage");
  for (int i = 0; i < 4; ++i) h.send(poll({"q"}));
  const std::string text = damage_met(h);
  EXPECT_THAT(text, AllOf(HasSubstr("keyspace job"), HasSubstr(model::job_id(jobs[3])),
                          HasSubstr("cannot be decoded")));
  // It stays that way, whatever is asked of it.
  h.engine().apply(core::Command{.call = 77, .body = core::GetOperation{1}}, h.now());
  const core::Turn turn = h.engine().seal(h.now());
  EXPECT_EQ(turn.damage, text);
  EXPECT_TRUE(turn.replies.empty());
}

TEST(Damage, ASideRecordMetByACommandEndsTheEngine) {
  EngineHarness h;
  h.queue("q");
  auto later = job();
  later.run_at_ms = h.wall_ms() + 60'000;
  const auto key = h.enqueue(later).key;
  h.disk().damage(Keyspace::kSide, model::keys::job(key), "damage");
  h.send(core::CancelJob{key, ""});
  EXPECT_THAT(damage_met(h), AllOf(HasSubstr("keyspace side"), HasSubstr(model::job_id(key))));
}

TEST(Damage, ARowMetByADutyEndsTheEngine) {
  EngineHarness h;
  h.queue("q");
  auto later = job();
  later.run_at_ms = h.wall_ms() + 1'000;
  const auto key = h.enqueue(later).key;
  h.disk().damage(Keyspace::kJob, model::keys::job(key), "damage");
  h.move_clocks(1'000);
  EXPECT_THAT(damage_met(h), HasSubstr("keyspace job"));
}

// A timer that is passed over is a job that never becomes READY.
TEST(Damage, ATimersKeyMetByARefillEndsTheEngine) {
  EngineHarness h;
  h.queue("q");
  auto later = job();
  later.run_at_ms = h.wall_ms() + 1'000;
  const auto key = h.enqueue(later).key;
  std::string timer = model::keys::timer({later.run_at_ms, model::keys::TimerKind::kPromote, key});
  timer[8] = 9;  // no kind of timer
  h.disk().damage(Keyspace::kTimer, timer, "");
  h.crash();  // the next engine reads its first timers
  EXPECT_THAT(damage_met(h), AllOf(HasSubstr("keyspace timer"), HasSubstr("cannot be decoded")));
}

TEST(Damage, KeyIsShownInHexAndTheJobByItsId) {
  const core::JobKey key{7, 100, 42};
  const std::string text = core::damage_text(Keyspace::kPayload, model::keys::job(key));
  EXPECT_THAT(text, AllOf(HasSubstr("payload"), HasSubstr("0x000000079b000000000000002a"),
                          HasSubstr(model::job_id(key))));
  EXPECT_EQ(core::damage_text(Keyspace::kMeta, "ab"),
            "the row of keyspace meta with key 0x6162 cannot be decoded");
  EXPECT_EQ(core::missing_text(Keyspace::kMeta, "ab"),
            "the row of keyspace meta with key 0x6162 is missing");
}

}  // namespace
}  // namespace rota::testing
