// SPDX-License-Identifier: Apache-2.0
#include "store/store_record.h"

#include "model/bytes.h"
#include "store/rocks_key.h"

namespace rota::store {

namespace {
constexpr std::uint8_t kStoreRecordFormat = 1;
constexpr std::uint8_t kCommitRecordFormat = 1;
}  // namespace

std::string encode(const StoreRecord& record) {
  model::Writer w(kStoreRecordFormat);
  w.u32(record.format);
  w.str(record.store_id);
  w.u32(record.incarnation);
  return w.seal();
}

// Fields that a newer format appends are read past: its version must stay readable, so that the
// refusal can name it.
std::optional<StoreRecord> decode_store_record(std::string_view bytes) {
  model::Reader r = model::Reader::open(bytes, kStoreRecordFormat);
  StoreRecord record;
  record.format = r.u32();
  record.store_id = r.str();
  record.incarnation = r.u32();
  if (!r.ok()) return std::nullopt;
  return record;
}

std::string encode(const CommitRecord& record) {
  model::Writer w(kCommitRecordFormat);
  w.u64(record.seq);
  w.u64(record.epoch);
  return w.seal();
}

std::optional<CommitRecord> decode_commit_record(std::string_view bytes) {
  model::Reader r = model::Reader::open(bytes, kCommitRecordFormat);
  CommitRecord record;
  record.seq = r.u64();
  record.epoch = r.u64();
  if (!r.ok()) return std::nullopt;
  return record;
}

std::string store_record_key() { return tagged_key(kOwnTag, "store"); }
std::string commit_record_key() { return tagged_key(kOwnTag, "commit"); }

}  // namespace rota::store
