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

// Format 1 is the first one, so no step exists yet.
const std::vector<UpgradeStep> kUpgrades = {};

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
