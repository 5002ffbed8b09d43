// SPDX-License-Identifier: Apache-2.0
//
// The store's own files on the disk that fails: their calls are counted, refused and taken back
// with those of RocksDB.
#pragma once

#include <memory>

#include "faults/fault_disk.h"
#include "store/own_files.h"

namespace rota::faults {

// For one store; the disk is kept alive.
std::shared_ptr<store::OwnFiles> own_files(std::shared_ptr<FaultDisk> disk);

}  // namespace rota::faults
