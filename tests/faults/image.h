// SPDX-License-Identifier: Apache-2.0
//
// Stores at rest, what can be done to their files, and what an open may then come to.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "faults/workload.h"

namespace rota::faults {

// A damage done to a file while no store is open.
struct Damage {
  // kTornRecord adds to a log the begin of a record whose other pages never came to the disk.
  enum class Kind {
    kNone,
    kFlip,
    kZeroPage,
    kCut,
    kZeroRest,
    kNoiseRest,
    kTornRecord,
    kMissing,
  } kind{};
  std::string file;  // relative to the data directory
  std::uint64_t offset = 0;
  unsigned bit = 0;
};

// "bit 3 flipped at 1234 of db/000012.log"
std::string text_of(const Damage& damage);

enum class ImageKind {
  kClosed,       // so that the witness knows every batch
  kCrashed,      // killed in mid-work: the witness lags, by all that the last session did
  kRestarted,    // killed, restarted, and killed after very few batches
  kHalfFlushed,  // killed with a payload in a log that only the payload family needs
  kTorn,         // killed, and nobody was told of the last batch
};

// A store at rest, copied for each damage.
struct Image {
  std::string name;  // "killed"
  std::string folder;
  core::CommitSeq acked = 0;      // clients know these, and all of them were synced
  core::CommitSeq submitted = 0;  // one more than acked for kTorn
  core::CommitSeq witness = 0;    // what the file acked_seq says
  // Of the batches whose log is still there, in their order.
  std::vector<BatchPlace> places;
  // The oldest log that the family needs; 0: all.
  std::uint64_t state_log = 0;
  std::uint64_t payload_log = 0;

  // One line: batches, witness, files.
  std::string text() const;
  // The log that was written last; relative, empty when there is none.
  std::string last_log() const;
  std::uint64_t bytes_of(const std::string& file) const;
};

// "db/000012.log"
std::string log_name(std::uint64_t number);

// Files of the image's database and directory, relative, whose name fits and that hold something.
std::vector<std::string> files_of(const Image& image,
                                  const std::function<bool(const std::string&)>& fits);

// Where the physical records of a log or MANIFEST begin, and where the last one ends.
std::vector<std::uint64_t> record_begins(const Image& image, const std::string& file);

// A payload stands in a log that the state family does not need any more.
bool is_half_flushed(const Image& image, std::uint64_t seed);

// The least batch at which an open of the damaged image may end without refusing it. That is the
// last one acknowledged, but for what the files cannot tell from a write that a crash tore:
//
// One batch is written at a time, and synced before the next, so only the last batch of the last
// log can be torn. A log that was cut off, or lost its pages, from some place on is what a crash
// leaves that came while the batch at that place was written; and so is a wrong byte which no whole
// batch follows. A last log that is missing is what a crash leaves that came before the first sync
// in it: RocksDB's list of files may name a log as needed that was never begun, after every open.
// Only the witness knows better, as far as it has come.
core::CommitSeq least_allowed(const Image& image, const Damage& damage);

// The image with the damage, in a folder that is not there yet.
void place(const Image& image, const Damage& damage, std::uint64_t seed, const std::string& to);

}  // namespace rota::faults
