// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_scan.h"

#include <rocksdb/perf_context.h>
#include <rocksdb/utilities/debug.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "store/failure.h"
#include "store/rocks_key.h"

namespace rota::store {

namespace {

// Entries this thread's iterators have stepped over since construction.
class StepCounter {
 public:
  StepCounter() : start_(now()) {}
  std::uint64_t steps() const { return now() - start_; }

 private:
  static std::uint64_t now() {
    const rocksdb::PerfContext* perf = rocksdb::get_perf_context();
    return perf->internal_key_skipped_count + perf->internal_delete_skipped_count +
           perf->internal_recent_skipped_count;
  }
  std::uint64_t start_;
};

class BoundedIterator {
 public:
  BoundedIterator(const ScanSource& source, std::string lower, std::string upper,
                  std::uint64_t most_skipped)
      : lower_(std::move(lower)),
        upper_(std::move(upper)),
        lower_slice_(lower_),
        upper_slice_(upper_) {
    rocksdb::ReadOptions options;
    options.snapshot = source.snapshot;
    options.iterate_lower_bound = &lower_slice_;
    options.iterate_upper_bound = &upper_slice_;
    options.fill_cache = source.fill_cache;
    options.max_skippable_internal_keys = most_skipped;
    options.background_purge_on_iterator_cleanup = true;
    it_.reset(source.db->NewIterator(options, source.family));
    it_->Seek(lower_slice_);
  }
  BoundedIterator(const BoundedIterator&) = delete;
  BoundedIterator& operator=(const BoundedIterator&) = delete;
  rocksdb::Iterator* operator->() { return it_.get(); }

 private:
  const std::string lower_;
  const std::string upper_;
  const rocksdb::Slice lower_slice_;
  const rocksdb::Slice upper_slice_;
  std::unique_ptr<rocksdb::Iterator> it_;
};

struct Advance {
  std::string next;      // no row in [from, next) is visible in the snapshot
  bool visible = false;  // next is a visible row, or the end of the range
  std::size_t entries = 0;
};

// Looks at up to `most` entries of [from, upper), whose first key is known to show no row.
Advance advance(const ScanSource& source, const std::string& from, const std::string& upper,
                std::size_t most) {
  constexpr int kPut = 1;  // RocksDB's kTypeValue, part of its file format
  const rocksdb::SequenceNumber at = source.snapshot->GetSequenceNumber();
  std::vector<rocksdb::KeyVersion> entries;
  const auto status =
      rocksdb::GetAllKeyVersions(source.db, source.family, from, upper, most, &entries);
  // A short listing may also have ended at an error that it does not report, so the range is never
  // taken as read to its end: the next page's own iterator finds out.
  if (!status.ok() || entries.empty()) return {from + '\0', false, most};
  std::size_t i = 0;
  for (;;) {
    const std::string& key = entries[i].user_key;
    if (key >= upper) return {upper, true, entries.size()};
    const rocksdb::KeyVersion* seen = nullptr;  // the newest entry that the snapshot shows
    std::size_t end = i;
    for (; end < entries.size() && entries[end].user_key == key; ++end) {
      if (seen == nullptr && entries[end].sequence <= at) seen = &entries[end];
    }
    if (seen != nullptr && seen->type == kPut) return {key, true, entries.size()};
    if (end < entries.size()) {
      i = end;
      continue;
    }
    // The last key's entries may go on behind the listing.
    if (seen != nullptr || (key == from && entries.size() < most)) {
      return {key + '\0', false, entries.size()};
    }
    return {key, false, entries.size()};
  }
}

// An iterator that gave up says neither where it stopped nor what it saw. This looks at the same
// entries once more, one by one with their sequence numbers, and returns a key above `from` below
// which no row is visible in the snapshot: the first visible one, or as far as it came.
std::string first_unseen(const ScanSource& source, const std::string& from,
                         const std::string& upper) {
  // The listing copies values, so it is taken in pieces; a single key with more versions newer
  // than the snapshot than fit makes the piece grow.
  std::size_t piece = 256;
  std::string next = from;
  for (std::size_t looked_at = 0; looked_at < kMostStepped || next == from;) {
    Advance step = advance(source, next, upper, piece);
    looked_at += step.entries;
    if (step.visible) return step.next;
    if (step.next == next) piece *= 4;
    next = std::move(step.next);
  }
  return next;
}

}  // namespace

rocksdb::Status scan_page(const ScanSource& source, char tag, const core::ScanSpec& spec,
                          core::ScanPage* page, std::uint64_t* stepped) {
  if (spec.end.empty()) programming_error("a scan without an upper bound");
  *page = {};
  *stepped = 0;
  if (spec.begin >= spec.end) return rocksdb::Status::OK();
  const std::string lower = tagged_key(tag, spec.begin);
  const std::string upper = tagged_key(tag, spec.end);
  const std::uint32_t most_rows = std::max(spec.max_rows, 1U);
  StepCounter counter;
  BoundedIterator it(source, lower, upper, kMostStepped);
  std::size_t bytes = 0;
  for (; it->Valid(); it->Next()) {
    const rocksdb::Slice key = it->key();
    const rocksdb::Slice value = it->value();
    bytes += key.size() - 1 + value.size();
    if (!page->rows.empty() && (page->rows.size() >= most_rows || bytes > spec.max_bytes ||
                                counter.steps() >= kMostStepped)) {
      page->more = true;
      page->next = untagged(key);
      *stepped = counter.steps();
      return rocksdb::Status::OK();
    }
    page->rows.emplace_back(std::string(untagged(key)), value.ToString());
  }
  *stepped = std::max<std::uint64_t>(counter.steps(), page->rows.size());
  rocksdb::Status status = it->status();
  if (!status.IsIncomplete()) return status;

  const std::string from =
      page->rows.empty() ? lower : tagged_key(tag, page->rows.back().first) + '\0';
  const std::string next = first_unseen(source, from, upper);
  page->more = next < upper;
  if (page->more) page->next = next.substr(1);
  return rocksdb::Status::OK();
}

rocksdb::Status scan_all(const ScanSource& source, char tag, const core::ShardStore::LoadFn& row,
                         std::uint64_t* stepped) {
  StepCounter counter;
  BoundedIterator it(source, std::string(1, tag), tag_end(tag), 0);
  std::uint64_t rows = 0;
  for (; it->Valid(); it->Next()) {
    ++rows;
    const rocksdb::Slice value = it->value();
    if (!row(untagged(it->key()), std::string_view(value.data(), value.size()))) break;
  }
  *stepped = std::max(counter.steps(), rows);
  return it->status();
}

}  // namespace rota::store
