// SPDX-License-Identifier: Apache-2.0
//
// Opening the embedded store: strict. It refuses what it cannot prove harmless and says why; it
// never repairs, skips or drops anything by itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/store.h"
#include "store/failure.h"

namespace rota::store {

class OwnFiles;

// Memory and log budgets; for the whole store, not for each of its parts.
struct StoreSizes {
  std::size_t write_buffers_bytes = 64U << 20;
  std::size_t block_cache_bytes = 32U << 20;
  std::uint64_t wal_bytes = 96U << 20;
  // Free space of the file system below which pressure() asks for no new work, and for none at all.
  std::uint64_t low_space_bytes = 512U << 20;
  std::uint64_t no_space_bytes = 192U << 20;
  // Less than this free, and a store is not opened: what the open writes itself would not fit.
  std::uint64_t open_space_bytes = 16U << 20;
  // Held back for the open after a stop at no_space_bytes; 0: nothing. See ballast.h.
  std::uint64_t ballast_bytes = 0;
  bool paranoid_file_checks = false;  // reads each new file back once; for tests
};

struct OpenOptions {
  std::string directory;
  // Make a store where there is none. Without it, a directory without a store is refused.
  bool create = true;
  // For offline checks: takes the lock, changes nothing, commit() is a programming error.
  bool read_only = false;
  bool allow_network_file_system = false;
  // The operator's consent to go on without every batch after this one. It must be the number that
  // the refusal of the damaged store named; where nothing is lost it means nothing.
  std::optional<core::CommitSeq> accept_loss_after;
  StoreSizes sizes;
  // Free bytes of the file system, for tests; unset: what it says itself.
  std::function<std::optional<std::uint64_t>()> free_bytes;
  // The system calls of the store's own files, for tests; unset: as they are. See own_files.h.
  std::shared_ptr<OwnFiles> own_files;
  // How late the witness of what was acknowledged may be, but for the time of its sync.
  std::chrono::milliseconds witness_interval{900};
  // What to do at the first failure after the open; see failure.h. The store is poisoned before it
  // is called: nothing is acknowledged any more, whether or not the function returns.
  FatalFn on_fatal;
};

struct StoreInfo {
  std::string store_id;
  std::uint32_t format = 0;
  bool created = false;
  core::CommitSeq recovered_seq = 0;  // the newest batch found
  core::CommitSeq acked_seq = 0;      // what the witness file knew to be acknowledged
  std::uint64_t open_ms = 0;
  // Batches after recovered_seq, acknowledged perhaps, were given up: accept_loss_after. The
  // incarnation is a new one, and whoever numbers things must jump ahead of what may be lost, in
  // the first batch: until that is committed, an open without the consent is refused as before.
  bool loss_accepted = false;
  // One sentence about the last batch of the log, torn while nobody had been told of it, which was
  // left out; empty when there was none.
  std::string torn_log;
  // The disk was full and the ballast is given up: no new work is taken until there is room for
  // another one.
  bool gave_up_ballast = false;
  // Why there is no ballast although there is room for it; empty otherwise.
  std::string no_ballast;
};

struct OpenResult {
  std::unique_ptr<core::ShardStore> store;  // null exactly when there is a failure
  StoreInfo info;
  std::optional<Failure> failure;
};

// Takes the lock, checks identity and format, recovers, compares with the witness of what was
// acknowledged, and begins a new epoch in a synced batch. Of the logs nothing is left out but a
// last batch torn in a crash, provided that the witness does not know it. Blocking: replays at most
// sizes.wal_bytes of log. `executor` runs the store's work and must outlive the store; it must be
// drained before the store is destroyed.
//
// Failures: kInUse (another process; names it), kConfig (directory, file system, newer format, a
// store_id that is not the database's), kDamage (names file and place where they are known),
// kDiskFull, kIo.
OpenResult open_store(const OpenOptions& options, core::Executor& executor);

}  // namespace rota::store
