// SPDX-License-Identifier: Apache-2.0
//
// Logs of the database, and its list of files, which is a log too, put aside before an open goes on
// without a part of them: whoever wants to know what was left out finds it there.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/failure.h"
#include "store/own_files.h"

namespace rota::store {

// What begins so holds nothing that was acknowledged: the newest four of such folders are kept.
inline constexpr char kTornPrefix[] = "torn-";

// Links the logs into kept_logs/NAME below the data directory, whose file system they share;
// RocksDB removes its own names of them and never writes them again. A folder of that name is
// replaced. Durable when it returns nothing.
std::optional<Failure> keep_logs(const std::string& data_directory,
                                 const std::vector<std::string>& logs, const std::string& name,
                                 const std::shared_ptr<OwnFiles>& files = system_files());

}  // namespace rota::store
