// SPDX-License-Identifier: Apache-2.0
//
// A log that cannot be replayed to its end: the last batch, torn while nobody had been told of it,
// is left out; damage in what was synced refuses, and the operator chooses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>

#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/open.h"
#include "store/rocks_open.h"
#include "store/torn_manifest.h"

namespace rota::testing {
namespace {

namespace fs = std::filesystem;
using core::Keyspace;
using core::Outcome;
using store::Failure;
using store::FailureKind;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Files of a name with this end fail, once, for the first that reads on behind so many bytes.
class OneReadFails final : public rocksdb::FileSystemWrapper {
 public:
  OneReadFails(std::string end, std::size_t bytes)
      : FileSystemWrapper(rocksdb::FileSystem::Default()), end_(std::move(end)), bytes_(bytes) {}
  const char* Name() const override { return "rota.one_read_fails"; }
  bool failed() const { return failed_; }

  rocksdb::IOStatus NewSequentialFile(const std::string& name, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      rocksdb::IODebugContext* dbg) override {
    auto status = target()->NewSequentialFile(name, options, file, dbg);
    if (status.ok() && name.ends_with(end_)) {
      *file = std::make_unique<File>(std::move(*file), *this);
    }
    return status;
  }

 private:
  class File final : public rocksdb::FSSequentialFileOwnerWrapper {
   public:
    File(std::unique_ptr<rocksdb::FSSequentialFile> file, OneReadFails& owner)
        : FSSequentialFileOwnerWrapper(std::move(file)), owner_(owner) {}
    rocksdb::IOStatus Read(std::size_t n, const rocksdb::IOOptions& options, rocksdb::Slice* result,
                           char* scratch, rocksdb::IODebugContext* dbg) override {
      if (read_ >= owner_.bytes_ && !std::exchange(owner_.failed_, true)) {
        *result = rocksdb::Slice();
        return rocksdb::IOStatus::IOError("Input/output error");
      }
      auto status = target()->Read(n, options, result, scratch, dbg);
      read_ += result->size();
      return status;
    }

   private:
    OneReadFails& owner_;
    std::size_t read_ = 0;
  };

  const std::string end_;
  const std::size_t bytes_;
  bool failed_ = false;
};

class RocksTornLogTest : public ::testing::Test {
 protected:
  RocksTornLogTest() : data_(directory_ / "data") { options_.directory = data_; }

  store::OpenResult open() { return store::open_store(options_, executor_); }
  Failure refused() {
    auto result = open();
    EXPECT_TRUE(result.failure) << "opened at batch " << result.info.recovered_seq;
    const Failure failure = result.failure.value_or(Failure{});
    EXPECT_EQ(failure.kind, FailureKind::kDamage) << failure.text;
    EXPECT_EQ(failure.exit_code(), 65);
    return failure;
  }
  store::OpenResult open_ok() {
    auto result = open();
    if (result.failure) ADD_FAILURE() << result.failure->describe();
    return result;
  }
  static void commit(core::ShardStore& store, int batches) {
    Driver driver(store);
    for (int i = 0; i < batches; ++i) {
      const std::string key = padded(driver.seq());
      ASSERT_EQ(driver.commit(
                    [&](core::Batch& b) { b.put(Keyspace::kJob, key, std::string(5'000, 'v')); }),
                Outcome::kCommitted);
    }
  }
  // Batches of 5 KB in one log, and a process that was killed: the witness still says 0.
  void make(int batches) {
    auto result = open_ok();
    ASSERT_NE(result.store, nullptr);
    commit(*result.store, batches);
    log_ = newest_log(data_);
    bytes_ = read_file(log_);
  }
  void make_more(int batches) {
    auto result = open_ok();
    ASSERT_NE(result.store, nullptr);
    commit(*result.store, batches);
  }
  // Rows of the store at its last batch, which must be all there are.
  void expect_exactly(core::ShardStore& store, core::CommitSeq seq) {
    EXPECT_EQ(store.last_committed(), seq);
    Driver driver(store);
    const auto rows = driver.load(Keyspace::kJob);
    ASSERT_EQ(rows.size(), seq);
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i].first, padded(i));
  }

  TempDirectory directory_;
  const std::string data_;
  store::OpenOptions options_;
  core::InlineExecutor executor_;
  std::string log_;
  std::string bytes_;
};

TEST_F(RocksTornLogTest, AnUnacknowledgedLastBatchWithWrongBytesIsLeftOutAndKept) {
  make(40);
  const std::string whole = directory_ / "whole";
  fs::copy(data_, whole, fs::copy_options::recursive);
  // What pages in the wrong order leave of the last batch: nothing, noise, or its begin.
  const std::size_t last = bytes_.size() - 3'000;
  std::string zeros = bytes_;
  std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(last), zeros.end(), '\0');
  std::string noise = bytes_;
  for (std::size_t i = last; i < noise.size(); ++i) noise[i] = static_cast<char>(i * 37 + 11);
  std::string hole = bytes_;
  std::fill_n(hole.begin() + static_cast<std::ptrdiff_t>(last), 1'000, '\0');
  for (const std::string& bytes : {zeros, noise, hole}) {
    fs::remove_all(data_);
    fs::copy(whole, data_, fs::copy_options::recursive);
    write_file(log_, bytes);
    options_.read_only = true;
    expect_exactly(*open_ok().store, 39);
    EXPECT_FALSE(fs::exists(data_ + "/kept_logs")) << "looking changes nothing";
    options_.read_only = false;
    auto result = open_ok();
    ASSERT_NE(result.store, nullptr);
    expect_exactly(*result.store, 39);
    EXPECT_FALSE(result.info.loss_accepted);
    EXPECT_EQ(result.store->incarnation(), 1U);
    EXPECT_THAT(result.info.torn_log, AllOf(HasSubstr(log_), HasSubstr("after batch 39")));
    const std::string kept =
        data_ + "/kept_logs/torn-after-39/" + fs::path(log_).filename().string();
    EXPECT_EQ(read_file(kept), bytes);
    commit(*result.store, 3);
    result = {};
    result = open_ok();
    ASSERT_NE(result.store, nullptr);
    expect_exactly(*result.store, 42);
    EXPECT_TRUE(result.info.torn_log.empty()) << result.info.torn_log;
  }
}

// RocksDB says nothing of such an end; the operator is told.
TEST_F(RocksTornLogTest, ALastBatchCutOffByTheEndOfTheFileIsLeftOutAndNamed) {
  make(7);
  const std::string copy = directory_ / "whole";
  fs::copy(data_, copy, fs::copy_options::recursive);
  EXPECT_TRUE(open_ok().info.torn_log.empty());
  // In its last record, in the header of that, and where its first record ends with a block.
  constexpr std::size_t block_end = 32'768;
  ASSERT_GT(bytes_.size(), block_end);
  ASSERT_LT(bytes_.size() - block_end, 5'000U) << "the last batch stands in one block";
  for (const std::size_t size : {bytes_.size() - 1, block_end + 3, block_end}) {
    SCOPED_TRACE(size);
    fs::remove_all(data_);
    fs::copy(copy, data_, fs::copy_options::recursive);
    truncate_file(log_, size);
    auto result = open_ok();
    ASSERT_NE(result.store, nullptr);
    expect_exactly(*result.store, 6);
    EXPECT_THAT(result.info.torn_log, AllOf(HasSubstr(log_), HasSubstr("ends within a batch")));
    commit(*result.store, 1);
    result = {};
    EXPECT_TRUE(open_ok().info.torn_log.empty());
  }
}

TEST_F(RocksTornLogTest, AnAcknowledgedLastBatchIsNeverTakenForTorn) {
  {
    auto result = open_ok();
    commit(*result.store, 40);
    log_ = newest_log(data_);
    result.store->close();  // writes the witness
  }
  bytes_ = read_file(log_);
  flip_bit(log_, bytes_.size() - 100);
  const Failure failure = refused();
  EXPECT_THAT(failure.text, AllOf(HasSubstr("batch 40 was acknowledged"), HasSubstr(log_),
                                  HasSubstr("the last good batch is 39")));
  write_file(log_, bytes_);
  expect_exactly(*open_ok().store, 40);
}

TEST_F(RocksTornLogTest, DamageBeforeAWholeBatchRefusesWithPlaceNumberAndChoices) {
  make(40);
  // In the same block as the next batch, blocks before it, and in a length, behind which nothing
  // can be found by following lengths.
  for (const std::size_t offset :
       {std::size_t{6'000}, std::size_t{100'000}, bytes_.size() - 8'000}) {
    write_file(log_, bytes_);
    flip_bit(log_, offset);
    const Failure failure = refused();
    EXPECT_THAT(failure.text,
                AllOf(HasSubstr(log_ + " at offset "), HasSubstr("is whole"),
                      HasSubstr("the last good batch is "), HasSubstr("restore a backup"),
                      HasSubstr("--accept-loss-after=")));
    EXPECT_EQ(refused().text, failure.text) << "a refused open changes nothing";
    EXPECT_FALSE(fs::exists(data_ + "/kept_logs"));
  }
  write_file(log_, bytes_);
  expect_exactly(*open_ok().store, 40);
}

// RocksDB takes a record that seems to go on behind the end of the file for one cut off there.
TEST_F(RocksTornLogTest, ALengthThatWasFlippedIsNoEndOfTheLog) {
  auto result = open_ok();
  ASSERT_NE(result.store, nullptr);
  Driver driver(*result.store);
  log_ = newest_log(data_);
  std::vector<std::size_t> begins;
  for (int i = 0; i < 12; ++i) {
    begins.push_back(file_size(log_));
    const std::string key = padded(driver.seq());
    ASSERT_EQ(driver.commit([&](core::Batch& b) { b.put(Keyspace::kJob, key, "value"); }),
              Outcome::kCommitted);
  }
  result = {};
  bytes_ = read_file(log_);
  constexpr std::size_t kHighByteOfLength = 5;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    flip_bit(log_, begins[i] + kHighByteOfLength);
    if (i + 1 < begins.size()) {
      EXPECT_THAT(refused().text, AllOf(HasSubstr(log_), HasSubstr("is whole"))) << "batch " << i;
    } else {
      options_.read_only = true;
      expect_exactly(*open_ok().store, begins.size() - 1);  // nothing tells it from a torn one
      options_.read_only = false;
    }
    write_file(log_, bytes_);
  }
  expect_exactly(*open_ok().store, begins.size());
}

// Tables of one family can be older than those of the other, and then logs are needed for it alone.
TEST_F(RocksTornLogTest, ALogThatOnlyPayloadsNeedIsMissedToo) {
  options_.sizes.write_buffers_bytes = 1 << 20;
  auto result = open_ok();
  ASSERT_NE(result.store, nullptr);
  Driver driver(*result.store);
  const auto tables = [&] { return files_ending(data_ + "/db", ".sst").size(); };
  const std::size_t before = tables();
  std::map<std::string, std::string> payloads;
  for (int i = 0; i < 1'000 && tables() == before; ++i) {
    const std::string key = padded(driver.seq());
    ASSERT_EQ(driver.commit([&](core::Batch& b) {
      b.put(Keyspace::kJob, key, std::string(5'000, 'v'));
      if (i % 50 == 0) b.put(Keyspace::kPayload, key, payloads[key] = "payload of " + key);
    }),
              Outcome::kCommitted);
  }
  const core::CommitSeq seq = driver.seq();
  result = {};
  const std::string whole = directory_ / "whole";
  fs::copy(data_, whole, fs::copy_options::recursive);
  const auto logs = files_ending(data_ + "/db", ".log");
  ASSERT_GE(logs.size(), 2U) << "one flush, and the log before it is needed still";
  const std::string oldest = logs.front();
  const auto restore = [&] {
    fs::remove_all(data_);
    fs::copy(whole, data_, fs::copy_options::recursive);
  };
  truncate_file(oldest, file_size(oldest) - 40'000);
  EXPECT_THAT(refused().text, HasSubstr(fs::path(oldest).filename().string()));
  restore();
  fs::remove(oldest);
  EXPECT_THAT(refused().text, HasSubstr("has lost what it held, or is missing"));
  restore();
  result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_EQ(result.store->last_committed(), seq);
  Driver again(*result.store);
  const auto rows = again.load(Keyspace::kPayload);
  EXPECT_EQ((std::map<std::string, std::string>(rows.begin(), rows.end())), payloads);
}

// What a list of files that lost its end leads to: older tables, whose newer logs are gone. RocksDB
// takes a cut, zeros and a wrong length for that end.
TEST_F(RocksTornLogTest, NoByteOfTheListOfFilesLosesABatch) {
  for (int session = 0; session < 3; ++session) make_more(20);  // each open flushes what it replays
  const core::CommitSeq seq = 60;
  const std::string whole = directory_ / "whole";
  fs::copy(data_, whole, fs::copy_options::recursive);
  const std::string manifest = store::current_manifest(data_ + "/db");
  const std::string bytes = read_file(manifest);
  int refusals = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 13) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    std::string zeros = bytes;
    std::fill(zeros.begin() + static_cast<std::ptrdiff_t>(at), zeros.end(), '\0');
    for (const std::string& damaged : {flipped, zeros, bytes.substr(0, at)}) {
      write_file(manifest, damaged);
      options_.read_only = true;
      auto result = open();
      options_.read_only = false;
      if (result.store) {
        expect_exactly(*result.store, seq);
      } else {
        ++refusals;
        EXPECT_EQ(result.failure->kind, FailureKind::kDamage) << result.failure->text;
      }
      ASSERT_FALSE(HasFailure()) << "at " << at << " of " << bytes.size();
    }
  }
  EXPECT_GT(refusals, 0);
  write_file(manifest, bytes);
  expect_exactly(*open_ok().store, seq);
}

// What stands behind a place that cannot be read is not known: least of all that nothing does.
TEST_F(RocksTornLogTest, ALogThatCannotBeReadToItsEndIsNotTakenForTorn) {
  make(40);
  flip_bit(log_, 130'000);  // the next batch begins in the block behind
  const auto disk = std::make_shared<OneReadFails>(".log", 131'072);
  const auto result = store::open_store_on(disk, options_, executor_);
  ASSERT_TRUE(disk->failed()) << "the log was not read";
  ASSERT_TRUE(result.failure) << "opened at batch " << result.info.recovered_seq;
  EXPECT_EQ(result.failure->kind, FailureKind::kIo) << result.failure->text;
  EXPECT_THAT(result.failure->text, HasSubstr(log_));
  EXPECT_FALSE(fs::exists(data_ + "/kept_logs")) << "nothing was given up";
  EXPECT_THAT(refused().text, HasSubstr("is whole")) << "the disk reads again: synced damage";
}

// RocksDB takes a header of zeros for padding, steps over the rest of the block, and says nothing.
TEST_F(RocksTornLogTest, APageOfZerosInTheMiddleRefuses) {
  {
    auto result = open_ok();
    Driver driver(*result.store);
    for (int i = 0; i < 800; ++i) {
      driver.commit([&](core::Batch& b) { b.put(Keyspace::kJob, padded(i), "small"); });
    }
    log_ = newest_log(data_);
  }
  bytes_ = read_file(log_);
  ASSERT_GT(bytes_.size(), 36'000U);
  std::string zeroed = bytes_;
  std::fill_n(zeroed.begin() + 8'192, 4'096, '\0');
  write_file(log_, zeroed);
  EXPECT_THAT(refused().text, HasSubstr(log_));
  zeroed = bytes_;
  std::fill_n(zeroed.begin(), 32'768, '\0');
  write_file(log_, zeroed);
  EXPECT_THAT(refused().text, HasSubstr(log_ + " at offset 0"));
  write_file(log_, bytes_);
  EXPECT_EQ(open_ok().store->last_committed(), 800U);
}

TEST_F(RocksTornLogTest, ALogThatLostItsEndBeforeALaterOneRefuses) {
  options_.sizes.write_buffers_bytes = 1U << 20;
  std::vector<std::string> logs;
  {
    auto result = open_ok();
    Driver driver(*result.store);
    // One row of the other family keeps the first log needed while later ones are begun.
    driver.commit([](core::Batch& b) { b.put(Keyspace::kPayload, "p", "payload"); });
    for (int i = 0; i < 1'000 && logs.size() < 2; ++i) {
      driver.commit(
          [&](core::Batch& b) { b.put(Keyspace::kJob, padded(i), std::string(9'000, 'v')); });
      logs = files_ending(data_ + "/db", ".log");
    }
  }
  ASSERT_GE(logs.size(), 2U);
  const std::string bytes = read_file(logs.front());
  truncate_file(logs.front(), bytes.size() - 20);
  EXPECT_THAT(refused().text, HasSubstr("batches are missing in the log"));
  write_file(logs.front(), bytes);
  EXPECT_NE(open_ok().store, nullptr);
}

// A family that nothing was written to keeps the number of the first log for ever, though that log
// is deleted as soon as the other family's rows are in tables.
TEST_F(RocksTornLogTest, ALogThatIsNoLongerNeededMayBeMissing) {
  options_.sizes.write_buffers_bytes = 1 << 20;
  core::CommitSeq seq = 0;
  for (int crash = 0; crash < 3; ++crash) {
    auto result = open_ok();
    ASSERT_NE(result.store, nullptr);
    expect_exactly(*result.store, seq);
    const std::string first = newest_log(data_);
    for (int i = 0; i < 200 && fs::exists(first); ++i) commit(*result.store, 10);
    EXPECT_FALSE(fs::exists(first)) << "nothing was flushed";
    commit(*result.store, 10);
    seq = result.store->last_committed();
  }
  expect_exactly(*open_ok().store, seq);
}

TEST_F(RocksTornLogTest, ALossIsAcceptedByItsNumberOnlyAndForGoodWithTheFirstBatch) {
  make(40);
  flip_bit(log_, 100'000);
  const std::string text = refused().text;
  const std::string flag = "--accept-loss-after=";
  const core::CommitSeq good = std::stoull(text.substr(text.find(flag) + flag.size()));
  ASSERT_GT(good, 10U);
  ASSERT_LT(good, 30U);
  options_.accept_loss_after = good + 1;
  EXPECT_THAT(refused().text, HasSubstr("not " + std::to_string(good + 1)));
  const std::string damaged = read_file(log_);

  options_.accept_loss_after = good;
  auto result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_TRUE(result.info.loss_accepted);
  EXPECT_EQ(result.store->incarnation(), 2U);
  expect_exactly(*result.store, good);
  EXPECT_EQ(read_file(data_ + "/kept_logs/loss-after-" + std::to_string(good) + "/" +
                      fs::path(log_).filename().string()),
            damaged);
  // Killed before its first batch: without the consent nothing has been accepted yet.
  result = {};
  options_.accept_loss_after.reset();
  EXPECT_THAT(refused().text, HasSubstr("acknowledged data is missing"));
  options_.accept_loss_after = good;
  result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_EQ(result.store->incarnation(), 3U);
  commit(*result.store, 1);
  result = {};
  options_.accept_loss_after.reset();
  result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_FALSE(result.info.loss_accepted);
  expect_exactly(*result.store, good + 1);
  // The consent given once more means nothing where nothing is lost.
  result = {};
  options_.accept_loss_after = good;
  result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_FALSE(result.info.loss_accepted);
  EXPECT_EQ(result.store->incarnation(), 3U);
}

TEST_F(RocksTornLogTest, ALogCutBetweenTwoBatchesIsAcceptedInTheSameWay) {
  {
    auto result = open_ok();
    commit(*result.store, 40);
    log_ = newest_log(data_);
    result.store->close();
  }
  truncate_file(log_, file_size(log_) - 6'000);
  EXPECT_THAT(refused().text,
              AllOf(HasSubstr("batch 40 was acknowledged"), HasSubstr("--accept-loss-after=38")));
  options_.accept_loss_after = 38;
  auto result = open_ok();
  ASSERT_NE(result.store, nullptr);
  EXPECT_TRUE(result.info.loss_accepted);
  expect_exactly(*result.store, 38);
}

// The MANIFEST is a log too, whose last record a crash may tear.
TEST_F(RocksTornLogTest, AnUnsyncedLastRecordOfTheManifestIsLeftOutAndKept) {
  make(10);
  const std::string manifest = store::current_manifest(data_ + "/db");
  const std::string torn =
      read_file(manifest) + std::string("\x01\x02\x03\x04\x64\x00\x01", 7) + std::string(100, '\0');
  write_file(manifest, torn);
  options_.read_only = true;
  expect_exactly(*open_ok().store, 10);
  EXPECT_EQ(read_file(manifest), torn);
  EXPECT_FALSE(fs::exists(data_ + "/kept_logs")) << "looking changes nothing";
  options_.read_only = false;
  auto result = open_ok();
  ASSERT_NE(result.store, nullptr);
  expect_exactly(*result.store, 10);
  EXPECT_THAT(result.info.torn_log, HasSubstr(manifest));
  EXPECT_EQ(read_file(data_ + "/kept_logs/torn-manifest/" + fs::path(manifest).filename().string()),
            torn);
}

// Where the records of a MANIFEST of one block end. Each begins with 7 bytes, the length of what
// follows in the fifth and sixth.
std::vector<std::size_t> record_ends(const std::string& manifest) {
  std::vector<std::size_t> ends;
  EXPECT_LT(manifest.size(), 32'768U) << "records may be cut in two";
  for (std::size_t at = 0; at + 7 <= manifest.size();) {
    at += 7U + static_cast<unsigned char>(manifest[at + 4]) +
          256U * static_cast<unsigned char>(manifest[at + 5]);
    ends.push_back(at);
  }
  return ends;
}

// Torn in the same way, but it had been synced, and what it made superfluous is gone. Where nothing
// depends on the record it may be left out; else the open refuses and changes nothing.
TEST_F(RocksTornLogTest, ASyncedRecordOfTheManifestIsLeftOutOnlyWhereNothingIsMissedWithoutIt) {
  options_.sizes.write_buffers_bytes = 1U << 20;
  {
    auto result = open_ok();
    commit(*result.store, 500);
    result.store->close();
  }
  const std::string manifest = store::current_manifest(data_ + "/db");
  const std::string whole = read_file(manifest);
  const std::string copy = directory_ / "whole";
  fs::copy(data_, copy, fs::copy_options::recursive);
  int refusals = 0;
  for (const std::size_t end : record_ends(whole)) {
    fs::remove_all(data_);
    fs::copy(copy, data_, fs::copy_options::recursive);
    std::string torn = whole.substr(0, end);
    torn.back() ^= 1;
    write_file(manifest, torn);
    auto result = open();
    if (!result.failure) {
      expect_exactly(*result.store, 500);
      continue;
    }
    ++refusals;
    EXPECT_EQ(result.failure->kind, FailureKind::kDamage);
    EXPECT_THAT(result.failure->text, HasSubstr(manifest));
    EXPECT_EQ(read_file(manifest), torn) << "a refusal changes nothing";
    EXPECT_FALSE(fs::exists(data_ + "/kept_logs/torn-manifest"));
    write_file(manifest, whole);
    expect_exactly(*open_ok().store, 500);
  }
  EXPECT_GT(refusals, 0);
}

// Damage elsewhere is no matter of the log: no number is named, and no consent helps.
TEST_F(RocksTornLogTest, DamageOutsideTheLogOffersNoLoss) {
  make(5);
  open_ok().store->close();
  for (const auto& entry : fs::directory_iterator(data_ + "/db")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("MANIFEST-", 0) == 0) flip_bit(entry.path().string(), 30);
  }
  options_.accept_loss_after = 5;
  EXPECT_THAT(refused().text, AllOf(HasSubstr("MANIFEST-"), Not(HasSubstr("--accept-loss-after"))));
}

}  // namespace
}  // namespace rota::testing
