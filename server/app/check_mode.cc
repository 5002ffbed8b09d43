// SPDX-License-Identifier: Apache-2.0
#include "app/check_mode.h"

#include "app/exit_code.h"
#include "app/recount.h"
#include "core/store.h"
#include "store/open.h"

namespace rota::app {

CheckResult check_directory(const std::string& directory, const base::ServerOptions& options) {
  core::InlineExecutor executor;
  store::OpenOptions open;
  open.directory = directory;
  open.create = false;
  open.read_only = true;
  open.allow_network_file_system = options.allow_network_file_system;
  const store::OpenResult opened = store::open_store(open, executor);
  if (opened.failure) return {opened.failure->exit_code(), "", opened.failure->describe()};

  const auto counted = recount(*opened.store);
  if (!counted) {
    return {kExitDamage, "",
            "damage: " + counted.error().message + "; " +
                std::string(store::failure_advice(store::FailureKind::kDamage))};
  }
  std::string report = "store " + opened.info.store_id + ", format " +
                       std::to_string(opened.info.format) + ", commit " +
                       std::to_string(opened.info.recovered_seq) + "\n" + to_text(*counted);
  if (!opened.info.torn_log.empty()) report += "torn log: " + opened.info.torn_log + "\n";
  return {counted->contradiction_count == 0 ? kExitOk : kExitDamage, std::move(report)};
}

}  // namespace rota::app
