// SPDX-License-Identifier: Apache-2.0
//
// Every setting of RocksDB that differs from its default or that correctness depends on, with the
// reason. Nothing here is read from the options file that RocksDB writes.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/listener.h>
#include <rocksdb/options.h>

#include <memory>

#include "store/open.h"

namespace rota::store {

inline constexpr char kPayloadFamily[] = "payload";

rocksdb::DBOptions database_options(const StoreSizes& sizes, rocksdb::Env* env,
                                    std::shared_ptr<rocksdb::EventListener> listener);

struct FamilyOptions {
  rocksdb::ColumnFamilyOptions state;    // all keyspaces but one, in RocksDB's default family
  rocksdb::ColumnFamilyOptions payload;  // Keyspace::kPayload
};
FamilyOptions family_options(const StoreSizes& sizes);

}  // namespace rota::store
