// SPDX-License-Identifier: Apache-2.0
#include "store/log_scan.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "store/rocks_failure.h"

namespace rota::store {

namespace {

constexpr std::string_view kLogSuffix = ".log";

// The log format of RocksDB: blocks of 32 KiB, in each of them records of
//   checksum u32 | length u16 | type u8 | (recyclable types: log number u32) | data
// all little-endian; the checksum covers type to data. A rest of a block too small for a header is
// padding. A batch stands in one record of type FULL or in FIRST, MIDDLE..., LAST.
constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
constexpr unsigned kFull = 1;
constexpr unsigned kFirst = 2;
constexpr unsigned kLast = 4;
constexpr unsigned kFirstRecyclableType = 5;
constexpr std::size_t kLogNumberBytes = 4;
// A batch of RocksDB begins with its sequence number and the count of its changes.
constexpr std::size_t kBatchHeaderBytes = 12;
constexpr std::size_t kBatchCountAt = 8;

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

std::uint32_t u32_at(std::string_view bytes, std::size_t i) {
  return byte_at(bytes, i) | (byte_at(bytes, i + 1) << 8U) | (byte_at(bytes, i + 2) << 16U) |
         (byte_at(bytes, i + 3) << 24U);
}

// RocksDB stores checksums rotated and shifted, since data may itself hold checksums.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U; }

bool all_zero(std::string_view bytes) {
  return bytes.find_first_not_of('\0') == std::string_view::npos;
}

enum class Look { kGood, kBad, kCutOff, kZeros };

struct Record {
  Look look = Look::kBad;
  unsigned type = 0;
  std::size_t bytes = 0;  // with its header
  std::string_view data;
};

// The record at the begin of `rest`, which ends with its block or with the file.
Record record_at(std::string_view rest, std::size_t room_in_block) {
  Record record;
  const std::size_t length = byte_at(rest, 4) | (byte_at(rest, 5) << 8U);
  record.type = byte_at(rest, 6);
  if (record.type == 0 && length == 0 && u32_at(rest, 0) == 0) {
    record.look = Look::kZeros;
    return record;
  }
  const std::size_t extra = record.type >= kFirstRecyclableType ? kLogNumberBytes : 0;
  record.bytes = kHeaderBytes + extra + length;
  if (record.bytes > room_in_block) return record;  // no record crosses a block
  if (record.bytes > rest.size()) {
    record.look = Look::kCutOff;
    return record;
  }
  if (u32_at(rest, 0) != masked(base::crc32c(rest.substr(6, 1 + extra + length)))) return record;
  record.data = rest.substr(kHeaderBytes + extra, length);
  record.look = Look::kGood;
  return record;
}

// Whether the record is proof that the batch before it was whole. The open itself writes a batch
// without a change at the begin of a new log.
bool is_begin(const Record& record) {
  return record.look == Look::kGood && (record.type == kFull || record.type == kFirst);
}
bool begins_a_batch(const Record& record) {
  if (!is_begin(record)) return false;
  return record.data.size() < kBatchHeaderBytes || u32_at(record.data, kBatchCountAt) != 0;
}

// Goes through one file or several, one after the other, block by block.
class Walk {
 public:
  // `batches`: the records are batches, and one without a change says nothing.
  // A file that is not there holds nothing.
  explicit Walk(rocksdb::FileSystem& files, bool batches = true)
      : files_(files), batch_records_(batches) {}
  void file(const std::string& path, std::uint64_t number = 0) {
    if (unreadable_) return;
    if (!damage_) {
      number_ = number;
      batches_ = 0;
    }
    zeros_.reset();
    cut_off_.reset();
    open_batch_.reset();
    std::unique_ptr<rocksdb::FSSequentialFile> in;
    auto status = files_.NewSequentialFile(path, rocksdb::FileOptions(), &in, nullptr);
    std::string block(kBlockBytes, '\0');
    bool more = status.ok();
    for (std::uint64_t begin = 0; more && !good_after_; begin += kBlockBytes) {
      std::size_t bytes = 0;
      status = read_block(*in, &block, &bytes);
      if (!status.ok()) break;
      more = bytes == kBlockBytes;
      look_at(path, begin, std::string_view(block.data(), bytes));
    }
    if (!status.ok() && !status.IsPathNotFound()) {
      unreadable_ = rocks_failure(status, "read " + path);
    }
    if (open_batch_) cut_off_ = open_batch_;
  }
  // The first error; no file is looked at after it.
  const std::optional<Failure>& unreadable() const { return unreadable_; }
  const std::optional<LogDamage>& damage() const { return damage_; }
  const std::optional<LogDamage>& good_after() const { return good_after_; }
  // Of the damaged file, or of the last one.
  std::uint64_t number() const { return number_; }
  std::uint64_t batches() const { return batches_; }
  // Where the last file ends in zeros.
  const std::optional<LogDamage>& zeros() const { return zeros_; }
  // Where the last file ends within a batch.
  const std::optional<LogDamage>& cut_off() const { return cut_off_; }

 private:
  // Fewer bytes than a block: the file ends there.
  static rocksdb::IOStatus read_block(rocksdb::FSSequentialFile& in, std::string* block,
                                      std::size_t* bytes) {
    while (*bytes < kBlockBytes) {
      rocksdb::Slice piece;
      auto status = in.Read(kBlockBytes - *bytes, rocksdb::IOOptions(), &piece,
                            block->data() + *bytes, nullptr);
      if (!status.ok() || piece.empty()) return status;
      if (piece.data() != block->data() + *bytes) {
        block->replace(*bytes, piece.size(), piece.data(), piece.size());
      }
      *bytes += piece.size();
    }
    return rocksdb::IOStatus::OK();
  }

  void look_at(const std::string& path, std::uint64_t begin, std::string_view block) {
    // Zeros are the end of a file whose last pages never came to the disk, unless more follows.
    if (zeros_ && !all_zero(block)) note_damage(*std::exchange(zeros_, std::nullopt));
    std::size_t at = 0;
    while (at + kHeaderBytes <= block.size()) {
      const Record record = record_at(block.substr(at), kBlockBytes - at);
      if (damage_ && proves(record)) {
        good_after_ = LogDamage{path, begin + at};
        return;
      }
      if (record.look == Look::kCutOff) {
        cut_off_ = LogDamage{path, begin + at};
        // It is the length that is wrong when a whole batch stands behind it.
        search(path, begin, block, at + 1);
        if (good_after_) note_damage(*std::exchange(cut_off_, std::nullopt));
        return;
      }
      if (record.look == Look::kZeros) {
        if (all_zero(block.substr(at))) {
          if (!zeros_) zeros_ = LogDamage{path, begin + at};
          return;
        }
        note_damage({path, begin + at});
        return search(path, begin, block, at + 1);
      }
      if (record.look == Look::kBad) {
        note_damage({path, begin + at});
        return search(path, begin, block, at + 1);
      }
      if (!damage_ && (record.type == kFull || record.type == kLast)) ++batches_;
      if (record.type == kFirst) open_batch_ = LogDamage{path, begin + at};
      if (record.type == kFull || record.type == kLast) open_batch_.reset();
      at += record.bytes;
    }
    // A piece of a header; the rest of a whole block is padding.
    if (at < block.size() && block.size() < kBlockBytes && !all_zero(block.substr(at))) {
      cut_off_ = LogDamage{path, begin + at};
    }
  }

  // Behind a bad record of a block its length is not to be trusted: every place is tried.
  void search(const std::string& path, std::uint64_t begin, std::string_view block,
              std::size_t from) {
    for (std::size_t at = from; at + kHeaderBytes <= block.size(); ++at) {
      const unsigned type = byte_at(block, at + 6);
      if (type != kFull && type != kFirst) continue;
      if (proves(record_at(block.substr(at), kBlockBytes - at))) {
        good_after_ = LogDamage{path, begin + at};
        return;
      }
    }
  }

  bool proves(const Record& record) const {
    return batch_records_ ? begins_a_batch(record) : is_begin(record);
  }

  void note_damage(LogDamage damage) {
    if (!damage_) damage_ = std::move(damage);
  }

  rocksdb::FileSystem& files_;
  const bool batch_records_;
  std::optional<Failure> unreadable_;
  std::optional<LogDamage> damage_;
  std::optional<LogDamage> good_after_;
  std::optional<LogDamage> zeros_;
  std::optional<LogDamage> cut_off_;
  std::optional<LogDamage> open_batch_;  // begun and not ended so far
  std::uint64_t number_ = 0;
  std::uint64_t batches_ = 0;
};

std::uint64_t log_number(const std::string& name) {
  return std::strtoull(std::filesystem::path(name).stem().c_str(), nullptr, 10);
}

}  // namespace

LogPlace find_damage_in_logs(rocksdb::FileSystem& files, const std::string& database_path) {
  std::vector<std::string> names;
  const auto status = files.GetChildren(database_path, rocksdb::IOOptions(), &names, nullptr);
  if (!status.ok()) return {{}, rocks_failure(status, "list " + database_path)};
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (name.rfind("MANIFEST-", 0) != 0 && !name.ends_with(kLogSuffix)) continue;
    Walk walk(files);
    walk.file(database_path + "/" + name);
    if (walk.damage() || walk.unreadable()) return {walk.damage(), walk.unreadable()};
  }
  return {};
}

LogPlace torn_end_of(rocksdb::FileSystem& files, const std::string& path) {
  Walk walk(files, /*batches=*/false);
  walk.file(path);
  if (walk.unreadable()) return {{}, walk.unreadable()};
  if (walk.good_after()) return {};
  return {walk.damage() ? walk.damage() : walk.zeros(), {}};
}

LogPlace damage_within(rocksdb::FileSystem& files, const std::string& path) {
  Walk walk(files, /*batches=*/false);
  walk.file(path);
  if (walk.unreadable()) return {{}, walk.unreadable()};
  if (!walk.good_after()) return {};
  return {walk.damage(), {}};
}

LogFiles log_files(rocksdb::FileSystem& files, const std::string& database_path,
                   std::uint64_t first_log) {
  LogFiles found;
  std::vector<std::string> names;
  const auto status = files.GetChildren(database_path, rocksdb::IOOptions(), &names, nullptr);
  if (!status.ok()) {
    found.failure = rocks_failure(status, "list " + database_path);
    return found;
  }
  std::erase_if(names, [first_log](const std::string& name) {
    return !name.ends_with(kLogSuffix) || log_number(name) < first_log;
  });
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return log_number(a) < log_number(b);
  });
  for (const std::string& name : names) found.paths.push_back(database_path + "/" + name);
  return found;
}

LogLook look_at_logs(rocksdb::FileSystem& files, const std::string& database_path,
                     std::uint64_t first_log) {
  LogLook look;
  LogFiles logs = log_files(files, database_path, first_log);
  look.unreadable = std::move(logs.failure);
  if (look.unreadable) return look;
  Walk walk(files);
  for (const std::string& file : logs.paths) walk.file(file, log_number(file));
  look.unreadable = walk.unreadable();
  if (look.unreadable) return look;
  look.cut_off = walk.cut_off();
  if (const auto& damage = walk.damage() ? walk.damage() : walk.zeros()) {
    look.verdict = LogVerdict{*damage, walk.number(), walk.batches(), walk.good_after()};
  }
  return look;
}

}  // namespace rota::store
