// SPDX-License-Identifier: Apache-2.0
//
// Logs of the database, put aside before an open goes on without a part of them: whoever wants to
// know what was left out finds it there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "store/failure.h"

namespace rota::store {

// Links the logs from `first_log` on into kept_logs/NAME below the data directory, whose file
// system they share; RocksDB removes its own names of them and never writes them again. A folder of
// that name is replaced. Durable when it returns nothing.
std::optional<Failure> keep_logs(const std::string& data_directory,
                                 const std::string& database_path, std::uint64_t first_log,
                                 const std::string& name);

}  // namespace rota::store
