// SPDX-License-Identifier: Apache-2.0
//
// How keys of the port become keys of RocksDB: one byte that names the keyspace, then the key as
// given. The Payload keyspace lives in a column family of its own, all others in the default one.
#pragma once

#include <rocksdb/slice.h>
#include <rocksdb/slice_transform.h>

#include <memory>
#include <string>
#include <string_view>

#include "core/store.h"

namespace rota::store {

// The store's own records (store_record.h). Above every keyspace, and reached by no call of the
// port, so that the engine's keyspaces hold the engine's rows and nothing else.
inline constexpr char kOwnTag = '\xff';

inline char tag_of(core::Keyspace keyspace) { return static_cast<char>(keyspace); }

inline bool in_payload_family(core::Keyspace keyspace) {
  return keyspace == core::Keyspace::kPayload;
}

// tag + key.
std::string tagged_key(char tag, std::string_view key);
// The smallest key above every key of the tag.
std::string tag_end(char tag);
// The key without its tag.
inline std::string_view untagged(const rocksdb::Slice& key) {
  return {key.data() + 1, key.size() - 1};
}

// For memtable_insert_with_hint_prefix_extractor: all but the last byte of a job key, for keys of
// the job-ordered keyspaces (Job, Side, and the records of Final). Their sequences are dense and
// come last, so 256 neighbours share a hint, which doubles what the memtable takes. Each new prefix
// allocates a hint, so keys without neighbours are outside the domain. Never together with
// DeleteRange (RocksDB before 9.2 corrupts the memtable), nor with concurrent memtable writes.
std::shared_ptr<const rocksdb::SliceTransform> insert_hint();

}  // namespace rota::store
