// SPDX-License-Identifier: Apache-2.0
//
// Files that come back from the disk other than they were written.
#include <gtest/gtest.h>

#include <filesystem>

#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/open.h"

namespace rota::testing {
namespace {

namespace fs = std::filesystem;
using core::Keyspace;
using core::Outcome;
using core::ReadError;
using store::Failure;
using store::FailureKind;

class RocksDamageTest : public ::testing::Test {
 protected:
  RocksDamageTest() : data_(directory_ / "data") { options_.directory = data_; }

  store::OpenResult open() { return store::open_store(options_, executor_); }
  Failure refused() {
    auto result = open();
    EXPECT_TRUE(result.failure) << "opened at batch " << result.info.recovered_seq;
    EXPECT_EQ(result.store, nullptr);
    return result.failure.value_or(Failure{});
  }
  // `batches` batches of about 5 KB in one log; `clean` also writes the witness.
  void make(int batches, bool clean) {
    auto result = open();
    ASSERT_FALSE(result.failure) << result.failure->describe();
    Driver driver(*result.store);
    for (int i = 0; i < batches; ++i) {
      ASSERT_EQ(driver.commit([&](core::Batch& b) {
        for (int k = 0; k < 10; ++k) {
          b.put(Keyspace::kJob, padded(i * 10 + k), std::string(500, static_cast<char>('a' + k)));
        }
      }),
                Outcome::kCommitted);
    }
    if (clean) result.store->close();
  }
  std::size_t rows() {
    auto result = open();
    if (result.failure) {
      ADD_FAILURE() << result.failure->describe();
      return 0;
    }
    Driver driver(*result.store);
    return driver.load(Keyspace::kJob).size();
  }

  TempDirectory directory_;
  const std::string data_;
  store::OpenOptions options_;
  core::InlineExecutor executor_;
};

void expect_damage(const Failure& failure, const std::string& part) {
  EXPECT_EQ(failure.kind, FailureKind::kDamage) << failure.text;
  EXPECT_EQ(failure.exit_code(), 65);
  EXPECT_NE(failure.text.find(part), std::string::npos) << failure.text;
  EXPECT_NE(failure.describe().find("restore a backup"), std::string::npos);
}

TEST_F(RocksDamageTest, AFlippedBitInTheLogRefusesWithTheFile) {
  make(40, true);
  const std::string log = newest_log(data_);
  const std::string bytes = read_file(log);
  const std::string name = fs::path(log).filename().string();
  // Near the start, in the middle, and in the last record, which was acknowledged like any other.
  for (const std::size_t offset : {std::size_t{1000}, bytes.size() / 2, bytes.size() - 100}) {
    flip_bit(log, offset);
    const Failure failure = refused();
    expect_damage(failure, name + " at offset ");
    // The record begins at most a batch before the bit.
    const std::size_t place = std::stoull(
        failure.text.substr(failure.text.find(" at offset ") + std::string(" at offset ").size()));
    EXPECT_LE(place, offset);
    EXPECT_LT(offset - place, 6000U);
    write_file(log, bytes);
  }
  EXPECT_EQ(rows(), 400U);
}

TEST_F(RocksDamageTest, ARecordTornWhileNobodyWasToldIsLeftOut) {
  make(40, false);  // the witness lags behind
  const std::string log = newest_log(data_);
  truncate_file(log, file_size(log) - 1000);
  EXPECT_EQ(rows(), 390U);
}

TEST_F(RocksDamageTest, ALargeBatchMayBeTornAnywhere) {
  auto result = open();
  ASSERT_FALSE(result.failure) << result.failure->describe();
  Driver driver(*result.store);
  driver.commit([](core::Batch& b) { b.put(Keyspace::kJob, "a", "1"); });
  driver.commit([](core::Batch& b) { b.put(Keyspace::kJob, "b", "2"); });
  const std::size_t before = file_size(newest_log(data_));
  driver.commit([](core::Batch& b) {
    for (int i = 0; i < 8; ++i) b.put(Keyspace::kJob, padded(i), std::string(30'000, 'x'));
  });
  result.store.reset();
  const std::size_t after = file_size(newest_log(data_));
  const std::string whole = directory_ / "whole";
  fs::copy(data_, whole, fs::copy_options::recursive);

  // Inside headers, at their ends, and inside data, in each block the record goes through.
  constexpr std::size_t kBlock = 32768;
  std::vector<std::size_t> sizes = {before + 1, before + 6, before + 7, before + 8, after - 1};
  for (std::size_t block = kBlock; block < after; block += kBlock) {
    for (const std::size_t more : {0, 1, 6, 7, 8, 20'000}) sizes.push_back(block + more);
  }
  for (const std::size_t size : sizes) {
    if (size <= before || size >= after) continue;
    fs::remove_all(data_);
    fs::copy(whole, data_, fs::copy_options::recursive);
    truncate_file(newest_log(data_), size);
    EXPECT_EQ(rows(), 2U) << "cut at " << size << " of " << after;
  }
}

TEST_F(RocksDamageTest, ALogThatEndsBeforeWhatWasAcknowledgedRefuses) {
  make(40, true);
  const std::string log = newest_log(data_);
  const std::string bytes = read_file(log);
  for (const std::size_t size : {bytes.size() - 1000, bytes.size() / 2}) {
    truncate_file(log, size);
    const Failure failure = refused();
    expect_damage(failure, "acknowledged data is missing");
    EXPECT_NE(failure.text.find("batch 40 was acknowledged"), std::string::npos) << failure.text;
    // The refused open has put its own work into other files; start over from the copy.
    fs::remove_all(data_);
    make(40, true);
    ASSERT_EQ(read_file(newest_log(data_)).size(), bytes.size());
  }
}

TEST_F(RocksDamageTest, AnOlderCopyOfTheDatabaseRefuses) {
  make(10, true);
  fs::copy(data_ + "/db", directory_ / "older", fs::copy_options::recursive);
  make(10, true);
  fs::remove_all(data_ + "/db");
  fs::rename(directory_ / "older", data_ + "/db");
  expect_damage(refused(), "acknowledged data is missing");
}

TEST_F(RocksDamageTest, AFlippedBitInATableFailsTheReadWithTheFile) {
  make(40, true);
  EXPECT_EQ(rows(), 400U);  // this open has put the log into a table
  const auto tables = files_ending(data_ + "/db", ".sst");
  ASSERT_FALSE(tables.empty());
  std::string largest = tables.front();
  for (const auto& table : tables) {
    if (file_size(table) > file_size(largest)) largest = table;
  }
  flip_bit(largest, 200);
  std::vector<Failure> fatal;
  options_.on_fatal = [&](const Failure& failure) { fatal.push_back(failure); };
  auto result = open();
  if (result.failure) {
    expect_damage(*result.failure, fs::path(largest).filename().string());
    return;
  }
  std::string detail;
  EXPECT_EQ(result.store->load(
                Keyspace::kJob, [](std::string_view, std::string_view) { return true; }, &detail),
            ReadError::kFailed);
  ASSERT_EQ(fatal.size(), 1U);
  expect_damage(fatal[0], fs::path(largest).filename().string());
  EXPECT_EQ(detail, fatal[0].text);
}

TEST_F(RocksDamageTest, ATruncatedTableRefuses) {
  make(40, true);
  EXPECT_EQ(rows(), 400U);
  const auto tables = files_ending(data_ + "/db", ".sst");
  ASSERT_FALSE(tables.empty());
  const std::string bytes = read_file(tables.front());
  // Two bytes less, and RocksDB speaks of a version of the list of files.
  for (const std::size_t left : {bytes.size() / 2, bytes.size() - 2, std::size_t{3}}) {
    truncate_file(tables.front(), left);
    expect_damage(refused(), fs::path(tables.front()).filename().string());
    write_file(tables.front(), bytes);
  }
  EXPECT_EQ(rows(), 400U);
}

TEST_F(RocksDamageTest, AMissingTableRefuses) {
  make(40, true);
  EXPECT_EQ(rows(), 400U);
  const auto tables = files_ending(data_ + "/db", ".sst");
  ASSERT_FALSE(tables.empty());
  fs::remove(tables.front());
  // By its number: RocksDB also looks for the table under an older ending, and names that one.
  expect_damage(refused(), fs::path(tables.front()).stem().string());
}

TEST_F(RocksDamageTest, ADamagedManifestRefuses) {
  make(5, true);
  const auto all = fs::directory_iterator(data_ + "/db");
  for (const auto& entry : all) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("MANIFEST-", 0) == 0) flip_bit(entry.path().string(), 30);
  }
  expect_damage(refused(), "MANIFEST-");
}

TEST_F(RocksDamageTest, OneOfTheTwoCopiesOfTheWitnessIsEnough) {
  make(5, true);
  const std::string witness = data_ + "/acked_seq";
  const std::string bytes = read_file(witness);
  ASSERT_GT(bytes.size(), 4096U);
  flip_bit(witness, 4);
  EXPECT_EQ(rows(), 50U);
  write_file(witness, bytes);
  flip_bit(witness, 4096 + 4);
  EXPECT_EQ(rows(), 50U);
  flip_bit(witness, 4);
  expect_damage(refused(), "acked_seq");
}

}  // namespace
}  // namespace rota::testing
