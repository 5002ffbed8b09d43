// SPDX-License-Identifier: Apache-2.0
//
// What is done to a store while its disk fails: batches whose content follows from a seed and their
// number, so that what must be there after any number of them is known without a record of it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/store.h"
#include "faults/fault_disk.h"
#include "store/open.h"

namespace rota::faults {

// Where a batch stands: in the log of this number, from `begin` up to `end`. What RocksDB and an
// open write there beside batches belongs to none.
struct BatchPlace {
  core::CommitSeq seq = 0;
  std::uint64_t log = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};
inline constexpr std::size_t kPlacesMax = 1024;

// What the process that works on the store leaves behind, however it ends; in shared memory.
struct WorkFacts {
  DiskFacts disk;
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> acked{0};
  std::atomic<std::uint64_t> acks_after_failure{0};  // of batches begun after the store had failed
  std::atomic<std::uint64_t> recovered{0};           // the batch at which a store was opened
  std::atomic<bool> opened{false};
  std::atomic<bool> finished{false};  // came to its end without a failure
  // Of the batches that were acknowledged, in their order; the first kPlacesMax of them.
  std::array<BatchPlace, kPlacesMax> places{};
  std::size_t place_count = 0;
  std::array<char, 2048> wrong{};    // the first wrong answer, as a sentence
  std::array<char, 2048> failure{};  // the first failure that the store reported

  void say_wrong(const std::string& text);
  void say_failure(const std::string& text);
};

using Key = std::pair<core::Keyspace, std::string>;
using Rows = std::map<Key, std::string>;

// A number from `least` to `most` that follows from the seed, what it is for, and which one it is.
std::uint64_t drawn(std::uint64_t seed, std::string_view purpose, std::uint64_t n,
                    std::uint64_t least, std::uint64_t most);

// What the batches hold.
struct Story {
  std::uint64_t seed = 1;
  // Batches after this one were lost, and others took their numbers.
  core::CommitSeq lost_after = UINT64_MAX;

  Story(std::uint64_t from) : seed(from) {}  // NOLINT: a seed alone is a story
  Story(std::uint64_t from, core::CommitSeq lost) : seed(from), lost_after(lost) {}
};

// The seed decides how many rows there are, how large, how often a payload, and how long they stay.
void fill(const Story& story, core::CommitSeq seq, core::Batch* batch);
// Every row after the batches 1 to `seq`.
Rows rows_after(const Story& story, core::CommitSeq seq);

// Small buffers, so that the workload meets flushes and compactions; the seed decides when.
store::StoreSizes small_sizes(std::uint64_t seed);

struct WorkOptions {
  std::string data;
  std::uint64_t seed = 1;
  core::CommitSeq after = 0;  // the batches that are there
  bool loses = false;         // what comes after these is given up, with the operator's consent
  int sessions = 1;           // opens
  int batches = 40;           // of a session
  bool settles = false;    // RocksDB's own work ends after each batch: the seed decides the files
  bool close_last = true;  // else the process just ends after its last batch
  bool exits = true;       // at a failure, as the server does; else it goes on against the store
  bool followed = false;   // the witness is up to date after each batch
  // Under the store's own files; loses its power at the end, when there was a fault.
  std::shared_ptr<FaultDisk> disk;
};

// In a process of its own: opens, commits, reads back and checks, closes, and again. Returns the
// exit code. Reads that give what was not written are said in the facts.
int work(const WorkOptions& options, std::shared_ptr<rocksdb::FileSystem> file_system,
         WorkFacts* facts);

// In a process of its own: opens the store on a disk that fails meanwhile, and ends. Returns the
// exit code.
int reopen(const std::string& data, std::uint64_t seed, const std::shared_ptr<FaultDisk>& disk,
           WorkFacts* facts);

// In a process of its own: opens what a fault has left, on a disk without faults, compares every
// row with what must be there after the batches that were recovered, and commits once more. Returns
// 0 with the number in the facts, or the exit code of the failure, with its sentence. `consent`: to
// give up what is lost after the story's number.
int recover(const std::string& data, const Story& story, bool consent, WorkFacts* facts);

}  // namespace rota::faults
