// SPDX-License-Identifier: Apache-2.0
#include "store/log_replay.h"

#include <rocksdb/write_batch.h>

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace rota::store {

namespace {

// Finds the store's commit record among the changes of a batch.
class FindCommit final : public rocksdb::WriteBatch::Handler {
 public:
  rocksdb::Status PutCF(std::uint32_t, const rocksdb::Slice& key,
                        const rocksdb::Slice& value) override {
    if (key == key_) found = decode_commit_record({value.data(), value.size()});
    return rocksdb::Status::OK();
  }
  rocksdb::Status DeleteCF(std::uint32_t, const rocksdb::Slice&) override {
    return rocksdb::Status::OK();
  }

  std::optional<CommitRecord> found;

 private:
  const std::string key_ = commit_record_key();
};

// A batch, or the begin of an epoch, which is no batch. An upgrade may write the last one again.
bool follows(const CommitRecord& next, const CommitRecord& last) {
  return next == last || (next.seq == last.seq + 1 && next.epoch == last.epoch) ||
         (next.seq == last.seq && next.epoch == last.epoch + 1);
}

std::string text_of(const CommitRecord& record) {
  return "batch " + std::to_string(record.seq) + " of epoch " + std::to_string(record.epoch);
}

std::string names_of(const std::vector<std::string>& files) {
  std::string names;
  for (const std::string& file : files) {
    std::error_code ignored;
    names.append(names.empty() ? "" : ", ").append(file).append(" of ");
    names.append(std::to_string(std::filesystem::file_size(file, ignored))).append(" bytes");
  }
  return names;
}

}  // namespace

void LogReplay::ColumnFamilyLogNumberMap(const std::map<std::uint32_t, std::uint64_t>& log_numbers,
                                         const std::map<std::string, std::uint32_t>&) {
  if (std::exchange(looked_, true)) return;
  first_log_ = UINT64_MAX;
  for (const auto& [family, number] : log_numbers) first_log_ = std::min(first_log_, number);
  if (log_numbers.empty()) first_log_ = 0;
  files_ = names_of(log_files(*file_system_, path_, first_log_).paths);
  look_ = look_at_logs(*file_system_, path_, first_log_);
}

bool LogReplay::behind_damage(std::uint64_t log_number) {
  const auto& verdict = look_.verdict;
  if (!verdict || log_number < verdict->log_number) return false;
  return log_number > verdict->log_number || ++batches_in_damaged_ > verdict->batches_before;
}

// Before batch 1 there is none that could be missing.
bool LogReplay::may_be_next(const CommitRecord& next) const {
  if (last_) return follows(next, *last_);
  return tables_ ? follows(next, *tables_) : next.seq == 0;
}

rocksdb::WalFilter::WalProcessingOption LogReplay::LogRecordFound(unsigned long long log_number,
                                                                  const std::string& file,
                                                                  const rocksdb::WriteBatch& batch,
                                                                  rocksdb::WriteBatch*, bool*) {
  if (stops_at_once_) return WalProcessingOption::kStopReplay;
  if (look_.unreadable || behind_damage(log_number)) return WalProcessingOption::kCorruptedRecord;
  if (batch.Count() == 0) return WalProcessingOption::kContinueProcessing;  // written by an open
  FindCommit find;
  if (!batch.Iterate(&find).ok() || !find.found) return WalProcessingOption::kContinueProcessing;
  const CommitRecord& next = *find.found;
  // In the tables already. Logs that hold nothing else may be there or not, in any choice.
  if (!last_ && tables_ && next <= *tables_) return WalProcessingOption::kContinueProcessing;
  if (may_be_next(next)) {
    last_ = next;
    last_file_ = file;
    return WalProcessingOption::kContinueProcessing;
  }
  if (gap_.empty() && !last_) {
    begin_is_missing_ = true;
    gap_ = "the log before " + file + " has lost what it held, or is missing: " + text_of(next) +
           " is the first in the logs (" + files_ + "), the tables hold " +
           (tables_ ? "all up to " + text_of(*tables_) : "nothing before it");
  } else if (gap_.empty()) {
    gap_ = "batches are missing in the log: " + text_of(*last_) + ", the last in " + last_file_ +
           ", is followed by " + text_of(next) + " in " + file;
  }
  return WalProcessingOption::kCorruptedRecord;
}

}  // namespace rota::store
