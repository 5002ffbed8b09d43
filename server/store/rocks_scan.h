// SPDX-License-Identifier: Apache-2.0
//
// Bounded scans. An iterator cannot be had here without both bounds, and no page costs more than
// kMostStepped rows, however many deleted ones lie in the range.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include <cstdint>

#include "core/store.h"

namespace rota::store {

// Most entries that one page steps over, deleted and overwritten ones included, before it ends
// early with `more`. Twice this is a page's upper limit: once before its last row, once behind it.
inline constexpr std::uint64_t kMostStepped = 4'900;

struct ScanSource {
  rocksdb::DB* db = nullptr;
  rocksdb::ColumnFamilyHandle* family = nullptr;
  const rocksdb::Snapshot* snapshot = nullptr;  // required
  bool fill_cache = true;
};

// One page of `spec` in the tag's range. `stepped` gets the entries stepped over, returned rows
// included. OK with page->more and few or no rows when it met too many deleted ones; page->next is
// then larger than spec.begin, so that repeating from there ends.
rocksdb::Status scan_page(const ScanSource& source, char tag, const core::ScanSpec& spec,
                          core::ScanPage* page, std::uint64_t* stepped);

// All rows of the tag until `row` returns false, without the limit above; for start-up and offline.
rocksdb::Status scan_all(const ScanSource& source, char tag, const core::ShardStore::LoadFn& row,
                         std::uint64_t* stepped);

}  // namespace rota::store
