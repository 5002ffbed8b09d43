// SPDX-License-Identifier: Apache-2.0
//
// What enters the engine can be written down, read back, and given to another engine, which then
// does the same to the last bit.
#include "core/command_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <random>
#include <type_traits>

#include "core/command_log_fields.h"
#include "model/bytes.h"
#include "support/random_run.h"

namespace rota::testing {
namespace {

using core::LogEntry;

// ---- every field set, every field compared

// Gives each field a value of its own that is not its default.
class Filler {
 public:
  void fill(bool& v) { v = !v; }
  void fill(core::Reason& v) { v = core::Reason::kQueueFull; }
  void fill(std::string& v) { v = "text " + std::to_string(++n_) + std::string("\0\xff", 2); }
  void fill(double& v) { v = static_cast<double>(++n_) + 0.25; }
  template <std::integral T>
  void fill(T& v) {
    v = static_cast<T>(++n_ % 200 + 1);
    if (std::signed_integral<T>) v = static_cast<T>(-v);
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void fill(Enum& v) { v = core::LastOf<Enum>::value; }
  template <class T>
  void fill(std::optional<T>& v) {
    fill(v.emplace());
  }
  template <class T>
  void fill(std::vector<T>& v) {
    v.resize(2);
    for (T& item : v) fill(item);
  }
  template <class Less>
  void fill(std::map<std::string, std::string, Less>& v) {
    for (int i = 0; i < 2; ++i) {
      std::string key;
      fill(key);
      fill(v[key]);
    }
  }
  void fill(core::CommandBody& v) { fill(v.emplace<core::GetOperation>()); }
  void fill(core::input::Drain&) {}
  template <core::HasFields T>
  void fill(T& v) {
    std::apply([&](auto&... field) { (fill(field), ...); }, core::fields(v));
  }

 private:
  std::uint64_t n_ = 0;
};

struct Same {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a == b;
  }
  template <class T>
  requires core::HasFields<T> || std::same_as<T, core::input::Drain>
  bool operator()(const std::optional<T>& a, const std::optional<T>& b) const {
    return a.has_value() == b.has_value() && (!a || (*this)(*a, *b));
  }
  template <core::HasFields T>
  bool operator()(const std::vector<T>& a, const std::vector<T>& b) const {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(*this)(a[i], b[i])) return false;
    }
    return true;
  }
  template <class... Kinds>
  bool operator()(const std::variant<Kinds...>& a, const std::variant<Kinds...>& b) const {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& kind) { return (*this)(kind, std::get<std::decay_t<decltype(kind)>>(b)); },
        a);
  }
  bool operator()(const core::input::Drain&, const core::input::Drain&) const { return true; }
  template <core::HasFields T>
  bool operator()(const T& a, const T& b) const {
    return all(core::fields(a), core::fields(b));
  }

 private:
  template <class Fields>
  bool all(const Fields& a, const Fields& b) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((*this)(std::get<I>(a), std::get<I>(b)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<Fields>>{});
  }
};

// One entry of each kind of input, then one of each kind of command, with every field set.
template <class... Kinds>
void add_inputs(std::type_identity<std::variant<Kinds...>>, std::vector<LogEntry>* out) {
  const auto add = [&](auto kind) {
    Filler().fill(kind);
    out->push_back({std::move(kind)});
  };
  (add(Kinds{}), ...);
}
template <class... Kinds>
void add_commands(std::type_identity<std::variant<Kinds...>>, std::vector<LogEntry>* out) {
  const auto add = [&](auto kind) {
    core::input::Apply apply;
    Filler().fill(apply);
    Filler().fill(kind);
    apply.command.body = std::move(kind);
    out->push_back({std::move(apply)});
  };
  (add(Kinds{}), ...);
}
std::vector<LogEntry> one_of_each() {
  std::vector<LogEntry> out;
  add_inputs(std::type_identity<core::EngineInput>{}, &out);
  add_commands(std::type_identity<core::CommandBody>{}, &out);
  return out;
}

TEST(CommandLogFormat, EveryFieldOfEveryKindComesBack) {
  const std::vector<LogEntry> entries = one_of_each();
  ASSERT_EQ(entries.size(),
            std::variant_size_v<core::EngineInput> + std::variant_size_v<core::CommandBody>);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    SCOPED_TRACE("entry " + std::to_string(i));
    const std::string bytes = core::encode(entries[i]);
    LogEntry back;
    ASSERT_TRUE(core::decode(bytes, &back));
    EXPECT_TRUE(Same()(entries[i], back));
    EXPECT_EQ(core::encode(back), bytes);
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(Same()(entries[j], back)) << j;
  }
}

TEST(CommandLogFormat, DefaultsAndEmptyOnesComeBack) {
  core::EnqueueJobs enqueue;
  enqueue.jobs.emplace_back();
  const LogEntry entry{core::input::Apply{{7, "", "", enqueue}, {}}};
  LogEntry back;
  ASSERT_TRUE(core::decode(core::encode(entry), &back));
  EXPECT_TRUE(Same()(entry, back));
  const auto& job =
      std::get<core::EnqueueJobs>(std::get<core::input::Apply>(back.what).command.body).jobs.at(0);
  EXPECT_FALSE(job.retry || job.invalid || job.attempt_timeout_ms);
}

// By hand, for what one list of fields could get wrong in both directions alike.
TEST(CommandLogFormat, ValuesAtTheirLimits) {
  core::LeaseJobs lease;
  lease.queues = {"a", "", "b"};
  lease.max_jobs = UINT32_MAX;
  lease.max_bytes = SIZE_MAX;
  lease.wait_ms = INT64_MIN;
  lease.caller_deadline_mono_ms = INT64_MAX;
  LogEntry back;
  ASSERT_TRUE(core::decode(
      core::encode({core::input::Apply{{UINT64_MAX, "p", "n", lease}, {INT64_MIN, -1}}}), &back));
  const auto& apply = std::get<core::input::Apply>(back.what);
  EXPECT_EQ(apply.command.call, UINT64_MAX);
  EXPECT_EQ(apply.now.wall_ms, INT64_MIN);
  EXPECT_EQ(apply.now.mono_ms, -1);
  const auto& got = std::get<core::LeaseJobs>(apply.command.body);
  EXPECT_EQ(got.queues, lease.queues);
  EXPECT_EQ(got.max_jobs, UINT32_MAX);
  EXPECT_EQ(got.max_bytes, SIZE_MAX);
  EXPECT_EQ(got.wait_ms, INT64_MIN);
  EXPECT_EQ(got.lease_ttl_ms, 30'000);
  EXPECT_EQ(got.caller_deadline_mono_ms, INT64_MAX);

  core::SetQueue set;
  set.patch.concurrency_limit.emplace(std::nullopt);  // set to "unlimited", not "left as it is"
  ASSERT_TRUE(core::decode(core::encode({core::input::Apply{{1, "p", "n", set}, {}}}), &back));
  const auto& patch =
      std::get<core::SetQueue>(std::get<core::input::Apply>(back.what).command.body).patch;
  ASSERT_TRUE(patch.concurrency_limit.has_value());
  EXPECT_FALSE(patch.concurrency_limit->has_value());
  EXPECT_FALSE(patch.max_waiting.has_value());

  core::ReadDone read{9, {}};
  read.result.values = {std::nullopt, "", "v"};
  read.result.pages.push_back({{{"k", "w"}}, true, "next"});
  ASSERT_TRUE(core::decode(core::encode({core::input::Read{read, {}}}), &back));
  const auto& result = std::get<core::input::Read>(back.what).read.result;
  EXPECT_EQ(result.values, read.result.values);
  EXPECT_EQ(result.pages.at(0).rows, read.result.pages[0].rows);
  EXPECT_EQ(result.pages.at(0).next, "next");
}

// ---- what is not an entry

TEST(CommandLogFormat, WhatIsCutOffChangedOrLongerIsRefused) {
  for (const LogEntry& entry : one_of_each()) {
    const std::string bytes = core::encode(entry);
    LogEntry out{core::input::Stalled{77}};
    for (std::size_t n = 0; n < bytes.size(); ++n) {
      EXPECT_FALSE(core::decode(std::string_view(bytes).substr(0, n), &out)) << n;
    }
    for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
      std::string changed = bytes;
      changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << (bit % 8)));
      EXPECT_FALSE(core::decode(changed, &out)) << bit;
    }
    EXPECT_FALSE(core::decode(bytes + '\0', &out));
    // What was there is left alone.
    ASSERT_TRUE(std::holds_alternative<core::input::Stalled>(out.what));
    EXPECT_EQ(std::get<core::input::Stalled>(out.what).gap_ms, 77);
  }
}

std::string with_checksum(std::string_view body) {
  model::Writer w;
  w.raw(body);
  return w.seal();
}

TEST(CommandLogFormat, AnotherFormatIsRefused) {
  const std::string bytes = core::encode({core::input::Seal{{1, 2}}});
  std::string body = bytes.substr(0, bytes.size() - 4);
  for (const int format : {core::kLogFormat - 1, core::kLogFormat + 1}) {
    body[0] = static_cast<char>(format);
    LogEntry out;
    EXPECT_FALSE(core::decode(with_checksum(body), &out)) << format;
  }
}

// Behind a checksum that is right: the fields must guard themselves.
TEST(CommandLogFormat, DamageBehindARightChecksumIsSurvived) {
  std::mt19937_64 rng(1);
  std::size_t read = 0;
  std::size_t refused = 0;
  for (const LogEntry& entry : one_of_each()) {
    const std::string bytes = core::encode(entry);
    const std::string_view body = std::string_view(bytes).substr(0, bytes.size() - 4);
    for (std::size_t n = 0; n < body.size(); ++n) {
      LogEntry out;
      EXPECT_FALSE(core::decode(with_checksum(body.substr(0, n)), &out)) << n;
    }
    LogEntry longer;
    EXPECT_FALSE(core::decode(with_checksum(std::string(body) + 'x'), &longer));
    for (int i = 0; i < 400; ++i) {
      std::string changed(body);
      for (std::uint64_t k = 0; k <= rng() % 3; ++k) {
        changed[rng() % changed.size()] = static_cast<char>(rng());
      }
      LogEntry out;
      if (!core::decode(with_checksum(changed), &out)) {
        ++refused;
        continue;
      }
      ++read;  // another entry, and a whole one
      LogEntry again;
      ASSERT_TRUE(core::decode(core::encode(out), &again));
      EXPECT_EQ(core::encode(again), core::encode(out));
    }
  }
  EXPECT_GT(read, 0U);
  EXPECT_GT(refused, 0U);
}

TEST(CommandLogFormat, CountsAndNumbersBeyondTheirBoundsAreRefused) {
  const auto refused = [](const auto& write) {
    model::Writer w(core::kLogFormat);
    write(w);
    LogEntry out;
    return !core::decode(w.seal(), &out);
  };
  EXPECT_TRUE(refused([](model::Writer&) {}));
  EXPECT_TRUE(refused([](model::Writer& w) { w.u8(0); }));
  EXPECT_TRUE(refused([](model::Writer& w) { w.u8(200); }));
  EXPECT_TRUE(refused([](model::Writer& w) {  // a read of 2^60 values
    w.u8(core::NumberOf<core::input::Read>::value);
    w.varint(1);
    w.varint(1);
    w.varint(1ULL << 60U);
  }));
  EXPECT_TRUE(refused([](model::Writer& w) {  // neither false nor true
    w.u8(core::NumberOf<core::input::HoldTicks>::value);
    w.u8(2);
  }));
  EXPECT_FALSE(refused([](model::Writer& w) {
    w.u8(core::NumberOf<core::input::HoldTicks>::value);
    w.u8(1);
  }));
  model::Writer newer(core::kLogFormat + 1);
  newer.u8(core::NumberOf<core::input::Drain>::value);
  LogEntry out;
  EXPECT_FALSE(core::decode(newer.seal(), &out));
}

// ---- replay

// One engine, from its load to its crash or the end.
struct Life {
  std::vector<std::string> log;  // encoded
  std::vector<core::Turn> turns;
  core::CommitSeq loaded_at = 0;  // the newest batch on the disk it was loaded from
};

class Recorder final : public EngineWatcher {
 public:
  void opened(const core::ShardStore& store, core::Now now) override {
    lives.emplace_back().loaded_at = store.last_committed();
    early_.clear();
    entered(core::input::Load{now});
  }
  void entered(core::EngineInput what) override {
    ++kinds[what.index()];
    lives.back().log.push_back(core::encode({std::move(what)}));
  }
  void taken(const core::Reply& reply) override { early_.push_back(reply); }
  void sealed(const core::Turn& turn) override {
    core::Turn whole = turn;
    for (core::Reply& reply : early_) whole.replies.push_back(std::move(reply));
    early_.clear();
    lives.back().turns.push_back(std::move(whole));
  }

  std::vector<Life> lives;
  std::map<std::size_t, std::uint64_t> kinds;

 private:
  std::vector<core::Reply> early_;
};

std::string text(const core::JobKey& key) {
  return std::to_string(key.queue) + "/" + std::to_string(key.priority) + "/" +
         std::to_string(key.seq);
}

std::vector<std::string> replies_of(const core::Turn& turn) {
  std::vector<std::string> out;
  for (const core::Reply& reply : turn.replies) {
    std::string line = std::to_string(reply.call) + " " + std::to_string(reply.immediate) + " " +
                       describe(reply.body);
    if (const auto* lease = std::get_if<core::LeaseReply>(&reply.body)) {
      for (const core::GrantedJob& job : lease->jobs) {
        line += " " + text(job.key) + "#" + std::to_string(job.token) + " " +
                std::to_string(job.attempt) + " " + std::to_string(job.time_left_ms) + " " +
                model::encode(*job.body);
      }
    } else if (const auto* error = std::get_if<core::Error>(&reply.body)) {
      line += base::to_string(*error);
    }
    out.push_back(std::move(line));
  }
  std::sort(out.begin(), out.end());  // what was taken early stands elsewhere
  return out;
}

std::vector<std::string> events_of(const core::Turn& turn) {
  std::vector<std::string> out;
  for (const core::JobEvent& e : turn.events) {
    std::string line = std::to_string(static_cast<int>(e.kind)) + " " + text(e.key) + " " +
                       std::string(model::name_of(e.state));
    for (const std::uint64_t n : {e.seq, e.token, std::uint64_t{e.attempt}}) {
      line += " " + std::to_string(n);
    }
    line += " " + std::to_string(e.at_ms);
    if (e.holder) line += " " + e.holder->worker_id + " " + e.holder->session_id;
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<std::string> reads_of(const core::Turn& turn) {
  std::vector<std::string> out;
  for (const core::ReadIssue& issue : turn.reads) {
    std::string line = std::to_string(issue.id);
    const auto key = [&](core::Keyspace keyspace, const std::string& bytes) {
      line += " " + std::to_string(static_cast<int>(keyspace)) + ":" + bytes;
    };
    for (const core::GetSpec& get : issue.spec.gets) key(get.keyspace, get.key);
    for (const core::ScanSpec& scan : issue.spec.scans) {
      key(scan.keyspace, scan.begin);
      line += ".." + scan.end + " " + std::to_string(scan.max_rows) + " " +
              std::to_string(scan.max_bytes);
    }
    out.push_back(std::move(line));
  }
  return out;
}

// What differs between two turns, in one word; empty: nothing.
std::string difference(const core::Turn& a, const core::Turn& b) {
  if (a.damage != b.damage) return "damage";
  if (a.seq != b.seq) return "seq";
  if ((a.batch == nullptr) != (b.batch == nullptr)) return "whether there is a batch";
  if (a.batch && a.batch->changes() != b.batch->changes()) return "batch";
  if (a.batch && a.batch->bytes() != b.batch->bytes()) return "bytes of the batch";
  if (a.replies.size() != b.replies.size()) return "number of replies";
  if (replies_of(a) != replies_of(b)) return "replies";
  if (events_of(a) != events_of(b)) return "events";
  if (reads_of(a) != reads_of(b)) return "reads";
  if (a.more != b.more || a.wake_mono_ms != b.wake_mono_ms || a.wake_wall_ms != b.wake_wall_ms) {
    return "when to go on";
  }
  return {};
}
std::string difference(const std::vector<core::Turn>& a, const std::vector<core::Turn>& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const std::string what = difference(a[i], b[i]);
    if (!what.empty()) return "turn " + std::to_string(i) + ": " + what;
  }
  return a.size() == b.size() ? "" : "number of turns";
}

std::vector<LogEntry> decode_all(const Life& life) {
  std::vector<LogEntry> log(life.log.size());
  for (std::size_t i = 0; i < log.size(); ++i) {
    EXPECT_TRUE(core::decode(life.log[i], &log[i])) << "entry " << i;
  }
  return log;
}

base::Result<std::vector<core::Turn>> replayed(const std::vector<LogEntry>& log,
                                               const core::ShardStore& store,
                                               const core::EngineOptions& options) {
  const NoZones zones;
  core::Engine engine(options, zones);
  return core::replay(log, store, engine);
}
std::string difference(const std::vector<core::Turn>& a,
                       const base::Result<std::vector<core::Turn>>& b) {
  return b ? difference(a, *b) : base::to_string(b.error());
}

std::vector<std::pair<std::string, std::string>> rows_of(const core::ShardStore& store) {
  std::vector<std::pair<std::string, std::string>> out;
  std::string detail;
  for (int i = 0; i < model::kKeyspaceCount; ++i) {
    store.load(
        static_cast<core::Keyspace>(i),
        [&](std::string_view key, std::string_view value) {
          out.emplace_back(std::to_string(i) + ":" + std::string(key), value);
          return true;
        },
        &detail);
  }
  return out;
}

// Everything but crashes happens within a life; each life is replayed on its own engine, over a
// disk that has nothing but the batches of the replays before it.
void record_and_replay(std::uint64_t seed) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  SCOPED_TRACE("seed " + std::to_string(seed));
  Recorder recorder;
  RandomRun run(seed, &recorder);
  EngineHarness& h = run.harness();
  h.set_checks(false);
  run.go_on(1'000);
  h.hold_ticks(true);
  h.stalled(3'000);
  run.go_on(150);
  h.hold_ticks(false);
  run.go_on(600);
  h.drain();
  run.go_on(100);
  h.settle();
  ASSERT_FALSE(::testing::Test::HasFailure());

  auto disk = store::MemoryDisk::create();
  core::InlineExecutor executor;
  for (std::size_t i = 0; i < recorder.lives.size(); ++i) {
    SCOPED_TRACE("life " + std::to_string(i));
    const Life& life = recorder.lives[i];
    auto store = disk->open(executor);
    ASSERT_EQ(store->last_committed(), life.loaded_at);
    const std::vector<LogEntry> log = decode_all(life);
    const auto turns = replayed(log, *store, h.options());
    ASSERT_EQ(difference(life.turns, turns), "");
    // What survived of it is what the next life began with.
    const core::CommitSeq kept = i + 1 < recorder.lives.size() ? recorder.lives[i + 1].loaded_at
                                                               : h.store().last_committed();
    for (const core::Turn& turn : *turns) {
      if (!turn.batch || turn.seq > kept) continue;
      store->commit(turn.batch, turn.seq, [](core::CommitSeq, core::Outcome o, std::string detail) {
        ASSERT_EQ(o, core::Outcome::kCommitted) << detail;
      });
    }
  }
  auto store = disk->open(executor);
  EXPECT_EQ(rows_of(*store), rows_of(h.store()));
  EXPECT_FALSE(rows_of(*store).empty());
  for (std::size_t kind = 0; kind < std::variant_size_v<core::EngineInput>; ++kind) {
    EXPECT_GT(recorder.kinds[kind], 0U) << "no input of kind " << kind << " was recorded";
  }
}

class CommandLogReplay : public ::testing::TestWithParam<std::uint64_t> {};
TEST_P(CommandLogReplay, DoesTheSameAgain) { record_and_replay(GetParam()); }
INSTANTIATE_TEST_SUITE_P(Seeds, CommandLogReplay, ::testing::Range<std::uint64_t>(1, 17));

TEST(CommandLogReplaySeed, AnotherOneEachTime) {
  std::uint64_t seed = static_cast<std::uint64_t>(
      std::chrono::system_clock::now().time_since_epoch().count() % 1'000'000'000);
  if (const char* given = std::getenv("ROTA_TEST_SEED")) seed = std::strtoull(given, nullptr, 10);
  std::printf("ROTA_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  record_and_replay(seed);
}

// The comparison can tell, and each of these is an input: without it the turns are others.
TEST(CommandLogReplayInputs, ALogThatLacksSomethingGivesOtherTurns) {
  Recorder recorder;
  EngineHarness h({.window_rows = 2, .page_rows = 2});
  h.watch(&recorder);
  h.queue("q");
  for (int i = 0; i < 12; ++i) h.enqueue(job("q"));
  h.expect<core::SchedulerReply>(scheduler("s", 1'000));
  h.queue("empty");
  h.drop_call(h.send(poll({"empty"}, 5'000)));
  for (int i = 0; i < 6; ++i) h.finish(h.take_job("q"), failed());
  // Granted by a commit that takes a while: the lease counts from its end.
  h.send(lease({"q"}));
  for (int i = 0; i < 20 && !h.commit_in_flight(); ++i) {
    while (h.step_store()) {
    }
    while (h.reads_ready() > 0) h.deliver_read(0);
    h.seal();
  }
  ASSERT_TRUE(h.commit_in_flight());
  h.move_clocks(2'000);
  h.settle();
  h.stalled(4'000);
  h.hold_ticks(true);
  h.advance(3'000);
  h.hold_ticks(false);
  h.advance(60'000);
  h.drain();
  h.advance(60'000);
  ASSERT_EQ(recorder.lives.size(), 1U);

  const Life& life = recorder.lives[0];
  const std::vector<LogEntry> log = decode_all(life);
  auto disk = store::MemoryDisk::create();
  core::InlineExecutor executor;
  const auto store = disk->open(executor);
  ASSERT_EQ(difference(life.turns, replayed(log, *store, h.options())), "");

  const auto without = [&](const auto& lacks) {
    std::vector<LogEntry> rest;
    for (const LogEntry& entry : log) {
      if (!lacks(entry)) rest.push_back(entry);
    }
    EXPECT_LT(rest.size(), log.size());
    return difference(life.turns, replayed(rest, *store, h.options()));
  };
  const auto is = [](auto kind) {
    return [](const LogEntry& entry) { return std::holds_alternative<decltype(kind)>(entry.what); };
  };
  EXPECT_NE(without(is(core::input::Apply{})), "");
  EXPECT_NE(without(is(core::input::Read{})), "");
  EXPECT_NE(without(is(core::input::DropCall{})), "");
  EXPECT_NE(without(is(core::input::Committed{})), "");
  EXPECT_NE(without(is(core::input::Stalled{})), "");
  EXPECT_NE(without(is(core::input::HoldTicks{})), "");
  EXPECT_NE(without(is(core::input::Drain{})), "");
  EXPECT_NE(without(is(core::input::Seal{})), "");

  std::vector<LogEntry> later = log;
  for (LogEntry& entry : later) {
    if (auto* seal = std::get_if<core::input::Seal>(&entry.what)) seal->now.wall_ms += 3'600'000;
  }
  EXPECT_NE(difference(life.turns, replayed(later, *store, h.options())), "");
}

TEST(CommandLogReplayInputs, ALogIsOfOneEngineFromItsLoad) {
  auto disk = store::MemoryDisk::create();
  core::InlineExecutor executor;
  const auto store = disk->open(executor);
  const NoZones zones;
  const LogEntry load{core::input::Load{{kHarnessStartMs, 1}}};
  const LogEntry seal{core::input::Seal{{kHarnessStartMs, 1}}};
  const auto fault = [&](const std::vector<LogEntry>& log) {
    core::Engine engine({}, zones);
    auto turns = core::replay(log, *store, engine);
    return turns ? std::string() : turns.error().field;
  };
  EXPECT_EQ(fault({load, seal}), "");
  EXPECT_EQ(fault({}), "log[0]");
  EXPECT_EQ(fault({seal}), "log[0]");
  EXPECT_EQ(fault({load, seal, load}), "log[2]");
}

}  // namespace
}  // namespace rota::testing
