// SPDX-License-Identifier: Apache-2.0
//
// The contract of the store port, run against every implementation and every place where its work
// can run.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <tuple>

#include "conformance/held_executor.h"
#include "conformance/store_box.h"
#include "store/commit_executor.h"

namespace rota::testing {
namespace {

using core::Batch;
using core::CommitSeq;
using core::Keyspace;
using core::Outcome;
using core::ReadError;
using core::Row;
using core::ScanSpec;

std::string bytes(std::initializer_list<int> values) {
  std::string out;
  for (int v : values) out.push_back(static_cast<char>(v));
  return out;
}

ScanSpec range(Keyspace keyspace, std::string begin, std::string end) {
  ScanSpec spec;
  spec.keyspace = keyspace;
  spec.begin = std::move(begin);
  spec.end = std::move(end);
  return spec;
}

std::vector<std::string> keys(const std::vector<Row>& rows) {
  std::vector<std::string> out;
  for (const Row& row : rows) out.push_back(row.first);
  return out;
}

using MakeBox = std::unique_ptr<StoreBox> (*)();
enum class Place { kInline, kThread, kAdaptive };

struct Variant {
  const char* name;
  MakeBox make_box;
  Place place;
};

std::unique_ptr<core::Executor> make_executor(Place place) {
  switch (place) {
    case Place::kInline:
      return std::make_unique<core::InlineExecutor>();
    case Place::kThread:
      return std::make_unique<store::ThreadExecutor>();
    case Place::kAdaptive:
      break;
  }
  auto executor = std::make_unique<store::AdaptiveExecutor>();
  executor->set_prefer_inline(true);
  return executor;
}

class StoreConformance : public ::testing::TestWithParam<Variant> {
 protected:
  StoreConformance() : executor_(make_executor(GetParam().place)), box_(GetParam().make_box()) {
    reopen();
  }
  ~StoreConformance() override { crash(); }

  // As after kill -9: nothing is released in order.
  void crash() {
    drain();
    driver_.reset();
    store_.reset();
  }
  void reopen() {
    crash();
    store_ = box_->open(*executor_);
    ASSERT_NE(store_, nullptr);
    driver_.emplace(*store_);
  }
  void drain() {
    if (auto* thread = dynamic_cast<store::ThreadExecutor*>(executor_.get())) thread->drain();
  }
  Driver& drive() { return *driver_; }
  Outcome put(Keyspace keyspace, const std::string& key, const std::string& value) {
    return drive().commit([&](Batch& b) { b.put(keyspace, key, value); });
  }

  std::unique_ptr<core::Executor> executor_;
  std::unique_ptr<StoreBox> box_;
  std::unique_ptr<core::ShardStore> store_;
  std::optional<Driver> driver_;
};

TEST_P(StoreConformance, NewStoreIsEmptyAndHasIdentity) {
  EXPECT_EQ(store_->last_committed(), 0U);
  EXPECT_EQ(store_->epoch(), 1U);
  EXPECT_EQ(store_->incarnation(), 1U);
  for (int k = 0; k < model::kKeyspaceCount; ++k) {
    EXPECT_TRUE(drive().load(static_cast<Keyspace>(k)).empty()) << k;
  }
}

TEST_P(StoreConformance, CommittedIsVisibleAndNamed) {
  EXPECT_EQ(put(Keyspace::kJob, "a", "1"), Outcome::kCommitted);
  EXPECT_EQ(store_->last_committed(), 1U);
  core::ReadSpec spec;
  spec.gets = {{Keyspace::kJob, "a"}, {Keyspace::kJob, "b"}, {Keyspace::kSide, "a"}};
  const auto result = drive().read(spec);
  EXPECT_EQ(result.at, 1U);
  ASSERT_EQ(result.values.size(), 3U);
  EXPECT_EQ(result.values[0], "1");
  EXPECT_FALSE(result.values[1].has_value());
  EXPECT_FALSE(result.values[2].has_value());
}

TEST_P(StoreConformance, EmptyBatchIsABatch) {
  EXPECT_EQ(drive().commit([](Batch&) {}), Outcome::kCommitted);
  EXPECT_EQ(store_->last_committed(), 1U);
}

TEST_P(StoreConformance, LastCallForAKeyWins) {
  drive().commit([](Batch& b) {
    b.put(Keyspace::kJob, "k", "first");
    b.del(Keyspace::kJob, "k");
    b.put(Keyspace::kJob, "k", "last");
    b.put(Keyspace::kJob, "gone", "x");
    b.del(Keyspace::kJob, "gone");
    b.put(Keyspace::kJob, "never", "x");
    b.forget(Keyspace::kJob, "never");
  });
  EXPECT_EQ(drive().get(Keyspace::kJob, "k"), "last");
  EXPECT_EQ(drive().get(Keyspace::kJob, "gone"), std::nullopt);
  EXPECT_EQ(drive().get(Keyspace::kJob, "never"), std::nullopt);
  drive().commit([](Batch& b) { b.del(Keyspace::kJob, "k"); });
  EXPECT_EQ(drive().get(Keyspace::kJob, "k"), std::nullopt);
  put(Keyspace::kJob, "k", "again");
  EXPECT_EQ(drive().get(Keyspace::kJob, "k"), "again");
  reopen();
  EXPECT_EQ(drive().get(Keyspace::kJob, "k"), "again");
}

TEST_P(StoreConformance, DeletingWhatIsNotThereIsFine) {
  EXPECT_EQ(drive().commit([](Batch& b) { b.del(Keyspace::kTimer, "absent"); }),
            Outcome::kCommitted);
  EXPECT_TRUE(drive().load(Keyspace::kTimer).empty());
}

TEST_P(StoreConformance, KeysAreOrderedBytewise) {
  const std::vector<std::string> ordered = {"",
                                            bytes({0}),
                                            bytes({0, 0}),
                                            bytes({0, 0xff}),
                                            bytes({1}),
                                            "a",
                                            "aa",
                                            "b",
                                            bytes({0x7f, 0xff}),
                                            bytes({0x80}),
                                            bytes({0xff}),
                                            bytes({0xff, 0}),
                                            bytes({0xff, 0xff}),
                                            bytes({0xff, 0xff, 0xff})};
  drive().commit([&](Batch& b) {
    for (auto it = ordered.rbegin(); it != ordered.rend(); ++it) b.put(Keyspace::kLedger, *it, *it);
  });
  const std::string end(8, '\xff');
  EXPECT_EQ(keys(drive().scan(range(Keyspace::kLedger, "", end)).rows), ordered);
  EXPECT_EQ(keys(drive().load(Keyspace::kLedger)), ordered);
  EXPECT_EQ(drive().get(Keyspace::kLedger, ""), "");
  EXPECT_EQ(drive().get(Keyspace::kLedger, bytes({0xff, 0xff})), bytes({0xff, 0xff}));
}

TEST_P(StoreConformance, BoundsAreBeginInclusiveEndExclusive) {
  drive().commit([](Batch& b) {
    for (const char* key : {"a", "b", "c", "d"}) b.put(Keyspace::kRun, key, "v");
  });
  using Keys = std::vector<std::string>;
  EXPECT_EQ(keys(drive().scan(range(Keyspace::kRun, "b", "d")).rows), (Keys{"b", "c"}));
  EXPECT_EQ(keys(drive().scan(range(Keyspace::kRun, bytes({'b', 0}), "d")).rows), (Keys{"c"}));
  EXPECT_EQ(keys(drive().scan(range(Keyspace::kRun, "", bytes({'a', 0}))).rows), (Keys{"a"}));
  EXPECT_TRUE(drive().scan(range(Keyspace::kRun, "b", "b")).rows.empty());
  EXPECT_TRUE(drive().scan(range(Keyspace::kRun, "d", "b")).rows.empty());
  EXPECT_TRUE(drive().scan(range(Keyspace::kRun, "e", "z")).rows.empty());
}

TEST_P(StoreConformance, KeyspacesDoNotReachIntoEachOther) {
  const std::string last(4, '\xff');
  drive().commit([&](Batch& b) {
    for (int k = 0; k < model::kKeyspaceCount; ++k) {
      const auto keyspace = static_cast<Keyspace>(k);
      b.put(keyspace, "", "first " + std::to_string(k));
      b.put(keyspace, "same", std::to_string(k));
      b.put(keyspace, last, "last " + std::to_string(k));
    }
  });
  for (int k = 0; k < model::kKeyspaceCount; ++k) {
    const auto keyspace = static_cast<Keyspace>(k);
    const auto rows = drive().scan_all(range(keyspace, "", std::string(5, '\xff')));
    ASSERT_EQ(rows.size(), 3U) << k;
    EXPECT_EQ(rows[0].second, "first " + std::to_string(k));
    EXPECT_EQ(rows[2].second, "last " + std::to_string(k));
    EXPECT_EQ(drive().get(keyspace, "same"), std::to_string(k));
    EXPECT_EQ(drive().load(keyspace), rows);
  }
  drive().commit([](Batch& b) { b.del(Keyspace::kJob, "same"); });
  EXPECT_EQ(drive().get(Keyspace::kSide, "same"), "4");
  EXPECT_EQ(drive().get(Keyspace::kQueueState, "same"), "1");
}

TEST_P(StoreConformance, PagesEndAtRowsAndBytes) {
  drive().commit([](Batch& b) {
    for (int i = 0; i < 10; ++i) b.put(Keyspace::kJob, padded(i), std::string(92, 'v'));
  });
  ScanSpec spec = range(Keyspace::kJob, "", "z");
  spec.max_rows = 4;
  auto page = drive().scan(spec);
  ASSERT_EQ(page.rows.size(), 4U);
  EXPECT_TRUE(page.more);
  EXPECT_GT(page.next, page.rows.back().first);
  EXPECT_LE(page.next, padded(4));
  int pages = 0;
  EXPECT_EQ(drive().scan_all(spec, &pages).size(), 10U);
  EXPECT_EQ(pages, 3);

  spec.max_rows = 1000;
  spec.max_bytes = 250;  // a row is 100 bytes
  page = drive().scan(spec);
  EXPECT_EQ(page.rows.size(), 2U);
  EXPECT_TRUE(page.more);
  EXPECT_EQ(drive().scan_all(spec).size(), 10U);

  spec.max_bytes = 1;  // smaller than any row: one row a page, or nothing would ever move
  EXPECT_EQ(drive().scan(spec).rows.size(), 1U);
  EXPECT_EQ(drive().scan_all(spec).size(), 10U);

  spec.max_bytes = 1 << 20;
  page = drive().scan(spec);
  EXPECT_EQ(page.rows.size(), 10U);
  EXPECT_FALSE(page.more);
}

TEST_P(StoreConformance, ValuesFromNothingToFourMebibytes) {
  const std::string large(4U << 20, 'p');
  std::string mixed(300'000, '\0');
  for (std::size_t i = 0; i < mixed.size(); ++i) mixed[i] = static_cast<char>(i * 31);
  for (const Keyspace keyspace : {Keyspace::kPayload, Keyspace::kJob}) {
    drive().commit([&](Batch& b) {
      b.put(keyspace, "empty", "");
      b.put(keyspace, "large", large);
      b.put(keyspace, "mixed", mixed);
    });
  }
  reopen();
  for (const Keyspace keyspace : {Keyspace::kPayload, Keyspace::kJob}) {
    EXPECT_EQ(drive().get(keyspace, "empty"), "");
    EXPECT_TRUE(drive().get(keyspace, "large") == large);
    EXPECT_TRUE(drive().get(keyspace, "mixed") == mixed);
    EXPECT_EQ(drive().scan_all(range(keyspace, "", "z")).size(), 3U);
  }
}

TEST_P(StoreConformance, SeveralReadsShareOnePoint) {
  drive().commit([](Batch& b) {
    b.put(Keyspace::kJob, "a", "1");
    b.put(Keyspace::kSide, "a", "2");
  });
  core::ReadSpec spec;
  spec.gets = {{Keyspace::kSide, "a"}};
  spec.scans = {range(Keyspace::kJob, "", "z"), range(Keyspace::kGrant, "", "z")};
  const auto result = drive().read(spec);
  ASSERT_EQ(result.pages.size(), 2U);
  EXPECT_EQ(result.values[0], "2");
  EXPECT_EQ(result.pages[0].rows, (std::vector<Row>{{"a", "1"}}));
  EXPECT_TRUE(result.pages[1].rows.empty());
}

TEST_P(StoreConformance, CompletionsComeInOrder) {
  constexpr CommitSeq kBatches = 200;
  std::vector<CommitSeq> order;
  std::promise<void> last;
  for (CommitSeq seq = 1; seq <= kBatches; ++seq) {
    auto batch = std::make_shared<Batch>();
    batch->put(Keyspace::kJob, "k", std::to_string(seq));
    store_->commit(batch, seq, [&](CommitSeq done, Outcome outcome, std::string) {
      EXPECT_EQ(outcome, Outcome::kCommitted);
      order.push_back(done);
      if (done == kBatches) last.set_value();
    });
    store_->read({{{Keyspace::kJob, "k"}}, {}},
                 [seq](ReadError error, core::ReadResult result, std::string) {
                   EXPECT_EQ(error, ReadError::kNone);
                   EXPECT_EQ(result.at, seq);
                   EXPECT_EQ(result.values.at(0), std::to_string(seq));
                 });
  }
  last.get_future().get();
  ASSERT_EQ(order.size(), kBatches);
  for (CommitSeq seq = 1; seq <= kBatches; ++seq) EXPECT_EQ(order[seq - 1], seq);
  drain();
}

TEST_P(StoreConformance, SnapshotReadsSeeWholeBatchesWhileCommitsRun) {
  std::atomic<bool> stop{false};
  std::atomic<int> reads{0};
  std::promise<void> looked;
  std::thread reader([&] {
    CommitSeq newest = 0;
    while (!stop) {
      const CommitSeq before = store_->last_committed();
      core::ReadSpec spec;
      spec.gets = {{Keyspace::kJob, "x"}, {Keyspace::kPayload, "y"}};
      spec.scans = {range(Keyspace::kTimer, "", "z")};
      core::ReadResult result;
      std::string detail;
      ASSERT_EQ(store_->snapshot_read(spec, &result, &detail), ReadError::kNone) << detail;
      EXPECT_GE(result.at, before);
      EXPECT_GE(result.at, newest);
      newest = result.at;
      const auto expected =
          newest == 0 ? std::nullopt : std::optional<std::string>(std::to_string(newest));
      EXPECT_EQ(result.values[0], expected);
      EXPECT_EQ(result.values[1], expected);
      EXPECT_EQ(result.pages[0].rows.size(), newest);
      if (++reads == 20) looked.set_value();
    }
  });
  const auto enough = looked.get_future();
  for (int i = 1; i <= 300 || enough.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
       ++i) {
    if (i > 900) break;  // a page holds 1,000 rows
    drive().commit([i](Batch& b) {
      b.put(Keyspace::kJob, "x", std::to_string(i));
      b.put(Keyspace::kPayload, "y", std::to_string(i));
      b.put(Keyspace::kTimer, padded(i), "");
    });
  }
  enough.wait();
  stop = true;
  reader.join();
}

TEST_P(StoreConformance, PagingGoesOnWhileCommitsRun) {
  drive().commit([](Batch& b) {
    for (int i = 0; i < 1000; ++i) b.put(Keyspace::kJob, padded(i), "old");
  });
  ScanSpec spec = range(Keyspace::kJob, "", "z");
  spec.max_rows = 7;
  std::vector<std::string> seen;
  for (int n = 0;; ++n) {
    auto page = drive().scan(spec);
    for (const Row& row : page.rows) seen.push_back(row.first);
    if (!page.more) break;
    spec.begin = page.next;
    // Behind, within and ahead of the page; ahead only keys that do not exist yet.
    drive().commit([&](Batch& b) {
      b.del(Keyspace::kJob, padded(n));
      b.put(Keyspace::kJob, padded(999), "new");
      b.put(Keyspace::kJob, padded(2000 + n), "new");
    });
  }
  for (int i = 0; i < 1000; ++i) {
    EXPECT_TRUE(std::binary_search(seen.begin(), seen.end(), padded(i))) << i;
  }
  EXPECT_TRUE(std::is_sorted(seen.begin(), seen.end()));
}

TEST_P(StoreConformance, ScansGetThroughDeletedRowsInBoundedPages) {
  constexpr int kRows = 30'000;
  for (int begin = 0; begin < kRows; begin += 1000) {
    drive().commit([&](Batch& b) {
      for (int i = begin; i < begin + 1000; ++i) b.put(Keyspace::kJob, padded(i), "v");
    });
  }
  // What is left: one row in the middle, one at the end, and a sparse stretch.
  const auto keep = [](int i) {
    return i == 15'000 || i == kRows - 1 || (i > 20'000 && i % 9 == 0);
  };
  std::vector<std::string> left;
  for (int begin = 0; begin < kRows; begin += 1000) {
    drive().commit([&](Batch& b) {
      for (int i = begin; i < begin + 1000; ++i) {
        if (keep(i)) {
          left.push_back(padded(i));
        } else {
          b.del(Keyspace::kJob, padded(i));
        }
      }
    });
  }
  EXPECT_EQ(keys(drive().scan_all(range(Keyspace::kJob, "", "z"))), left);
  // At an older read point the same rows are there.
  ScanSpec spec = range(Keyspace::kJob, "", "z");
  std::vector<std::string> snapshot_keys;
  for (bool more = true; more;) {
    core::ReadSpec read;
    read.scans = {spec};
    core::ReadResult result;
    std::string detail;
    ASSERT_EQ(store_->snapshot_read(read, &result, &detail), ReadError::kNone) << detail;
    for (const Row& row : result.pages[0].rows) snapshot_keys.push_back(row.first);
    more = result.pages[0].more;
    if (more) {
      ASSERT_GT(result.pages[0].next, spec.begin);
      spec.begin = result.pages[0].next;
    }
  }
  EXPECT_EQ(snapshot_keys, left);
  EXPECT_LE(store_->stats().largest_scan_rows, 10'000U);
  EXPECT_EQ(keys(drive().load(Keyspace::kJob)), left);
}

TEST_P(StoreConformance, LoadStopsWhenTold) {
  drive().commit([](Batch& b) {
    for (int i = 0; i < 100; ++i) b.put(Keyspace::kGrant, padded(i), "v");
  });
  int rows = 0;
  std::string detail;
  EXPECT_EQ(store_->load(
                Keyspace::kGrant, [&](std::string_view, std::string_view) { return ++rows < 10; },
                &detail),
            ReadError::kNone);
  EXPECT_EQ(rows, 10);
}

TEST_P(StoreConformance, ReopenFindsWhatWasCommittedInANewEpoch) {
  core::Epoch epoch = store_->epoch();
  CommitSeq seq = 0;
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 5; ++i) {
      ++seq;
      EXPECT_EQ(put(Keyspace::kJob, padded(seq), std::to_string(seq)), Outcome::kCommitted);
    }
    if (round % 2 == 0) store_->close();
    reopen();
    EXPECT_GT(store_->epoch(), epoch);
    epoch = store_->epoch();
    EXPECT_EQ(store_->incarnation(), 1U);
    EXPECT_EQ(store_->last_committed(), seq);
    EXPECT_EQ(drive().load(Keyspace::kJob).size(), seq);
  }
}

TEST_P(StoreConformance, SecondOpenerIsRefusedWhileTheFirstIsThere) {
  EXPECT_EQ(box_->open(*executor_), nullptr);
  EXPECT_EQ(put(Keyspace::kJob, "a", "still works"), Outcome::kCommitted);
  store_->close();
  reopen();
  EXPECT_EQ(drive().get(Keyspace::kJob, "a"), "still works");
}

TEST_P(StoreConformance, UnknownOutcomePoisonsTheStore) {
  put(Keyspace::kJob, "a", "1");
  box_->break_next_commit(*store_);
  EXPECT_EQ(put(Keyspace::kJob, "b", "2"), Outcome::kUnknown);
  box_->repair();
  // Nothing gets better by itself: not the next commit, not a read.
  EXPECT_EQ(put(Keyspace::kJob, "c", "3"), Outcome::kUnknown);
  EXPECT_EQ(put(Keyspace::kJob, "d", "4"), Outcome::kUnknown);
  EXPECT_EQ(store_->last_committed(), 1U);
  core::ReadResult result;
  std::string detail;
  EXPECT_EQ(store_->snapshot_read({{{Keyspace::kJob, "a"}}, {}}, &result, &detail),
            ReadError::kFailed);
  EXPECT_TRUE(result.values.empty());
  EXPECT_FALSE(detail.empty());
  std::promise<ReadError> read;
  store_->read({{{Keyspace::kJob, "a"}}, {}},
               [&](ReadError error, core::ReadResult, std::string) { read.set_value(error); });
  EXPECT_EQ(read.get_future().get(), ReadError::kFailed);

  reopen();
  // The unknown one may be there; what came after it may not.
  EXPECT_GE(store_->last_committed(), 1U);
  EXPECT_LE(store_->last_committed(), 2U);
  EXPECT_EQ(drive().get(Keyspace::kJob, "b").has_value(), store_->last_committed() == 2);
  EXPECT_EQ(drive().get(Keyspace::kJob, "c"), std::nullopt);
  EXPECT_EQ(put(Keyspace::kJob, "e", "5"), Outcome::kCommitted);
}

TEST_P(StoreConformance, StatsCount) {
  put(Keyspace::kJob, "a", std::string(1000, 'v'));
  drive().scan(range(Keyspace::kJob, "", "z"));
  const auto stats = store_->stats();
  EXPECT_EQ(stats.commits, 1U);
  EXPECT_GE(stats.commit_bytes, 1000U);
  EXPECT_GE(stats.largest_scan_rows, 1U);
  EXPECT_EQ(store_->pressure(), core::Pressure::kOk);
}

TEST_P(StoreConformance, AHundredThousandRows) {
  constexpr int kRows = 100'000;
  for (int begin = 0; begin < kRows; begin += 2000) {
    ASSERT_EQ(drive().commit([&](Batch& b) {
      for (int i = begin; i < begin + 2000; ++i) {
        b.put(Keyspace::kJob, padded(i), "value of " + std::to_string(i) + std::string(150, '.'));
      }
    }),
              Outcome::kCommitted);
  }
  reopen();
  int next = 0;
  std::string detail;
  EXPECT_EQ(
      store_->load(
          Keyspace::kJob,
          [&](std::string_view key, std::string_view) { return key == padded(next++); }, &detail),
      ReadError::kNone);
  EXPECT_EQ(next, kRows);
  EXPECT_EQ(drive().scan_all(range(Keyspace::kJob, padded(99'000), "z")).size(), 1000U);
}

const Variant kVariants[] = {
    {"MemoryInline", memory_box, Place::kInline},
    {"MemoryThread", memory_box, Place::kThread},
    {"MemoryAdaptive", memory_box, Place::kAdaptive},
    {"RocksInline", rocks_box, Place::kInline},
    {"RocksThread", rocks_box, Place::kThread},
    {"RocksAdaptive", rocks_box, Place::kAdaptive},
};
std::string variant_name(const ::testing::TestParamInfo<Variant>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Stores, StoreConformance, ::testing::ValuesIn(kVariants), variant_name);

// What needs to hold pieces back, so that "submitted" and "completed" can be told apart.
class HeldConformance : public ::testing::TestWithParam<Variant> {
 protected:
  HeldConformance() : box_(GetParam().make_box()) { open(); }
  void open() {
    store_.reset();
    store_ = box_->open(executor_);
    ASSERT_NE(store_, nullptr);
  }
  void submit(CommitSeq seq) {
    auto batch = std::make_shared<Batch>();
    batch->put(Keyspace::kJob, padded(seq), "v");
    store_->commit(batch, seq, [this](CommitSeq done, Outcome outcome, std::string) {
      EXPECT_EQ(outcome, Outcome::kCommitted);
      completed_.push_back(done);
    });
  }
  void read(std::vector<std::pair<CommitSeq, std::size_t>>* answers) {
    store_->read({{}, {range(Keyspace::kJob, "", "z")}},
                 [answers](ReadError error, core::ReadResult result, std::string) {
                   EXPECT_EQ(error, ReadError::kNone);
                   answers->emplace_back(result.at, result.pages.at(0).rows.size());
                 });
  }

  HeldExecutor executor_;
  std::unique_ptr<StoreBox> box_;
  std::unique_ptr<core::ShardStore> store_;
  std::vector<CommitSeq> completed_;
};

TEST_P(HeldConformance, AReadSeesExactlyTheBatchesSubmittedBeforeIt) {
  std::vector<std::pair<CommitSeq, std::size_t>> answers;
  read(&answers);
  submit(1);
  read(&answers);
  submit(2);
  submit(3);
  read(&answers);
  submit(4);
  EXPECT_TRUE(answers.empty());
  executor_.run_all();
  const std::vector<std::pair<CommitSeq, std::size_t>> expected = {{0, 0}, {1, 1}, {3, 3}};
  EXPECT_EQ(answers, expected);
  EXPECT_EQ(completed_, (std::vector<CommitSeq>{1, 2, 3, 4}));
}

TEST_P(HeldConformance, NothingCompletesBeforeItIsDurable) {
  submit(1);
  submit(2);
  EXPECT_EQ(store_->last_committed(), 0U);
  executor_.run_one();
  EXPECT_EQ(store_->last_committed(), 1U);
  EXPECT_EQ(completed_, std::vector<CommitSeq>{1});
  executor_.drop_all();  // the crash: batch 2 never reached the disk
  open();
  EXPECT_EQ(store_->last_committed(), 1U);
  submit(2);
  executor_.run_all();
  EXPECT_EQ(store_->last_committed(), 2U);
}

TEST_P(HeldConformance, TheBatchIsSharedNotConsumed) {
  auto batch = std::make_shared<Batch>();
  batch->put(Keyspace::kJob, "a", "1");
  store_->commit(batch, 1, [](CommitSeq, Outcome, std::string) {});
  ASSERT_NE(batch->find(Keyspace::kJob, "a"), nullptr);
  executor_.run_all();
  ASSERT_NE(batch->find(Keyspace::kJob, "a"), nullptr);
  EXPECT_EQ(**batch->find(Keyspace::kJob, "a"), "1");
}

TEST_P(HeldConformance, WrongSequenceIsAProgrammingError) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto batch = std::make_shared<Batch>();
  const auto nothing = [](CommitSeq, Outcome, std::string) {};
  EXPECT_DEATH(store_->commit(batch, 2, nothing), "batch 2 after batch 0");
  EXPECT_DEATH(store_->commit(batch, 0, nothing), "batch 0 after batch 0");
  core::ReadSpec unbounded;
  unbounded.scans = {range(Keyspace::kJob, "", "")};
  core::ReadResult result;
  std::string detail;
  EXPECT_DEATH(store_->snapshot_read(unbounded, &result, &detail), "upper bound");
}

const Variant kHeldVariants[] = {{"Memory", memory_box, Place::kInline},
                                 {"Rocks", rocks_box, Place::kInline}};
INSTANTIATE_TEST_SUITE_P(Stores, HeldConformance, ::testing::ValuesIn(kHeldVariants), variant_name);

}  // namespace
}  // namespace rota::testing
