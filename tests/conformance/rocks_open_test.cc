// SPDX-License-Identifier: Apache-2.0
//
// Opening the RocksDB store: creation, identity, format, refusals, and the error policy.
#include <gtest/gtest.h>
#include <rocksdb/convenience.h>
#include <rocksdb/db.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <thread>

#include "conformance/fault_file_system.h"
#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/acked_seq.h"
#include "store/rocks_key.h"
#include "store/rocks_open.h"
#include "store/rocks_options.h"
#include "store/store_record.h"

namespace rota::testing {
namespace {

namespace fs = std::filesystem;
using core::Keyspace;
using core::Outcome;
using store::Failure;
using store::FailureKind;
using store::OpenOptions;
using store::OpenResult;

class RocksOpenTest : public ::testing::Test {
 protected:
  RocksOpenTest() : data_(directory_ / "data") { options_.directory = data_; }

  OpenResult open() { return store::open_store(options_, executor_); }
  std::unique_ptr<core::ShardStore> open_ok() {
    auto result = open();
    if (result.failure) ADD_FAILURE() << result.failure->describe();
    return std::move(result.store);
  }
  Failure refused() {
    auto result = open();
    EXPECT_TRUE(result.failure) << "opened";
    EXPECT_EQ(result.store, nullptr);
    return result.failure.value_or(Failure{});
  }
  // A store with `batches` batches, closed.
  void make(int batches) {
    auto store = open_ok();
    ASSERT_NE(store, nullptr);
    Driver driver(*store);
    for (int i = 0; i < batches; ++i) {
      ASSERT_EQ(driver.commit([&](core::Batch& b) { b.put(Keyspace::kJob, padded(i), "v"); }),
                Outcome::kCommitted);
    }
    store->close();
  }
  // Works on the closed database below the store, as another program could.
  void edit(const std::function<void(store::RocksDatabase&)>& change) {
    store::RocksOpenOptions rocks;
    rocks.path = data_ + "/db";
    std::optional<Failure> failure;
    auto database = store::open_rocks(rocks, rocksdb::FileSystem::Default(), &failure);
    ASSERT_NE(database, nullptr) << failure->describe();
    change(*database);
  }

  TempDirectory directory_;
  const std::string data_;
  OpenOptions options_;
  core::InlineExecutor executor_;
};

bool mentions(const Failure& failure, const std::string& text) {
  return failure.text.find(text) != std::string::npos;
}

TEST_F(RocksOpenTest, CreatesAPrivateDirectoryWithIdentity) {
  options_.directory = directory_ / "a/b/data";
  auto result = open();
  ASSERT_FALSE(result.failure) << result.failure->describe();
  EXPECT_TRUE(result.info.created);
  EXPECT_EQ(result.info.store_id.size(), 36U);
  EXPECT_EQ(result.info.format, store::kStoreFormat);
  struct stat status {};
  ASSERT_EQ(::stat(options_.directory.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0700U);
  const std::string identity = read_file(options_.directory + "/store_id");
  EXPECT_NE(identity.find(result.info.store_id), std::string::npos);
  const std::string id = result.info.store_id;
  result.store.reset();
  result = open();
  ASSERT_FALSE(result.failure);
  EXPECT_FALSE(result.info.created);
  EXPECT_EQ(result.info.store_id, id);
}

TEST_F(RocksOpenTest, TakesRightsOfOthersAway) {
  fs::create_directory(data_);
  fs::permissions(data_, fs::perms(0755));
  ASSERT_NE(open_ok(), nullptr);
  EXPECT_EQ(fs::status(data_).permissions(), fs::perms(0700));
}

TEST_F(RocksOpenTest, RefusesADirectoryThatIsNotOurs) {
  fs::create_directory(data_);
  write_file(data_ + "/thesis.tex", "years of work");
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_EQ(failure.exit_code(), 78);
  EXPECT_TRUE(mentions(failure, "thesis.tex")) << failure.text;
  EXPECT_FALSE(fs::exists(data_ + "/lock"));

  options_.directory = data_ + "/thesis.tex";
  EXPECT_EQ(refused().kind, FailureKind::kConfig);
  options_.directory = "";
  EXPECT_EQ(refused().kind, FailureKind::kConfig);
}

TEST_F(RocksOpenTest, RefusesAFileSystemThatIsFullBeforeItWritesAnything) {
  make(2);
  options_.sizes.open_space_bytes = UINT64_MAX;
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kDiskFull);
  EXPECT_TRUE(mentions(failure, "are free in its file system")) << failure.text;
  options_.read_only = true;  // looking needs no room
  EXPECT_NE(open_ok(), nullptr);
}

TEST_F(RocksOpenTest, RefusesToCreateWhenToldNotTo) {
  options_.create = false;
  EXPECT_EQ(refused().kind, FailureKind::kConfig);
  fs::create_directory(data_);
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_TRUE(mentions(failure, "no Rota store")) << failure.text;
}

TEST_F(RocksOpenTest, FinishesACreationThatWasCutShort) {
  make(0);
  // The steps of a creation backwards: identity, witness, the store record.
  fs::remove(data_ + "/store_id");
  make(0);
  fs::remove(data_ + "/store_id");
  fs::remove(data_ + "/acked_seq");
  make(0);
  fs::remove(data_ + "/store_id");
  fs::remove(data_ + "/acked_seq");
  edit([](store::RocksDatabase& database) {
    rocksdb::WriteOptions options;
    ASSERT_TRUE(database.db->Delete(options, database.state, store::store_record_key()).ok());
    ASSERT_TRUE(database.db->Delete(options, database.state, store::commit_record_key()).ok());
    ASSERT_TRUE(database.db->Delete(options, database.payload, store::commit_record_key()).ok());
  });
  make(3);
  EXPECT_EQ(open_ok()->last_committed(), 3U);
}

TEST_F(RocksOpenTest, ACreationKilledAtAnySyncIsFinishedByTheNextOpen) {
  int killed = 0;
  for (int nth = 1;; ++nth) {
    SCOPED_TRACE("sync " + std::to_string(nth));
    fs::remove_all(data_);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const auto disk = std::make_shared<FaultFileSystem>();
      disk->die_at_sync(nth);
      auto result = store::open_store_on(disk, options_, executor_);
      ::_exit(result.failure ? 1 : 0);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFEXITED(status));
    make(3);
    EXPECT_EQ(open_ok()->last_committed(), 3U);
    if (WEXITSTATUS(status) == 0) break;
    ASSERT_EQ(WEXITSTATUS(status), FaultFileSystem::kDeathCode);
    ++killed;
  }
  EXPECT_GE(killed, 3);
}

// Nothing was acknowledged before the creation ended, so nothing is known to be lost with it.
TEST_F(RocksOpenTest, AWitnessTornInACreationIsWrittenAnew) {
  make(0);
  fs::remove(data_ + "/store_id");
  write_file(data_ + "/acked_seq", "torn");
  make(3);
  EXPECT_EQ(open_ok()->last_committed(), 3U);
  write_file(data_ + "/acked_seq", "torn");
  EXPECT_EQ(refused().kind, FailureKind::kDamage) << "no longer a creation";
}

TEST_F(RocksOpenTest, AMissingIdentityIsDamageForTheCheckToo) {
  make(3);
  fs::remove(data_ + "/store_id");
  EXPECT_EQ(refused().kind, FailureKind::kDamage);
  options_.read_only = true;
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kDamage);
  EXPECT_TRUE(mentions(failure, "store_id is missing")) << failure.text;
}

TEST_F(RocksOpenTest, RefusesANewerFormatInTheFile) {
  make(1);
  std::string identity = read_file(data_ + "/store_id");
  identity.replace(identity.find("format 2"), 8, "format 3");
  write_file(data_ + "/store_id", identity);
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_TRUE(mentions(failure, "format 3")) << failure.text;
  EXPECT_TRUE(mentions(failure, "newer version")) << failure.text;
}

TEST_F(RocksOpenTest, RefusesAnIdentityThatWasNotWrittenSo) {
  make(1);
  const std::string whole = read_file(data_ + "/store_id");
  const auto with = [&](const std::string& format) {
    std::string text = whole;
    return text.replace(text.find("format 2"), 8, format);
  };
  for (const std::string& text :
       {with("format -1"), with("format 02"), with("format"), with("form 2"),
        with("format 99999999999"), whole + "x", whole + std::string(600, '\n'),
        whole.substr(0, whole.size() - 1), std::string()}) {
    write_file(data_ + "/store_id", text);
    EXPECT_EQ(refused().kind, FailureKind::kDamage) << text;
    EXPECT_EQ(read_file(data_ + "/store_id"), text) << "a refused open changes nothing";
  }
  write_file(data_ + "/store_id", whole);
  EXPECT_EQ(open_ok()->last_committed(), 1U);
}

TEST_F(RocksOpenTest, RefusesANewerFormatInTheDatabase) {
  make(1);
  edit([](store::RocksDatabase& database) {
    std::string bytes;
    ASSERT_TRUE(database.get_own(store::store_record_key(), nullptr, &bytes).ok());
    auto record = store::decode_store_record(bytes);
    ASSERT_TRUE(record);
    record->format = store::kStoreFormat + 7;
    ASSERT_TRUE(database.put_own({{store::store_record_key(), store::encode(*record)}}).ok());
  });
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_TRUE(mentions(failure, "format 9")) << failure.text;
}

TEST_F(RocksOpenTest, RefusesAnOlderFormatThatNoStepUpgrades) {
  make(1);
  edit([](store::RocksDatabase& database) {
    std::string bytes;
    ASSERT_TRUE(database.get_own(store::store_record_key(), nullptr, &bytes).ok());
    auto record = store::decode_store_record(bytes);
    record->format = 0;
    ASSERT_TRUE(database.put_own({{store::store_record_key(), store::encode(*record)}}).ok());
  });
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_TRUE(mentions(failure, "cannot upgrade")) << failure.text;
  EXPECT_NE(read_file(data_ + "/store_id").find("format 2"), std::string::npos);
}

TEST_F(RocksOpenTest, UpgradesAStoreWithOneCommitRecord) {
  make(3);
  const auto make_it_old = [&](std::uint32_t format_in_file) {
    edit([](store::RocksDatabase& database) {
      std::string bytes;
      ASSERT_TRUE(database.get_own(store::store_record_key(), nullptr, &bytes).ok());
      auto record = store::decode_store_record(bytes);
      record->format = 1;
      rocksdb::WriteBatch batch;
      ASSERT_TRUE(batch.Delete(database.payload, store::commit_record_key()).ok());
      ASSERT_TRUE(
          batch.Put(database.state, store::store_record_key(), store::encode(*record)).ok());
      ASSERT_TRUE(database.db->Write(rocksdb::WriteOptions(), &batch).ok());
    });
    std::string identity = read_file(data_ + "/store_id");
    identity.replace(identity.find("format 2"), 8, "format " + std::to_string(format_in_file));
    write_file(data_ + "/store_id", identity);
  };
  make_it_old(1);
  options_.read_only = true;
  EXPECT_TRUE(mentions(refused(), "a check does not upgrade it"));
  options_.read_only = false;
  make(2);         // on top of the three
  make_it_old(2);  // the upgrade had begun when it crashed
  auto store = open_ok();
  ASSERT_NE(store, nullptr);
  EXPECT_EQ(store->last_committed(), 5U);
  store = nullptr;
  EXPECT_NE(read_file(data_ + "/store_id").find("format 2"), std::string::npos);
  edit([](store::RocksDatabase& database) {
    std::optional<store::CommitRecord> state;
    std::optional<store::CommitRecord> payload;
    ASSERT_TRUE(database.commit_of(database.state, &state).ok());
    ASSERT_TRUE(database.commit_of(database.payload, &payload).ok());
    EXPECT_TRUE(payload);
    EXPECT_EQ(state, payload);
  });
  EXPECT_EQ(open_ok()->last_committed(), 5U);
}

// Whoever lost the identity, or more, has a store to be restored, not an empty one to begin with.
TEST_F(RocksOpenTest, MakesNoNewStoreBesideWhatIsLeftOfOne) {
  make(3);
  const auto names = [&] {
    std::vector<std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(data_)) {
      if (entry.path().filename().string().rfind("LOG", 0) == 0) continue;  // RocksDB's messages
      all.push_back(entry.path().string() + " " +
                    (entry.is_regular_file() ? read_file(entry.path()) : std::string()));
    }
    std::sort(all.begin(), all.end());
    return all;
  };
  const auto expect_refused_untouched = [&] {
    const auto before = names();
    const Failure failure = refused();
    EXPECT_EQ(failure.kind, FailureKind::kDamage) << failure.text;
    EXPECT_TRUE(mentions(failure, "store_id is missing")) << failure.text;
    EXPECT_EQ(names(), before) << "a refused open changes nothing";
  };
  fs::rename(data_ + "/store_id", directory_ / "store_id");
  expect_refused_untouched();
  fs::rename(data_ + "/acked_seq", directory_ / "acked_seq");
  expect_refused_untouched();
  fs::rename(directory_ / "acked_seq", data_ + "/acked_seq");
  fs::rename(data_ + "/db", directory_ / "db");
  expect_refused_untouched();
  fs::rename(directory_ / "db", data_ + "/db");
  fs::rename(directory_ / "store_id", data_ + "/store_id");
  EXPECT_EQ(open_ok()->last_committed(), 3U);
}

// A consumer that stops right after the last acknowledgement leaves no more news for a commit.
TEST_F(RocksOpenTest, TheWitnessFollowsWithinASecondWhenNothingMoreIsCommitted) {
  auto store = open_ok();
  ASSERT_NE(store, nullptr);
  Driver driver(*store);
  ASSERT_EQ(driver.commit([](core::Batch& b) { b.put(Keyspace::kJob, "a", "v"); }),
            Outcome::kCommitted);
  core::CommitSeq seen = 0;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (seen == 0 && std::chrono::steady_clock::now() < give_up) {
    auto witness = store::AckedSeq::open(data_ + "/acked_seq", /*create=*/false);
    if (const auto* acked = std::get_if<store::AckedSeq>(&witness)) seen = acked->value();
    std::this_thread::yield();
  }
  EXPECT_EQ(seen, 1U);
}

TEST_F(RocksOpenTest, AStallEndsThoughItsBeginIsToldLast) {
  using Condition = rocksdb::WriteStallCondition;
  make(3);
  edit([](store::RocksDatabase& database) {
    EXPECT_EQ(database.stall(), Condition::kNormal);
    rocksdb::WriteStallInfo late;
    late.cf_name = rocksdb::kDefaultColumnFamilyName;
    late.condition = {Condition::kStopped, Condition::kNormal};
    database.listener->OnStallConditionsChanged(late);
    EXPECT_EQ(database.listener->stall(), Condition::kStopped);
    EXPECT_EQ(database.stall(), Condition::kNormal) << "RocksDB knows of none";

    // And a real one, until a compaction may run.
    ASSERT_TRUE(database.put_own({{"\xffstall", "1"}}).ok());
    ASSERT_TRUE(database.db->Flush(rocksdb::FlushOptions(), database.state).ok());
    ASSERT_TRUE(database.db->PauseBackgroundWork().ok());
    ASSERT_TRUE(database.db
                    ->SetOptions(database.state, {{"level0_file_num_compaction_trigger", "1"},
                                                  {"level0_slowdown_writes_trigger", "1"},
                                                  {"level0_stop_writes_trigger", "1"}})
                    .ok());
    EXPECT_EQ(database.stall(), Condition::kStopped);
    ASSERT_TRUE(database.db->ContinueBackgroundWork().ok());
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (database.stall() != Condition::kNormal && std::chrono::steady_clock::now() < give_up) {
      std::this_thread::yield();
    }
    EXPECT_EQ(database.stall(), Condition::kNormal);
  });
}

TEST_F(RocksOpenTest, RefusesMixedCopies) {
  make(1);
  const std::string mine = read_file(data_ + "/store_id");
  options_.directory = directory_ / "other";
  ASSERT_NE(open_ok(), nullptr);
  const std::string other = read_file(directory_ / "other/store_id");
  ASSERT_NE(mine, other);
  write_file(data_ + "/store_id", other);
  options_.directory = data_;
  const Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kConfig);
  EXPECT_TRUE(mentions(failure, "two copies were mixed")) << failure.text;
}

TEST_F(RocksOpenTest, RefusesWhenAPartIsMissing) {
  make(2);
  const std::string identity = read_file(data_ + "/store_id");
  fs::remove(data_ + "/store_id");
  Failure failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kDamage);
  EXPECT_TRUE(mentions(failure, "store_id is missing")) << failure.text;
  write_file(data_ + "/store_id", "something else");
  EXPECT_EQ(refused().kind, FailureKind::kDamage);
  write_file(data_ + "/store_id", identity);

  fs::rename(data_ + "/acked_seq", data_ + "/aside");
  failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kDamage);
  EXPECT_TRUE(mentions(failure, "acked_seq is missing")) << failure.text;
  fs::rename(data_ + "/aside", data_ + "/acked_seq");

  fs::rename(data_ + "/db/CURRENT", data_ + "/db/aside");
  failure = refused();
  EXPECT_EQ(failure.kind, FailureKind::kDamage);
  EXPECT_TRUE(mentions(failure, "CURRENT")) << failure.text;
  fs::rename(data_ + "/db/aside", data_ + "/db/CURRENT");
  EXPECT_EQ(open_ok()->last_committed(), 2U);
}

TEST_F(RocksOpenTest, ReadOnlyChangesNothing) {
  make(3);
  options_.read_only = true;
  for (int i = 0; i < 2; ++i) {
    auto store = open_ok();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->epoch(), 1U);
    EXPECT_EQ(store->last_committed(), 3U);
    Driver driver(*store);
    EXPECT_EQ(driver.load(Keyspace::kJob).size(), 3U);
    core::ScanSpec spec;
    spec.keyspace = Keyspace::kJob;
    spec.end = "z";
    EXPECT_EQ(driver.scan_all(spec).size(), 3U);
    store->close();
  }
  options_.read_only = false;
  auto store = open_ok();
  EXPECT_EQ(store->epoch(), 2U);
  options_.read_only = true;
  EXPECT_EQ(refused().kind, FailureKind::kInUse);  // a check needs the server stopped
  store.reset();
  options_.directory = directory_ / "nothing";
  EXPECT_EQ(refused().kind, FailureKind::kConfig);
  EXPECT_FALSE(fs::exists(directory_ / "nothing"));
}

// Runs pieces in place and keeps the long halves of reads until it is told.
class HeldReads final : public core::Executor {
 public:
  void execute(std::function<void()> work) override { work(); }
  void execute_read(std::function<void()> work) override { held.push_back(std::move(work)); }
  std::vector<std::function<void()>> held;
};

TEST_F(RocksOpenTest, ALongReadSeesItsReadPointHoweverLateItIsDone) {
  HeldReads executor;
  auto opened = store::open_store(options_, executor);
  ASSERT_NE(opened.store, nullptr);
  Driver driver(*opened.store);
  ASSERT_EQ(driver.commit([](core::Batch& b) {
    b.put(Keyspace::kJob, padded(1), "old");
    b.put(Keyspace::kJob, padded(2), "goes");
  }),
            Outcome::kCommitted);
  const core::CommitSeq point = opened.store->last_committed();
  core::ReadSpec spec;
  spec.scans.push_back({.keyspace = Keyspace::kJob, .begin = padded(0), .end = padded(9)});
  core::ReadResult seen;
  opened.store->read(spec, [&](core::ReadError error, core::ReadResult result, std::string) {
    EXPECT_EQ(error, core::ReadError::kNone);
    seen = std::move(result);
  });
  ASSERT_EQ(executor.held.size(), 1U) << "a scan has a thread of its own";
  // The commit is not held up by the read, and the read does not see it.
  ASSERT_EQ(driver.commit([](core::Batch& b) {
    b.put(Keyspace::kJob, padded(1), "new");
    b.del(Keyspace::kJob, padded(2));
    b.put(Keyspace::kJob, padded(3), "later");
  }),
            Outcome::kCommitted);
  executor.held.front()();
  EXPECT_EQ(seen.at, point);
  ASSERT_EQ(seen.pages.size(), 1U);
  const std::vector<core::Row> rows{{padded(1), "old"}, {padded(2), "goes"}};
  EXPECT_EQ(seen.pages[0].rows, rows);
  executor.held.clear();  // the read point ends with its read
}

TEST_F(RocksOpenTest, SettingsThatCorrectnessDependsOn) {
  const auto db = store::database_options({}, rocksdb::Env::Default(), nullptr);
  EXPECT_EQ(db.wal_recovery_mode, rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords);
  EXPECT_EQ(db.max_bgerror_resume_count, 0);
  EXPECT_TRUE(db.paranoid_checks);
  EXPECT_FALSE(db.avoid_flush_during_recovery);
  EXPECT_FALSE(db.best_efforts_recovery);
  EXPECT_FALSE(db.allow_concurrent_memtable_write);
  EXPECT_FALSE(db.unordered_write);
  EXPECT_FALSE(db.enable_pipelined_write);
  EXPECT_FALSE(db.manual_wal_flush);
  EXPECT_EQ(db.recycle_log_file_num, 0U);
  EXPECT_EQ(db.max_open_files, -1);
  EXPECT_EQ(db.db_write_buffer_size, 64U << 20);
  EXPECT_EQ(db.max_total_wal_size, 96U << 20);
  const auto families = store::family_options({});
  EXPECT_NE(families.state.memtable_insert_with_hint_prefix_extractor, nullptr);
  EXPECT_EQ(families.payload.memtable_insert_with_hint_prefix_extractor, nullptr);
  EXPECT_EQ(families.state.memtable_protection_bytes_per_key, 8U);
}

TEST_F(RocksOpenTest, NoRangeIsEverDeleted) {
  auto store = open_ok();
  Driver driver(*store);
  for (int round = 0; round < 20; ++round) {
    driver.commit([&](core::Batch& b) {
      for (int i = 0; i < 500; ++i) {
        b.put(Keyspace::kJob, padded(round * 500 + i), "v");
        b.put(Keyspace::kPayload, padded(round * 500 + i), "v");
        if (round > 0) b.del(Keyspace::kJob, padded((round - 1) * 500 + i));
        if (round > 0) b.del(Keyspace::kPayload, padded((round - 1) * 500 + i));
      }
    });
  }
  store.reset();
  edit([](store::RocksDatabase& database) {
    std::uint64_t deletions = 0;
    for (auto* family : {database.state, database.payload}) {
      ASSERT_TRUE(database.db->Flush({}, family).ok());
      rocksdb::TablePropertiesCollection properties;
      ASSERT_TRUE(database.db->GetPropertiesOfAllTables(family, &properties).ok());
      for (const auto& [name, table] : properties) {
        EXPECT_EQ(table->num_range_deletions, 0U) << name;
        deletions += table->num_entries;
      }
    }
    EXPECT_GT(deletions, 0U);
  });
}

// The error policy: one failure ends the store, it is told once, and nothing is tried again.
class RocksFaultTest : public RocksOpenTest {
 protected:
  RocksFaultTest() {
    options_.on_fatal = [this](const Failure& failure) { fatal_.push_back(failure); };
  }
  std::unique_ptr<core::ShardStore> open_faulty() {
    auto result = store::open_store_on(faults_, options_, executor_);
    if (result.failure) ADD_FAILURE() << result.failure->describe();
    return std::move(result.store);
  }
  static Outcome put(Driver& driver, const std::string& key, const std::string& value = "v") {
    return driver.commit([&](core::Batch& b) { b.put(Keyspace::kJob, key, value); });
  }

  std::shared_ptr<FaultFileSystem> faults_ = std::make_shared<FaultFileSystem>();
  std::vector<Failure> fatal_;
};

TEST_F(RocksFaultTest, AFailedSyncIsFatalAndNeverRepeated) {
  auto store = open_faulty();
  Driver driver(*store);
  ASSERT_EQ(put(driver, "a"), Outcome::kCommitted);
  faults_->fail_log_sync(FaultFileSystem::Fault::kIo);
  EXPECT_EQ(put(driver, "b"), Outcome::kUnknown);
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kIo);
  EXPECT_EQ(fatal_[0].exit_code(), 74);
  EXPECT_TRUE(mentions(fatal_[0], "injected: input/output error")) << fatal_[0].text;
  EXPECT_EQ(faults_->failures(), 1);
  // The device works again; the store does not.
  faults_->fail_log_sync(FaultFileSystem::Fault::kNone);
  EXPECT_EQ(put(driver, "c"), Outcome::kUnknown);
  EXPECT_EQ(faults_->failures(), 1);
  EXPECT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(store->pressure(), core::Pressure::kFailed);
  store->close();
}

// A row that passed every checksum and cannot be decoded all the same.
TEST_F(RocksFaultTest, ReportedDamageIsFatal) {
  auto store = open_faulty();
  Driver driver(*store);
  ASSERT_EQ(put(driver, "a"), Outcome::kCommitted);
  store->report_damage("the row of keyspace job with key 0x61 cannot be decoded");
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].exit_code(), 65);
  EXPECT_TRUE(mentions(fatal_[0], "0x61")) << fatal_[0].text;
  EXPECT_NE(put(driver, "b"), Outcome::kCommitted);
  core::ReadResult result;
  std::string detail;
  EXPECT_NE(store->snapshot_read({}, &result, &detail), core::ReadError::kNone);
  store->report_damage("another");
  EXPECT_EQ(fatal_.size(), 1U) << "told once";
}

TEST_F(RocksFaultTest, ADiskThatIsFullHasItsOwnCode) {
  auto store = open_faulty();
  Driver driver(*store);
  ASSERT_EQ(put(driver, "a"), Outcome::kCommitted);
  faults_->fail_log_append(FaultFileSystem::Fault::kNoSpace);
  EXPECT_EQ(put(driver, "b"), Outcome::kUnknown);
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kDiskFull);
  EXPECT_EQ(fatal_[0].exit_code(), 73);
  EXPECT_NE(fatal_[0].describe().find("free space"), std::string::npos);
  store.reset();
  faults_->fail_log_append(FaultFileSystem::Fault::kNone);
  store = open_ok();
  EXPECT_EQ(store->last_committed(), 1U);
}

TEST_F(RocksFaultTest, AFailedFlushIsFatal) {
  options_.sizes.write_buffers_bytes = 1U << 20;
  auto store = open_faulty();
  Driver driver(*store);
  faults_->fail_table_write(FaultFileSystem::Fault::kNoSpace);
  // Enough for several flushes; the failure arrives from RocksDB's own thread.
  Outcome outcome = Outcome::kCommitted;
  for (int i = 0; i < 2000 && outcome == Outcome::kCommitted; ++i) {
    outcome = put(driver, padded(i), std::string(64 << 10, 'v'));
  }
  EXPECT_EQ(outcome, Outcome::kUnknown);
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kDiskFull);
}

TEST_F(RocksFaultTest, AFailedReadIsFatal) {
  {
    auto store = open_faulty();
    Driver driver(*store);
    for (int i = 0; i < 100; ++i) put(driver, padded(i), std::string(1000, 'v'));
  }
  auto store = open_faulty();  // recovery has put the rows into a file
  faults_->fail_table_read(FaultFileSystem::Fault::kIo);
  core::ReadResult result;
  std::string detail;
  EXPECT_EQ(store->snapshot_read({{{Keyspace::kJob, padded(50)}}, {}}, &result, &detail),
            core::ReadError::kFailed);
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kIo);
  EXPECT_TRUE(mentions(fatal_[0], ".sst at offset")) << fatal_[0].text;
  faults_->fail_table_read(FaultFileSystem::Fault::kNone);
  Driver driver(*store);
  EXPECT_EQ(put(driver, "later"), Outcome::kUnknown);
}

TEST_F(RocksFaultTest, AnOpenThatFailsReportsWithoutTheFatalCall) {
  make(5);
  faults_->fail_table_write(FaultFileSystem::Fault::kNoSpace);  // recovery writes a file
  auto result = store::open_store_on(faults_, options_, executor_);
  ASSERT_TRUE(result.failure);
  EXPECT_EQ(result.failure->kind, FailureKind::kDiskFull) << result.failure->text;
  EXPECT_TRUE(fatal_.empty());
  faults_->fail_table_write(FaultFileSystem::Fault::kNone);
  EXPECT_EQ(open_ok()->last_committed(), 5U);
}

}  // namespace
}  // namespace rota::testing
