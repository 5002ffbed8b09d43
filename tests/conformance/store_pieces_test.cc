// SPDX-License-Identifier: Apache-2.0
//
// The small parts of the store layer, one by one.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "conformance/store_files.h"
#include "model/keys.h"
#include "store/acked_seq.h"
#include "store/check_disk.h"
#include "store/data_directory.h"
#include "store/failure.h"
#include "store/kept_logs.h"
#include "store/rocks_failure.h"
#include "store/rocks_key.h"
#include "store/store_record.h"

namespace rota::testing {
namespace {

using core::Keyspace;
using store::Failure;
using store::FailureKind;

TEST(InsertHintTest, CoversJobKeysUpToTheLastByteAndNothingElse) {
  const auto hint = store::insert_hint();
  model::JobKey job;
  job.queue = 7;
  job.seq = 0x0102030405060708;
  const auto tagged = [](Keyspace keyspace, const std::string& key) {
    return store::tagged_key(store::tag_of(keyspace), key);
  };
  for (const std::string& key : {tagged(Keyspace::kJob, model::keys::job(job)),
                                 tagged(Keyspace::kSide, model::keys::job(job)),
                                 tagged(Keyspace::kFinal, model::keys::final_record(job))}) {
    ASSERT_TRUE(hint->InDomain(key));
    const rocksdb::Slice prefix = hint->Transform(key);
    EXPECT_EQ(prefix.data(), key.data());  // RocksDB keeps the pointer
    EXPECT_EQ(prefix.size(), key.size() - 1);
  }
  for (const std::string& key :
       {tagged(Keyspace::kMeta, "engine"), tagged(Keyspace::kPayload, model::keys::job(job)),
        tagged(Keyspace::kGrant, model::keys::grant(9)),
        tagged(Keyspace::kQueueState, model::keys::queue_counters(7)),
        tagged(Keyspace::kTimer, model::keys::timer({1000, model::keys::TimerKind::kPromote, job})),
        tagged(Keyspace::kFinal, model::keys::final_index(7, model::JobState::kSucceeded, 1000, 5)),
        tagged(Keyspace::kLedger, model::keys::ledger("default", "q", "key")),
        tagged(Keyspace::kRequest, model::keys::request(1, "default", "id")),
        tagged(Keyspace::kJob, ""), tagged(Keyspace::kJob, "short"), std::string(),
        store::store_record_key(), store::commit_record_key()}) {
    EXPECT_FALSE(hint->InDomain(key)) << key.size();
  }
}

TEST(StoreRecordTest, RoundTripAndDamage) {
  const std::string bytes = store::encode(store::StoreRecord{3, "the-id", 2});
  const auto record = store::decode_store_record(bytes);
  ASSERT_TRUE(record);
  EXPECT_EQ(record->format, 3U);
  EXPECT_EQ(record->store_id, "the-id");
  EXPECT_EQ(record->incarnation, 2U);
  const std::string commit = store::encode(store::CommitRecord{77, 5});
  EXPECT_EQ(store::decode_commit_record(commit)->seq, 77U);
  EXPECT_EQ(store::decode_commit_record(commit)->epoch, 5U);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(store::decode_store_record(damaged)) << i;
    EXPECT_FALSE(store::decode_store_record(bytes.substr(0, i))) << i;
  }
}

TEST(FailureTest, KindsHaveTheirExitCodesAndAdvice) {
  EXPECT_EQ((Failure{FailureKind::kDamage, ""}).exit_code(), 65);
  EXPECT_EQ((Failure{FailureKind::kInUse, ""}).exit_code(), 69);
  EXPECT_EQ((Failure{FailureKind::kDiskFull, ""}).exit_code(), 73);
  EXPECT_EQ((Failure{FailureKind::kIo, ""}).exit_code(), 74);
  EXPECT_EQ((Failure{FailureKind::kConfig, ""}).exit_code(), 78);
  EXPECT_EQ(store::system_failure(ENOSPC, "write x").kind, FailureKind::kDiskFull);
  EXPECT_EQ(store::system_failure(EDQUOT, "write x").kind, FailureKind::kDiskFull);
  EXPECT_EQ(store::system_failure(EIO, "write x").kind, FailureKind::kIo);
  EXPECT_EQ(store::system_failure(EIO, "write x").text, "write x: Input/output error");
  const std::string line = Failure{FailureKind::kIo, "first\nsecond"}.describe();
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(line.rfind("I/O error: first second; ", 0), 0U) << line;
}

TEST(FailureTest, RocksStatusIsClassified) {
  using rocksdb::Status;
  EXPECT_EQ(store::rocks_failure(Status::Corruption("x"), "w").kind, FailureKind::kDamage);
  EXPECT_EQ(store::rocks_failure(Status::NoSpace("x"), "w").kind, FailureKind::kDiskFull);
  EXPECT_EQ(store::rocks_failure(Status::IOError("x"), "w").kind, FailureKind::kIo);
  EXPECT_EQ(store::rocks_failure(Status::IOError("f: Disk quota exceeded"), "w").kind,
            FailureKind::kDiskFull);
  EXPECT_EQ(store::rocks_failure(Status::InvalidArgument("x"), "w").kind, FailureKind::kConfig);
  EXPECT_EQ(
      store::rocks_failure(
          Status::IOError("While lock file: /d/db/LOCK: Resource temporarily unavailable"), "w")
          .kind,
      FailureKind::kInUse);
}

TEST(HealthTest, TheFirstFailureIsToldOnceAndOnlyWhenArmed) {
  std::vector<std::string> told;
  store::Health health([&](const Failure& failure) { told.push_back(failure.text); });
  EXPECT_FALSE(health.failed());
  health.arm();
  health.fail({FailureKind::kIo, "first"});
  health.fail({FailureKind::kDamage, "second"});
  EXPECT_TRUE(health.failed());
  EXPECT_EQ(told, std::vector<std::string>{"first"});
  EXPECT_EQ(health.first()->text, "first");
  store::Health unarmed([&](const Failure&) { FAIL(); });
  unarmed.fail({FailureKind::kIo, "during open"});
  EXPECT_EQ(unarmed.first()->text, "during open");
  // Between the open's last look and its end: told then, and once.
  told.clear();
  store::Health late([&](const Failure& failure) { told.push_back(failure.text); });
  late.fail({FailureKind::kIo, "in between"});
  EXPECT_TRUE(told.empty());
  late.arm();
  late.fail({FailureKind::kIo, "later"});
  EXPECT_EQ(told, std::vector<std::string>{"in between"});
}

TEST(DataDirectoryTest, NetworkFileSystemsAreKnownByNumber) {
  EXPECT_EQ(store::network_file_system(0x6969), "NFS");
  EXPECT_EQ(store::network_file_system(0xFF534D42), "CIFS");
  EXPECT_EQ(store::network_file_system(0xFFFFFFFFFF534D42), "CIFS");  // sign-extended f_type
  EXPECT_EQ(store::network_file_system(0x01021997), "9P");
  EXPECT_EQ(store::network_file_system(0x65735546), "FUSE");
  EXPECT_EQ(store::network_file_system(0xEF53), std::nullopt);      // ext4
  EXPECT_EQ(store::network_file_system(0x58465342), std::nullopt);  // XFS
  EXPECT_EQ(store::network_file_system(0x01021994), std::nullopt);  // tmpfs
}

TEST(DataDirectoryTest, StoreIdsAreRandomUuids) {
  const std::string id = store::new_store_id();
  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(id[14], '4');
  EXPECT_NE(id, store::new_store_id());
}

TEST(AckedSeqTest, KeepsTheNewestOfTwoCopies) {
  const TempDirectory directory;
  const std::string path = directory / "acked_seq";
  {
    auto missing = store::AckedSeq::open(path, false);
    ASSERT_TRUE(std::holds_alternative<Failure>(missing));
    EXPECT_EQ(std::get<Failure>(missing).kind, FailureKind::kDamage);
    auto opened = store::AckedSeq::open(path, true);
    auto& acked = std::get<store::AckedSeq>(opened);
    EXPECT_EQ(acked.value(), 0U);
    for (core::CommitSeq seq = 1; seq <= 5; ++seq) EXPECT_FALSE(acked.write(seq));
  }
  {
    auto opened = store::AckedSeq::open(path, false);
    EXPECT_EQ(std::get<store::AckedSeq>(opened).value(), 5U);
  }
  // Copies are written in turn: 0, 0 at creation, then 1 to 5; the newest is in the first slot.
  flip_bit(path, 3);
  auto opened = store::AckedSeq::open(path, false);
  auto& acked = std::get<store::AckedSeq>(opened);
  EXPECT_EQ(acked.value(), 4U);
  EXPECT_FALSE(acked.write(6));
  auto again = store::AckedSeq::open(path, false);
  EXPECT_EQ(std::get<store::AckedSeq>(again).value(), 6U);
}

TEST(CheckDiskTest, MeasuresAndRefuses) {
  const TempDirectory directory;
  store::DiskCheckOptions quick;
  quick.total_ms = 200;
  const auto measured = store::check_disk(directory.path(), quick);
  ASSERT_TRUE(std::holds_alternative<store::DiskCheck>(measured));
  const auto& check = std::get<store::DiskCheck>(measured);
  ASSERT_EQ(check.samples.size(), 3U);
  EXPECT_EQ(check.samples[0].batch, 1U);
  EXPECT_EQ(check.samples[2].batch, 1000U);
  for (const auto& sample : check.samples) {
    EXPECT_GT(sample.syncs, 0U);
    EXPECT_GT(sample.jobs_per_s, 0);
    EXPECT_LE(sample.p50_us, sample.p99_us);
    EXPECT_LE(sample.p99_us, sample.max_us);
  }
  const std::string text = store::to_text(check);
  EXPECT_NE(text.find("1000"), std::string::npos);
  EXPECT_NE(text.find(directory.path()), std::string::npos);
  EXPECT_TRUE(files_ending(directory.path(), "").empty());  // nothing left behind

  const auto missing = store::check_disk(directory / "nothing", quick);
  ASSERT_TRUE(std::holds_alternative<Failure>(missing));
  EXPECT_EQ(std::get<Failure>(missing).kind, FailureKind::kConfig);
}

TEST(KeptLogs, OfTornOnesTheNewestFourStay) {
  TempDirectory directory;
  const std::string log = directory / "000007.log";
  write_file(log, "torn");
  ASSERT_FALSE(store::keep_logs(directory.path(), {log}, "loss-after-1"));
  const auto folder = [&](int i) {
    return directory / ("kept_logs/torn-after-" + std::to_string(i));
  };
  for (int i = 1; i <= 6; ++i) {
    ASSERT_FALSE(store::keep_logs(directory.path(), {log}, "torn-after-" + std::to_string(i)));
    // The times of a file system can be coarser than this loop.
    std::filesystem::last_write_time(
        folder(i), std::filesystem::file_time_type::clock::now() - std::chrono::hours(10 - i));
  }
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(std::filesystem::exists(folder(i)), i > 2) << i;
  EXPECT_EQ(read_file(folder(6) + "/000007.log"), "torn");
  EXPECT_TRUE(std::filesystem::exists(directory / "kept_logs/loss-after-1/000007.log"));
}

}  // namespace
}  // namespace rota::testing
