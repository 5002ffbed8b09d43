// SPDX-License-Identifier: Apache-2.0
#include "store/upgrade.h"

#include <string>
#include <vector>

namespace rota::store {

namespace {

// Rewrites rows of format `from` to `from + 1`; repeatable from its start after a crash.
struct UpgradeStep {
  std::uint32_t from;
  std::optional<Failure> (*run)(RocksDatabase& database);
};

// 1 to 2: the commit record goes to both families. It must reach a table of the second one before
// the new format is stored: what a table without it holds cannot be told.
std::optional<Failure> second_commit_record(RocksDatabase& database) {
  std::optional<CommitRecord> commit;
  auto status = database.commit_of(database.state, &commit);
  if (status.ok() && !commit) status = rocksdb::Status::Corruption("there is no commit record");
  if (status.ok()) status = database.put_own({{commit_record_key(), encode(*commit)}});
  if (status.ok()) status = database.db->Flush(rocksdb::FlushOptions(), database.payload);
  if (!status.ok()) return rocks_failure(status, "store the second commit record");
  return std::nullopt;
}

const std::vector<UpgradeStep> kUpgrades = {{1, second_commit_record}};

const UpgradeStep* step_from(std::uint32_t format) {
  for (const UpgradeStep& step : kUpgrades) {
    if (step.from == format) return &step;
  }
  return nullptr;
}

}  // namespace

Failure newer_format(const DataDirectory& directory, std::uint32_t format) {
  return {FailureKind::kConfig,
          "data directory " + directory.path() + " has format " + std::to_string(format) +
              " (file store_id), this server knows formats up to " + std::to_string(kStoreFormat) +
              ": it was written by a newer version, start that one"};
}

std::optional<Failure> upgrade(const DataDirectory& directory, RocksDatabase& database,
                               StoreRecord* record) {
  if (record->format > kStoreFormat) return newer_format(directory, record->format);
  if (record->format == kStoreFormat) return std::nullopt;
  for (std::uint32_t format = record->format; format < kStoreFormat; ++format) {
    if (step_from(format) != nullptr) continue;
    return Failure{FailureKind::kConfig,
                   "data directory " + directory.path() + " has format " + std::to_string(format) +
                       " (file store_id)" +
                       ", which this version cannot upgrade: start an earlier release first"};
  }
  // The file first: from here on an older server refuses the directory.
  if (auto failure = directory.write_identity({kStoreFormat, record->store_id})) return failure;
  while (record->format < kStoreFormat) {
    if (auto failure = step_from(record->format)->run(database)) return failure;
    ++record->format;
    const auto status = database.put_own({{store_record_key(), encode(*record)}});
    if (!status.ok()) return rocks_failure(status, "store the new format");
  }
  return std::nullopt;
}

}  // namespace rota::store
