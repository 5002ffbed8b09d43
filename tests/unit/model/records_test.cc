// SPDX-License-Identifier: Apache-2.0
//
// Every record: what is written is read back, and damage never is.
#include "model/records.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>

#include "base/limits.h"
#include "model/bytes.h"
#include "model/queue.h"
#include "model/scheduler.h"

namespace rota::model {
namespace {

// Encoding twice gives the same bytes, decoding and encoding again too; every cut and every
// flipped bit is refused.
template <class T>
T survives(const T& value) {
  const std::string bytes = encode(value);
  EXPECT_EQ(encode(value), bytes);
  T back;
  EXPECT_TRUE(decode(bytes, &back));
  EXPECT_EQ(encode(back), bytes);
  T untouched;
  const std::string empty = encode(untouched);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string bad = bytes;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    EXPECT_FALSE(decode(bad, &untouched)) << "bit of byte " << i;
    EXPECT_FALSE(decode(std::string_view(bytes).substr(0, i), &untouched)) << "cut at " << i;
  }
  EXPECT_EQ(encode(untouched), empty) << "a refused decode changed its target";
  return back;
}

RetryPolicy some_policy() {
  RetryPolicy p;
  p.max_attempts = 9;
  p.first_ms = 250;
  p.factor = 1.5;
  p.cap_ms = 9'000;
  p.jitter = 0.25;
  p.delays_ms = {1, 2, 3};
  p.give_up_after_ms = 99'000;
  return p;
}

Attempt some_attempt(std::uint32_t n) {
  Attempt a;
  a.number = n;
  a.token = 1'000 + n;
  a.worker_id = "w";
  a.session_id = "s";
  a.granted_ms = 5;
  a.granted_seq = 6;
  a.ended_ms = 7;
  a.ended_seq = 8;
  a.outcome = AttemptOutcome::kFailed;
  a.by_finish = true;
  a.failure = {"T", "message", "detail"};
  a.release_reason = "R";
  a.log_tail = "tail";
  a.result_truncated = n % 2 == 0;
  return a;
}

TEST(Records, PlainBodyIsSmall) {
  JobBody b;
  b.kind = "invoice";
  b.content_type = "application/json";
  b.created_ms = 1'796'040'000'000;
  b.created_seq = 77;
  b.principal = "local";
  b.payload = "{}";
  b.payload_bytes = 2;
  EXPECT_EQ(survives(b).payload, "{}");
  EXPECT_LT(encode(b).size(), 64U);
}

TEST(Records, FullBody) {
  JobBody b;
  b.kind = "k";
  b.payload_bytes = 10'000;
  b.payload_apart = true;
  b.labels = {{"a", "1"}, {"b", std::string("\0x", 2)}};
  b.key_scope = "scope";
  b.business_key = "key";
  b.payload_hash = std::string(32, '\x7f');
  b.attempt_timeout_ms = kNoTimeout;
  b.retry = some_policy();
  b.run_at_ms = 5;
  b.start_deadline_ms = 6;
  b.scheduler_id = "s";
  b.generation = 7;
  b.nominal_ms = {1, -2, 3};
  b.business_date = "2026-11-29";
  const JobBody back = survives(b);
  EXPECT_EQ(back.labels, b.labels);
  EXPECT_EQ(back.attempt_timeout_ms, kNoTimeout);
  EXPECT_EQ(back.retry, b.retry);
  EXPECT_EQ(back.nominal_ms, b.nominal_ms);
  EXPECT_TRUE(back.payload_apart);
}

TEST(Records, Side) {
  Side s;
  s.claim = Claim::kBlocked;
  s.due_ms = 5;
  s.retry_wait = true;
  s.blocker = {1, "who"};
  s.waiting_seq = 9;
  s.priority = 200;
  s.priority_changed = true;
  s.run_at_ms = 0;
  s.start_deadline_ms = 12;
  s.attempts = 3;
  s.attempts_used = 2;
  s.releases = 1;
  s.handlerless = 4;
  s.redrives = 5;
  s.last_token = 1ULL << 52U;
  s.first_granted_ms = 10;
  s.ended_ms = 11;
  s.dead_reason = "R";
  s.cancel_requested = true;
  s.cancel_reason = "why";
  s.remember(some_attempt(1));
  s.remember(some_attempt(2));
  const Side back = survives(s);
  EXPECT_EQ(back.run_at_ms, 0);
  EXPECT_EQ(back.history.size(), 2U);
  EXPECT_TRUE(back.history[1].result_truncated);
}

TEST(Records, SideKeepsTheLastAttempts) {
  Side s;
  for (std::uint32_t n = 1; n <= 50; ++n) s.remember(some_attempt(n));
  EXPECT_EQ(s.history.size(), static_cast<std::size_t>(base::limits::kAttemptHistoryMax));
  EXPECT_EQ(s.history.front().number, 31U);
  EXPECT_EQ(s.history.back().number, 50U);
}

TEST(Records, FinalRecordHoldsWhatBodySideAndEndSay) {
  JobBody body;
  body.kind = "k";
  body.content_type = "text/plain";
  body.labels = {{"a", "b"}};
  body.key_scope = "scope";
  body.business_key = "key";
  body.scheduler_id = "nightly";
  body.generation = 9;
  body.nominal_ms = {4};
  body.business_date = "2026-11-29";
  body.created_ms = 77;
  body.principal = "p";
  Side side;
  side.attempts = 4;
  side.attempts_used = 2;
  side.redrives = 1;
  side.cancel_requested = true;
  side.history.push_back(some_attempt(1));
  const std::string result(300, 'x');
  JobEnd end{.state = JobState::kSucceeded, .priority = 3, .ended_ms = 80, .ended_seq = 5};
  end.reason = "r";
  end.result = result;

  FinalRecord f;
  ASSERT_TRUE(decode(encode_final(body, side, end), &f));
  EXPECT_EQ(f.state, JobState::kSucceeded);
  EXPECT_EQ(f.kind, body.kind);
  EXPECT_EQ(f.content_type, body.content_type);
  EXPECT_EQ(f.labels, body.labels);
  EXPECT_EQ(f.key_scope, body.key_scope);
  EXPECT_EQ(f.business_key, body.business_key);
  EXPECT_EQ(f.priority, 3);
  EXPECT_EQ(f.scheduler_id, body.scheduler_id);
  EXPECT_EQ(f.generation, body.generation);
  EXPECT_EQ(f.nominal_ms, body.nominal_ms);
  EXPECT_EQ(f.business_date, body.business_date);
  EXPECT_EQ(f.created_ms, 77);
  EXPECT_EQ(f.ended_ms, 80);
  EXPECT_EQ(f.ended_seq, 5U);
  EXPECT_EQ(f.attempts, 4U);
  EXPECT_EQ(f.attempts_used, 2U);
  EXPECT_EQ(f.redrives, 1U);
  EXPECT_TRUE(f.cancel_requested);
  EXPECT_EQ(f.reason, "r");
  EXPECT_EQ(f.result, result);
  EXPECT_EQ(f.principal, "p");
  ASSERT_EQ(f.history.size(), 1U);
}

TEST(Records, FinalRecordOfALiveStateIsRefused) {
  FinalRecord f;
  EXPECT_FALSE(decode(encode_final({}, {}, {.state = JobState::kReady}), &f));
}

TEST(Records, PointerIsToldFromABody) {
  JobBody body;
  body.kind = "k";
  Pointer p;
  p.first_priority = 100;
  p.side = encode(Side{});
  p.body = encode(body);
  const std::string bytes = encode(p);
  EXPECT_TRUE(is_pointer(bytes));
  EXPECT_FALSE(is_pointer(encode(body)));
  EXPECT_FALSE(is_pointer(""));
  Pointer back;
  ASSERT_TRUE(decode(bytes, &back));
  EXPECT_EQ(back.first_priority, 100);
  EXPECT_EQ(back.body, p.body);
  EXPECT_FALSE(decode(encode(body), &back));
  EXPECT_FALSE(decode(bytes, &body));
}

TEST(Records, QueueAndCounters) {
  Queue q;
  q.number = 7;
  q.name_space = "default";
  q.name = "a/b";
  q.settings.concurrency_limit = 3;
  q.settings.max_waiting = 1ULL << 40U;
  q.settings.retry = some_policy();
  q.settings.attempt_timeout_ms = kNoTimeout;
  q.settings.retention.ledger_ms = kForever;
  q.paused = true;
  q.pause_note = "n";
  EXPECT_EQ(survives(q).settings, q.settings);
  survives(Queue{});

  QueueCounters c;
  c.created = 10;
  c.removed = 2;
  c.of(JobState::kReady) = 5;
  c.of(JobState::kDead) = 3;
  c.next_seq = 11;
  c.levels[200] = {2, 5};
  c.levels[100] = {3, 1};
  c.swept_ms[5] = 99;
  EXPECT_EQ(survives(c), c);
  EXPECT_TRUE(c.conserved());
  ++c.created;
  EXPECT_FALSE(c.conserved());
}

TEST(Records, SmallOnes) {
  EngineMeta m;
  m.next_token = kMaxToken;
  m.timers_swept_ms = -4;
  m.deletions_held_ms = 77;
  survives(m);
  Grant g;
  g.session_id = "s";
  g.request_hash = std::string(16, '\xff');
  g.entries = {{{1, 100, 2}, 3, 4, kPermitQueue},
               {{1, 0, 9}, 1, 5, kPermitQueue, 60'000},
               {{1, 0, 10}, 1, 6, kPermitQueue, kNoTimeout}};
  const Grant same = survives(g);
  ASSERT_EQ(same.entries.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(same.entries[i].attempt_timeout_ms, g.entries[i].attempt_timeout_ms);
  }
  LedgerEntry l;
  l.state = LedgerState::kDone;
  l.job = {1, 2, 3};
  l.result = "r";
  l.expires_ms = kForever;
  EXPECT_EQ(survives(l).expires_ms, kForever);
  RequestRecord r;
  r.body_hash = "h";
  r.answer = std::string("\0\1", 2);
  survives(r);
  Operation o;
  o.number = 3;
  o.cursor = "c";
  o.cancelled = true;
  survives(o);
}

// As a server wrote it before the hold on deletions was stored.
TEST(Records, EngineMetaOfFormat1) {
  Writer w(1);
  w.varint(kMaxToken);
  w.varint(3);
  w.varint(4);
  for (const std::int64_t ms : {1'795'953'600'000L, 5L, 6L, 7L}) w.svarint(ms);
  EngineMeta m;
  m.deletions_held_ms = 9;
  ASSERT_TRUE(decode(w.seal(), &m));
  EXPECT_EQ(m.next_token, kMaxToken);
  EXPECT_EQ(m.now_ms, 1'795'953'600'000);
  EXPECT_EQ(m.requests_swept_ms, 7);
  EXPECT_EQ(m.deletions_held_ms, 0);
  EXPECT_EQ(m.index_exact_from_seq, kIndexNeverExact);
}

// As a server wrote it before a deleted job left the retention index.
TEST(Records, EngineMetaOfFormat2) {
  Writer w(2);
  w.varint(kMaxToken);
  w.varint(3);
  w.varint(4);
  for (const std::int64_t ms : {1'795'953'600'000L, 5L, 6L, 7L, 8L}) w.svarint(ms);
  EngineMeta m;
  ASSERT_TRUE(decode(w.seal(), &m));
  EXPECT_EQ(m.deletions_held_ms, 8);
  EXPECT_EQ(m.index_exact_from_seq, kIndexNeverExact);
}

// As a server stored it before attempt timeouts stood with the grant.
TEST(Records, GrantOfFormat1) {
  static constexpr std::string_view kStored =
      "0102733109776f726b65722d7331056c6f63616c1031bfc6b1fd53dfee186dc56357918207e0d4038098e9f2c468"
      "0402000000019b0000000000000001010101000000019b0000000000000002010201fcadc405";
  std::string bytes;
  for (std::size_t i = 0; i < kStored.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(std::string(kStored.substr(i, 2)), nullptr, 16));
  }
  Grant g;
  ASSERT_TRUE(decode(bytes, &g));
  EXPECT_EQ(g.session_id, "s1");
  EXPECT_EQ(g.worker_id, "worker-s1");
  EXPECT_EQ(g.principal, "local");
  EXPECT_EQ(g.request_hash.size(), 16U);
  EXPECT_EQ(g.ttl_ms, 30'000);
  EXPECT_EQ(g.granted_ms, 1'795'953'600'000);
  EXPECT_EQ(g.granted_seq, 4U);
  ASSERT_EQ(g.entries.size(), 2U);
  EXPECT_EQ(g.entries[1].job, (JobKey{1, 100, 2}));
  EXPECT_EQ(g.entries[1].token, 2U);
  EXPECT_FALSE(g.entries[1].attempt_timeout_ms) << "not known";
}

Attempt talkative(std::uint32_t number, std::size_t detail, std::size_t log, std::size_t message) {
  Attempt a;
  a.number = number;
  a.token = number;
  a.worker_id = "w";
  a.by_finish = true;
  a.failure = {"ERROR", std::string(message, 'm'), std::string(detail, 'd')};
  a.log_tail.assign(log, 'l');
  return a;
}

TEST(SideHistory, KeepsTheLastAttemptsWholeAndTheTextsBounded) {
  namespace limits = base::limits;
  Side side;
  for (std::uint32_t i = 1; i <= 25; ++i) {
    side.remember(talkative(i, limits::kFailureDetailBytesMax, limits::kLogTailBytesMax,
                            limits::kFailureMessageBytesMax));
    const Attempt& last = side.history.back();
    ASSERT_EQ(last.failure.detail.size(), 16'384U);
    ASSERT_EQ(last.log_tail.size(), 8'192U);
    ASSERT_EQ(last.failure.message.size(), 4'096U);
    ASSERT_LE(encode(side).size(), 64 * 1024 + 4'096U);
  }
  ASSERT_EQ(side.history.size(), 20U);
  EXPECT_EQ(side.history.front().number, 6U);
  EXPECT_EQ(side.history.front().failure.type, "ERROR") << "what says how it ended stays";
  EXPECT_TRUE(side.history.front().by_finish);
  EXPECT_TRUE(side.history.front().failure.message.empty());
  // Messages are shorter and go last: more attempts have one than have a detail.
  const auto have = [&](auto text) {
    return std::count_if(side.history.begin(), side.history.end(),
                         [&](const Attempt& a) { return !text(a).empty(); });
  };
  const auto details = have([](const Attempt& a) { return a.failure.detail; });
  EXPECT_EQ(details, have([](const Attempt& a) { return a.log_tail; }));
  EXPECT_GT(have([](const Attempt& a) { return a.failure.message; }), details);
  survives(side);
}

TEST(SideHistory, LosesNothingWithinTheBound) {
  Side side;
  for (std::uint32_t i = 1; i <= 20; ++i) side.remember(talkative(i, 1'000, 1'000, 1'000));
  for (const Attempt& a : side.history) {
    EXPECT_EQ(a.failure.detail.size() + a.log_tail.size() + a.failure.message.size(), 3'000U);
  }
  side.remember(talkative(21, 16'000, 0, 0));
  EXPECT_TRUE(side.history[0].failure.detail.empty());
  EXPECT_EQ(side.history[0].failure.message.size(), 1'000U) << "not yet needed";
  EXPECT_EQ(side.history[18].failure.detail.size(), 1'000U);
}

TEST(Records, Scheduler) {
  Scheduler s;
  s.name_space = "default";
  s.id = "nightly";
  s.generation = 5;
  s.revision = -3;
  s.settings.spec.cron = "0 3 * * *";
  s.settings.spec.time_zone = "Europe/Berlin";
  s.settings.spec.start_ms = 1;
  s.settings.spec.business_day_offset = -1;
  s.settings.overlap = Overlap::kWaitOne;
  s.settings.catch_up = {CatchUp::kAll, 5, 6};
  s.settings.job.queue = "q";
  s.settings.job.retry = some_policy();
  s.settings.job.labels = {{"x", "y"}};
  s.settings.owner = "team";
  EXPECT_EQ(survives(s).settings, s.settings);
  SchedulerState t;
  t.cursor_ms = 9;
  t.unfinished = 2;
  t.waiting = {1, 2, 3};
  survives(t);
  RunRecord r;
  r.generation = 1;
  r.first_nominal_ms = 2;
  r.last_nominal_ms = 3;
  r.count = 100'000;
  r.count_is_lower_bound = true;
  r.outcome = RunOutcome::kMissed;
  r.reason = "PAUSED";
  survives(r);
}

// With a checksum that is right: nothing that encode() does not write is read as something near it.
TEST(Records, ValuesOutsideTheirTypeAreRefused) {
  const auto changed = [](std::string bytes, std::size_t at, char value) {
    bytes[at] = value;
    Writer w;
    w.raw(std::string_view(bytes).substr(0, bytes.size() - 4));
    return w.seal();
  };
  LedgerEntry ledger;
  EXPECT_TRUE(decode(changed(encode(ledger), 1, 2), &ledger));
  EXPECT_FALSE(decode(changed(encode(ledger), 1, 3), &ledger)) << "a state of later versions";
  Side side;
  EXPECT_FALSE(decode(changed(encode(side), 1, 5), &side)) << "a claim that does not exist";
  EXPECT_FALSE(decode(changed(encode(side), 3, 32), &side)) << "a flag that does not exist";
  JobBody body;
  EXPECT_FALSE(decode(changed(encode(body), 1, 1), &body)) << "labels are said to follow";
  Operation operation;
  EXPECT_FALSE(decode(changed(encode(operation), 2, 2), &operation)) << "a kind unknown here";
  EngineMeta meta;
  meta.next_queue = 1;
  Writer w(2);
  w.varint(1);
  w.varint(std::uint64_t{UINT32_MAX} + 2);  // would be 1 again
  w.varint(1);
  for (int i = 0; i < 5; ++i) w.svarint(0);
  EXPECT_FALSE(decode(w.seal(), &meta));
}

TEST(Records, MapsOutOfOrderAreRefused) {
  const auto body = [](std::initializer_list<const char*> labels) {
    Writer w(1);
    w.varint(1);  // labels
    w.str("k");
    w.str("t");
    w.svarint(1);
    w.varint(1);
    w.str("p");
    w.varint(labels.size());
    for (const char* label : labels) {
      w.str(label);
      w.str("v");
    }
    w.varint(0);
    w.str("");
    return w.seal();
  };
  JobBody read;
  EXPECT_TRUE(decode(body({"a", "b"}), &read));
  EXPECT_EQ(read.labels.size(), 2U);
  EXPECT_FALSE(decode(body({"b", "a"}), &read));
  EXPECT_FALSE(decode(body({"a", "a"}), &read));
}

TEST(Records, Lists) {
  std::vector<JobKey> jobs = {{1, 2, 3}, {4, 5, 6}};
  std::vector<JobKey> jobs_back;
  ASSERT_TRUE(decode_job_keys(encode_job_keys(jobs), &jobs_back));
  EXPECT_EQ(jobs_back, jobs);
  std::vector<std::string> strings = {"", "a", std::string("\0", 1)};
  std::vector<std::string> back;
  ASSERT_TRUE(decode_strings(encode_strings(strings), &back));
  EXPECT_EQ(back, strings);
  EXPECT_FALSE(decode_strings(encode_job_keys(jobs) + "x", &back));
}

}  // namespace
}  // namespace rota::model
