// SPDX-License-Identifier: Apache-2.0
//
// The store's own files when their calls fail: each failure ends the open or the store, with the
// name of the file, and takes nothing back that was acknowledged.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/open.h"
#include "store/own_files.h"

namespace rota::testing {
namespace {

namespace fs = std::filesystem;
using core::Keyspace;
using core::Outcome;
using store::Failure;
using store::FailureKind;
using ::testing::HasSubstr;

// The system's calls, but for one kind of call to one file.
class FailingFiles final : public store::OwnFiles {
 public:
  enum class Call { kNone, kWrite, kSync, kRename, kRead, kOpen };
  void fail(Call call, const std::string& name, int error) {
    std::lock_guard lock(mutex_);
    call_ = call;
    name_ = name;
    error_ = error;
  }
  int failures() const {
    std::lock_guard lock(mutex_);
    return failures_;
  }
  // How often a file or directory was synced.
  int syncs(const std::string& name) const {
    std::lock_guard lock(mutex_);
    const auto it = syncs_.find(name);
    return it == syncs_.end() ? 0 : it->second;
  }

  int open(const std::string& path, int flags, mode_t mode) override {
    if (fails(Call::kOpen, path)) return -1;
    const int fd = OwnFiles::open(path, flags, mode);
    std::lock_guard lock(mutex_);
    names_[fd] = path;
    return fd;
  }
  ssize_t pread(int fd, void* bytes, std::size_t n, off_t offset) override {
    return fails(Call::kRead, name_of(fd)) ? -1 : OwnFiles::pread(fd, bytes, n, offset);
  }
  ssize_t pwrite(int fd, const void* bytes, std::size_t n, off_t offset) override {
    return fails(Call::kWrite, name_of(fd)) ? -1 : OwnFiles::pwrite(fd, bytes, n, offset);
  }
  int fdatasync(int fd) override {
    return fails(Call::kSync, name_of(fd)) ? -1 : OwnFiles::fdatasync(fd);
  }
  int fsync(int fd) override { return fails(Call::kSync, name_of(fd)) ? -1 : OwnFiles::fsync(fd); }
  int rename(const std::string& from, const std::string& to) override {
    return fails(Call::kRename, from) ? -1 : OwnFiles::rename(from, to);
  }

 private:
  std::string name_of(int fd) const {
    std::lock_guard lock(mutex_);
    return names_.at(fd);
  }
  bool fails(Call call, const std::string& path) {
    std::lock_guard lock(mutex_);
    if (call == Call::kSync) ++syncs_[fs::path(path).filename()];
    if (call != call_ || fs::path(path).filename() != name_) return false;
    ++failures_;
    errno = error_;
    return true;
  }

  mutable std::mutex mutex_;
  Call call_ = Call::kNone;
  std::string name_;
  int error_ = 0;
  int failures_ = 0;
  std::map<int, std::string> names_;
  std::map<std::string, int> syncs_;
};

using Call = FailingFiles::Call;

class OwnFilesTest : public ::testing::Test {
 protected:
  OwnFilesTest() {
    options_.directory = directory_ / "data";
    options_.own_files = files_;
    options_.witness_interval = std::chrono::milliseconds(1);
    options_.on_fatal = [this](const Failure& failure) {
      std::lock_guard lock(mutex_);
      fatal_.push_back(failure);
      changed_.notify_all();
    };
  }
  std::unique_ptr<core::ShardStore> open_ok() {
    auto result = store::open_store(options_, executor_);
    if (result.failure) ADD_FAILURE() << result.failure->describe();
    return std::move(result.store);
  }
  Failure refused() {
    auto result = store::open_store(options_, executor_);
    EXPECT_TRUE(result.failure) << "opened";
    return result.failure.value_or(Failure{});
  }
  static Outcome put(Driver& driver, const std::string& key) {
    return driver.commit([&](core::Batch& b) { b.put(Keyspace::kJob, key, "v"); });
  }
  // The first failure, which comes from a thread of the store.
  Failure await_fatal() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(20), [this] { return !fatal_.empty(); }));
    return fatal_.empty() ? Failure{} : fatal_.front();
  }
  std::size_t told() {
    std::lock_guard lock(mutex_);
    return fatal_.size();
  }

  TempDirectory directory_;
  store::OpenOptions options_;
  core::InlineExecutor executor_;
  std::shared_ptr<FailingFiles> files_ = std::make_shared<FailingFiles>();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Failure> fatal_;
};

TEST_F(OwnFilesTest, AWitnessThatCannotBeSyncedOrWrittenEndsTheStore) {
  core::CommitSeq acked = 0;
  for (const auto& [call, error, kind] : {std::tuple{Call::kSync, EIO, FailureKind::kIo},
                                          {Call::kWrite, EIO, FailureKind::kIo},
                                          {Call::kWrite, ENOSPC, FailureKind::kDiskFull}}) {
    SCOPED_TRACE("call " + std::to_string(static_cast<int>(call)));
    auto store = open_ok();
    ASSERT_NE(store, nullptr);
    EXPECT_EQ(store->last_committed(), acked) << "all that was acknowledged is there";
    Driver driver(*store);
    ASSERT_EQ(put(driver, "before"), Outcome::kCommitted);
    ++acked;
    const int before = files_->failures();
    files_->fail(call, "acked_seq", error);
    // One batch more is news for the witness; whether it still comes through is a race.
    if (put(driver, "news") == Outcome::kCommitted) ++acked;
    const Failure failure = await_fatal();
    EXPECT_EQ(failure.kind, kind);
    EXPECT_THAT(failure.text, HasSubstr("acked_seq"));
    EXPECT_EQ(put(driver, "after"), Outcome::kUnknown);
    EXPECT_EQ(store->pressure(), core::Pressure::kFailed);
    store->close();
    EXPECT_EQ(files_->failures(), before + 1) << "it was tried again";
    EXPECT_EQ(told(), 1U);
    store = nullptr;
    files_->fail(Call::kNone, {}, 0);
    fatal_.clear();
  }
  EXPECT_EQ(open_ok()->last_committed(), acked);
}

TEST_F(OwnFilesTest, AWitnessThatCannotBeWrittenAtTheEndIsToldToo) {
  options_.witness_interval = std::chrono::hours(1);
  auto store = open_ok();
  Driver driver(*store);
  ASSERT_EQ(put(driver, "a"), Outcome::kCommitted);
  files_->fail(Call::kSync, "acked_seq", EIO);
  store->close();
  EXPECT_EQ(await_fatal().kind, FailureKind::kIo);
  EXPECT_THAT(await_fatal().text, HasSubstr("acked_seq"));
  store = nullptr;
  files_->fail(Call::kNone, {}, 0);
  EXPECT_EQ(open_ok()->last_committed(), 1U);
}

TEST_F(OwnFilesTest, ACreationThatMeetsAnErrorNamesTheFileAndIsFinishedLater) {
  for (const auto& [call, name] : {std::pair{Call::kOpen, "lock"},
                                   {Call::kWrite, "lock"},
                                   {Call::kOpen, "acked_seq"},
                                   {Call::kRead, "acked_seq"},
                                   {Call::kWrite, "acked_seq"},
                                   {Call::kSync, "acked_seq"},
                                   {Call::kOpen, "store_id"},
                                   {Call::kOpen, "store_id.new"},
                                   {Call::kWrite, "store_id.new"},
                                   {Call::kSync, "store_id.new"},
                                   {Call::kRename, "store_id.new"},
                                   {Call::kSync, "data"},
                                   {Call::kOpen, "data"}}) {
    SCOPED_TRACE(std::string(name) + ", call " + std::to_string(static_cast<int>(call)));
    fs::remove_all(options_.directory);
    files_->fail(call, name, EIO);
    const Failure failure = refused();
    EXPECT_EQ(failure.kind, FailureKind::kIo) << failure.text;
    EXPECT_THAT(failure.text, HasSubstr(name));
    EXPECT_TRUE(fatal_.empty()) << "the open has reported it";
    files_->fail(Call::kNone, {}, 0);
    auto store = open_ok();
    ASSERT_NE(store, nullptr);
    Driver driver(*store);
    EXPECT_EQ(put(driver, "a"), Outcome::kCommitted);
  }
}

// What a creation left that was cut short can be read, and need not have come to the disk.
TEST_F(OwnFilesTest, TheWitnessOfACreationIsSyncedByTheOneThatFinishesIt) {
  files_->fail(Call::kOpen, "store_id.new", EIO);  // the witness is whole before it
  EXPECT_EQ(refused().kind, FailureKind::kIo);
  files_->fail(Call::kNone, {}, 0);
  const int before = files_->syncs("acked_seq");
  options_.witness_interval = std::chrono::hours(1);
  ASSERT_NE(open_ok(), nullptr);
  EXPECT_EQ(files_->syncs("acked_seq"), before + 2) << "both copies";
}

// One that was killed between the name of store_id and its sync leaves a store like any other.
TEST_F(OwnFilesTest, EachOpenMakesItsFilesNamesDurableBeforeItAcknowledgesAnything) {
  files_->fail(Call::kRename, "store_id.new", EIO);
  EXPECT_EQ(refused().kind, FailureKind::kIo);
  files_->fail(Call::kNone, {}, 0);
  fs::rename(options_.directory + "/store_id.new", options_.directory + "/store_id");
  const int before = files_->syncs("data");
  ASSERT_NE(open_ok(), nullptr);
  EXPECT_EQ(files_->syncs("data"), before + 1);
  files_->fail(Call::kSync, "data", EIO);
  EXPECT_THAT(refused().text, HasSubstr("sync directory"));
  files_->fail(Call::kNone, {}, 0);
  options_.read_only = true;
  const int read_only = files_->syncs("data");
  ASSERT_NE(open_ok(), nullptr);
  EXPECT_EQ(files_->syncs("data"), read_only) << "a look changes nothing";
}

// Whether there were batches is not known where the witness cannot be read.
TEST_F(OwnFilesTest, NoStoreIsMadeBesideAWitnessThatCannotBeRead) {
  {
    auto store = open_ok();
    Driver driver(*store);
    ASSERT_EQ(put(driver, "a"), Outcome::kCommitted);
    store->close();
  }
  const std::string identity = read_file(options_.directory + "/store_id");
  fs::remove(options_.directory + "/store_id");
  fs::rename(options_.directory + "/db", directory_ / "db");
  files_->fail(Call::kRead, "acked_seq", EIO);
  EXPECT_EQ(refused().kind, FailureKind::kIo);
  EXPECT_FALSE(fs::exists(options_.directory + "/db"));
  files_->fail(Call::kNone, {}, 0);
  EXPECT_EQ(refused().kind, FailureKind::kDamage);
  fs::rename(directory_ / "db", options_.directory + "/db");
  write_file(options_.directory + "/store_id", identity);
  EXPECT_EQ(open_ok()->last_committed(), 1U);
}

// The first batch after a loss settles it by itself: nothing that comes after it can fail and leave
// a store that is refused once more, by a number that nobody has agreed to.
TEST_F(OwnFilesTest, AnAcceptedLossIsSettledByItsFirstBatchAlone) {
  options_.witness_interval = std::chrono::hours(1);
  {
    auto store = open_ok();
    Driver driver(*store);
    for (int i = 0; i < 5; ++i) ASSERT_EQ(put(driver, padded(i)), Outcome::kCommitted);
    store->close();
  }
  const std::string log = newest_log(options_.directory);
  truncate_file(log, file_size(log) - 3);
  EXPECT_THAT(refused().text, HasSubstr("--accept-loss-after=4"));
  options_.accept_loss_after = 4;
  {
    auto result = store::open_store(options_, executor_);
    ASSERT_FALSE(result.failure) << result.failure->describe();
    EXPECT_TRUE(result.info.loss_accepted);
    EXPECT_EQ(result.info.acked_seq, 5U) << "as it was found";
    result.store->close();  // without a batch nothing is settled
  }
  options_.accept_loss_after.reset();
  EXPECT_THAT(refused().text, HasSubstr("--accept-loss-after=4"));
  options_.accept_loss_after = 4;
  {
    auto store = open_ok();
    ASSERT_NE(store, nullptr);
    files_->fail(Call::kWrite, "acked_seq", EIO);
    Driver driver(*store);
    ASSERT_EQ(put(driver, "another"), Outcome::kCommitted);
    EXPECT_EQ(files_->failures(), 0);
  }
  files_->fail(Call::kNone, {}, 0);
  options_.accept_loss_after.reset();
  EXPECT_EQ(open_ok()->last_committed(), 5U);
}

TEST_F(OwnFilesTest, TheSystemsCallsReportAndProtectAsTheyAre) {
  store::OwnFiles& files = *store::system_files();
  const std::string path = directory_ / "file";
  EXPECT_EQ(files.open(path, O_RDONLY, 0), -1);
  EXPECT_EQ(errno, ENOENT);
  ASSERT_NE(open_ok(), nullptr);
  for (const char* name : {"lock", "acked_seq", "store_id"}) {
    EXPECT_EQ(fs::status(options_.directory + "/" + name).permissions(), fs::perms(0600)) << name;
  }
  EXPECT_EQ(fs::status(options_.directory).permissions(), fs::perms(0700));
  const auto failure = store::sync_directory(store::system_files(), path);
  ASSERT_TRUE(failure);
  EXPECT_THAT(failure->text, HasSubstr("open " + path));
}

}  // namespace
}  // namespace rota::testing
