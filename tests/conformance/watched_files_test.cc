// SPDX-License-Identifier: Apache-2.0
//
// The file system under RocksDB: the first error ends the store, and nothing is tried again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <vector>

#include "conformance/store_files.h"
#include "store/watched_files.h"

namespace rota::testing {
namespace {

using rocksdb::FileOptions;
using rocksdb::FileSystem;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using store::Failure;
using store::FailureKind;
using ::testing::HasSubstr;

// Counts the syncs that arrive, and answers with what it was told.
class SyncFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  SyncFile(std::unique_ptr<rocksdb::FSWritableFile> file, int* syncs, const IOStatus* answer)
      : FSWritableFileOwnerWrapper(std::move(file)), syncs_(syncs), answer_(answer) {}
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    ++*syncs_;
    return *answer_;
  }

 private:
  int* syncs_;
  const IOStatus* answer_;
};

class SyncSystem final : public rocksdb::FileSystemWrapper {
 public:
  SyncSystem() : FileSystemWrapper(FileSystem::Default()) {}
  const char* Name() const override { return "rota.sync_system"; }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* dbg) override {
    auto status = target()->NewWritableFile(name, options, file, dbg);
    if (status.ok()) *file = std::make_unique<SyncFile>(std::move(*file), &syncs, &answer);
    return status;
  }
  int syncs = 0;
  IOStatus answer = IOStatus::OK();
};

class WatchedFilesTest : public ::testing::Test {
 protected:
  WatchedFilesTest() {
    health_->arm();
    watched_ = store::watch_files(base_, health_);
  }
  std::unique_ptr<rocksdb::FSWritableFile> create(const std::string& name) {
    std::unique_ptr<rocksdb::FSWritableFile> file;
    const auto status = watched_->NewWritableFile(directory_ / name, {}, &file, nullptr);
    EXPECT_TRUE(status.ok()) << status.ToString();
    return file;
  }

  TempDirectory directory_;
  std::vector<Failure> fatal_;
  std::shared_ptr<store::Health> health_ = std::make_shared<store::Health>(
      [this](const Failure& failure) { fatal_.push_back(failure); });
  std::shared_ptr<SyncSystem> base_ = std::make_shared<SyncSystem>();
  std::shared_ptr<FileSystem> watched_;
};

TEST_F(WatchedFilesTest, AFailedSyncEndsTheStoreAndNoFileIsSyncedAgain) {
  auto one = create("one");
  auto two = create("two");
  EXPECT_TRUE(one->Sync({}, nullptr).ok());
  EXPECT_TRUE(fatal_.empty());
  base_->answer = IOStatus::IOError("injected");
  EXPECT_TRUE(one->Sync({}, nullptr).IsIOError());
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kIo);
  EXPECT_THAT(fatal_[0].text, HasSubstr("sync " + directory_ / "one"));
  EXPECT_EQ(base_->syncs, 2);
  base_->answer = IOStatus::OK();  // as Linux does
  EXPECT_FALSE(one->Sync({}, nullptr).ok());
  EXPECT_FALSE(two->Sync({}, nullptr).ok());
  EXPECT_EQ(base_->syncs, 2) << "not passed on";
  EXPECT_EQ(fatal_.size(), 1U);
}

TEST_F(WatchedFilesTest, AFailedStoreChangesNoFile) {
  auto file = create("file");
  ASSERT_TRUE(file->Append("before", {}, nullptr).ok());
  base_->answer = IOStatus::NoSpace("injected");
  EXPECT_TRUE(file->Sync({}, nullptr).IsNoSpace());
  ASSERT_EQ(fatal_.size(), 1U);
  EXPECT_EQ(fatal_[0].kind, FailureKind::kDiskFull);
  EXPECT_FALSE(file->Append("after", {}, nullptr).ok());
  EXPECT_FALSE(watched_->DeleteFile(directory_ / "file", {}, nullptr).ok());
  EXPECT_FALSE(watched_->RenameFile(directory_ / "file", directory_ / "else", {}, nullptr).ok());
  std::unique_ptr<rocksdb::FSWritableFile> other;
  EXPECT_FALSE(watched_->NewWritableFile(directory_ / "other", {}, &other, nullptr).ok());
  std::unique_ptr<rocksdb::FSDirectory> directory;
  ASSERT_TRUE(watched_->NewDirectory(directory_.path(), {}, &directory, nullptr).ok());
  EXPECT_FALSE(directory->Fsync({}, nullptr).ok());
  EXPECT_EQ(read_file(directory_ / "file"), "before");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "other"));
  std::unique_ptr<rocksdb::FSSequentialFile> in;
  EXPECT_TRUE(watched_->NewSequentialFile(directory_ / "file", {}, &in, nullptr).ok())
      << "reading is no change";
}

TEST_F(WatchedFilesTest, WhatIsNotThereIsNoFailure) {
  std::unique_ptr<rocksdb::FSRandomAccessFile> file;
  EXPECT_FALSE(watched_->NewRandomAccessFile(directory_ / "none", {}, &file, nullptr).ok());
  EXPECT_FALSE(watched_->DeleteFile(directory_ / "none", {}, nullptr).ok());
  std::vector<std::string> children;
  EXPECT_FALSE(watched_->GetChildren(directory_ / "none", {}, &children, nullptr).ok());
  EXPECT_FALSE(health_->failed()) << health_->first()->text;
  EXPECT_NE(create("file"), nullptr);
}

}  // namespace
}  // namespace rota::testing
