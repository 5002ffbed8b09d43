// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_options.h"

#include <rocksdb/cache.h>
#include <rocksdb/filter_policy.h>
#include <rocksdb/statistics.h>
#include <rocksdb/table.h>
#include <rocksdb/utilities/table_properties_collectors.h>

#include <algorithm>
#include <thread>

#include "store/rocks_key.h"

namespace rota::store {

namespace {

int background_jobs() {
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 2, 4);
}

void durability(rocksdb::DBOptions& o) {
  // A record that is torn at the very end of the log was never acknowledged; damage anywhere else
  // refuses the open. The default would silently drop everything behind the first bad record.
  o.wal_recovery_mode = rocksdb::WALRecoveryMode::kTolerateCorruptedTailRecords;
  // After a failed sync the page cache may show what the disk does not hold: what is replayed must
  // be written into a new, synced file before anything is answered.
  o.avoid_flush_during_recovery = false;
  // Never resume after a background error: the process ends and the next open reads the disk.
  o.max_bgerror_resume_count = 0;
  o.paranoid_checks = true;  // without it a failed log write is forgotten and writing goes on
  o.best_efforts_recovery = false;
  // Nothing reads that file, and a write of it that fails ends the store by watched_files; RocksDB
  // would fail the open, and then an assertion on the way out.
  o.fail_if_options_file_error = false;
  o.use_fsync = false;  // fdatasync covers the growth of the file
  o.atomic_flush = false;
  o.allow_mmap_reads = false;  // an I/O error would arrive as SIGBUS
  o.allow_mmap_writes = false;
  // Each of these has a recovery fault in 7.8, fixed later.
  o.recycle_log_file_num = 0;
  o.wal_compression = rocksdb::kNoCompression;
  o.track_and_verify_wals_in_manifest = false;  // false alarms after a checkpoint until 7.10
  o.manual_wal_flush = false;
  o.WAL_ttl_seconds = 0;
  o.WAL_size_limit_MB = 0;
}

void one_writer(rocksdb::DBOptions& o) {
  o.allow_concurrent_memtable_write = false;  // the insert hint needs it
  o.enable_pipelined_write = false;
  o.unordered_write = false;
  o.two_write_queues = false;
  o.allow_2pc = false;
}

}  // namespace

rocksdb::DBOptions database_options(const StoreSizes& sizes, rocksdb::Env* env,
                                    std::shared_ptr<rocksdb::EventListener> listener) {
  rocksdb::DBOptions o;
  durability(o);
  one_writer(o);
  o.env = env;
  o.listeners = {std::move(listener)};
  o.db_write_buffer_size = sizes.write_buffers_bytes;
  o.max_total_wal_size = sizes.wal_bytes;  // bounds the time of a start after a crash
  o.max_background_jobs = background_jobs();
  o.max_open_files = -1;  // all files are opened, and so looked at, at the start
  o.bytes_per_sync = 1 << 20;
  o.wal_bytes_per_sync = 0;  // each batch is synced by us
  o.statistics = rocksdb::CreateDBStatistics();
  o.statistics->set_stats_level(rocksdb::StatsLevel::kExceptHistogramOrTimers);
  o.stats_persist_period_sec = 0;
  o.keep_log_file_num = 4;
  o.max_log_file_size = 16 << 20;
  return o;
}

FamilyOptions family_options(const StoreSizes& sizes) {
  rocksdb::BlockBasedTableOptions table;
  // Strict: the cache is the only read memory that could grow with the backlog. A read that finds
  // no room in it fails, so nothing large may be put there: payload blocks are read past the cache,
  // and few shards keep each of them far larger than any block.
  rocksdb::LRUCacheOptions cache;
  cache.capacity = sizes.block_cache_bytes;
  cache.num_shard_bits = 1;
  cache.strict_capacity_limit = true;
  table.block_cache = rocksdb::NewLRUCache(cache);
  table.cache_index_and_filter_blocks = true;
  table.cache_index_and_filter_blocks_with_high_priority = true;
  table.checksum = rocksdb::kXXH3;
  table.format_version = 5;  // 6 needs RocksDB 8.6
  table.filter_policy.reset(rocksdb::NewBloomFilterPolicy(10));
  table.whole_key_filtering = true;

  rocksdb::ColumnFamilyOptions family;
  family.write_buffer_size = sizes.write_buffers_bytes;
  // More than two, with parallel flushes, can reorder updates when a flush is repeated (fixed in
  // 7.9). Most jobs are born and die inside one memtable and never reach a file.
  family.max_write_buffer_number = 2;
  family.memtable_protection_bytes_per_key = 8;
  family.level_compaction_dynamic_level_bytes = true;
  family.compression = rocksdb::kLZ4Compression;
  family.force_consistency_checks = true;
  family.paranoid_file_checks = sizes.paranoid_file_checks;
  family.table_factory.reset(rocksdb::NewBlockBasedTableFactory(table));

  FamilyOptions options{family, family};
  options.state.memtable_insert_with_hint_prefix_extractor = insert_hint();
  // A queue is eaten from its head: files that are mostly deletions are compacted early.
  options.state.table_properties_collector_factories.push_back(
      rocksdb::NewCompactOnDeletionCollectorFactory(16384, 8192, 0.5));
  return options;
}

}  // namespace rota::store
