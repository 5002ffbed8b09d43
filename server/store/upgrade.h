// SPDX-License-Identifier: Apache-2.0
//
// Bringing an older data directory to the format of this binary; the procedure for changing the
// format stands beside kStoreFormat in store_record.h.
#pragma once

#include <optional>

#include "store/data_directory.h"
#include "store/failure.h"
#include "store/rocks_open.h"
#include "store/store_record.h"

namespace rota::store {

// Nothing to do when record->format is kStoreFormat. Refuses (kConfig) a newer format and one so
// old that no step leads from it; else runs the steps in order and updates *record.
std::optional<Failure> upgrade(const DataDirectory& directory, RocksDatabase& database,
                               StoreRecord* record);

// The refusal of a format that this binary does not know.
Failure newer_format(const DataDirectory& directory, std::uint32_t format);

}  // namespace rota::store
