// SPDX-License-Identifier: Apache-2.0
//
// The store's own two records, kept in the database under kOwnTag, and the format version.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/store.h"

namespace rota::store {

// The version of everything a data directory holds: files, key layout, record formats.
//
// A server writes this version, upgrades any older one that it knows (upgrade.cc), and refuses a
// newer one, which an older binary could only damage. How to change it:
//
// 1. A change that an old server can read past without harm (a new keyspace that it never loads, a
//    new optional field at the end of a record with a format byte of its own) needs no new version.
//    Everything else does.
// 2. Raise kStoreFormat by one. Add a step `from = old version` to kUpgrades in upgrade.cc: it
//    rewrites what changed by batches of at most 1,000 rows and must be repeatable from the start,
//    since a crash in its middle runs it again. The new version is stored in the batch after the
//    last row. Before the first row the file `store_id` is given the new version, so that an old
//    server refuses a directory whose upgrade has begun.
// 3. Keep the step for as long as a release that wrote the old version is supported; going from
//    n to n + 2 runs both steps.
// 4. Add a data directory written by the last release to the tests, and a test that opens it.
// 5. Say in CHANGELOG.md that going back needs the backup made before the upgrade.
//
// 2: the commit record stands in both column families.
inline constexpr std::uint32_t kStoreFormat = 2;
inline constexpr std::uint32_t kFormatOfTwoCommitRecords = 2;

// What identifies a store. Written at creation and by upgrades.
struct StoreRecord {
  std::uint32_t format = 0;
  std::string store_id;           // also in the file `store_id`; both must agree
  std::uint32_t incarnation = 1;  // raised by a restore from backup
};
std::string encode(const StoreRecord& record);
std::optional<StoreRecord> decode_store_record(std::string_view bytes);

// How far the store has come: a batch, or the begin of an epoch, which is no batch. Rewritten with
// each of the two, in both column families: their tables and logs can lose their ends apart.
struct CommitRecord {
  core::CommitSeq seq = 0;
  core::Epoch epoch = 0;
  auto operator<=>(const CommitRecord&) const = default;  // the order in which they were written
};
std::string encode(const CommitRecord& record);
std::optional<CommitRecord> decode_commit_record(std::string_view bytes);

// Keys of RocksDB, tag included.
std::string store_record_key();
std::string commit_record_key();

}  // namespace rota::store
