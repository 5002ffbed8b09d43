// SPDX-License-Identifier: Apache-2.0
//
// The file system under RocksDB: passes everything on, and fails the store at the first call that
// the device refuses. Two reasons not to leave that to RocksDB:
//
// - Linux reports a page that could not be written once and then takes it for clean. Whoever syncs
//   again is told that all is well, so there must be no second sync.
// - RocksDB 7.8 can lose rows in a compaction that meets a read error at the start of a file and
//   goes on.
#pragma once

#include <rocksdb/file_system.h>

#include <memory>

#include "store/rocks_failure.h"

namespace rota::store {

// The health fails before the caller is told of the error; in a server that ends the process, on
// the same thread. Where the process lives on (during the open, and in tests), nothing is written,
// synced, renamed or deleted through it any more: such calls are refused without being passed on.
//
// No error is: a file that is not there, a lock that another process holds, room that could not be
// reserved ahead.
std::shared_ptr<rocksdb::FileSystem> watch_files(std::shared_ptr<rocksdb::FileSystem> base,
                                                 std::shared_ptr<Health> health);

}  // namespace rota::store
