// SPDX-License-Identifier: Apache-2.0
//
// rota-server: reads the configuration, then serves until SIGTERM or SIGINT, or does one of the
// offline tasks. The next stop for a reader is server.cc.
#include <cstdio>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "app/check_mode.h"
#include "app/config.h"
#include "app/exit_code.h"
#include "app/server.h"
#include "app/signals.h"
#include "base/log.h"
#include "base/standard_files.h"
#include "store/check_disk.h"

namespace rota::app {
namespace {

int say(const std::string& text, std::FILE* to = stdout) {
  std::fwrite(text.data(), 1, text.size(), to);
  if (!text.empty() && text.back() != '\n') std::fputc('\n', to);
  std::fflush(to);
  return kExitOk;
}

int end(const Stop& stop) {
  say("rota-server: " + stop.text, stderr);
  return stop.exit_code;
}

int measure_disk(const std::string& directory) {
  const auto checked = store::check_disk(directory);
  if (const auto* failure = std::get_if<store::Failure>(&checked)) {
    return end({failure->exit_code(), failure->describe()});
  }
  return say(store::to_text(std::get<store::DiskCheck>(checked)));
}

int check_data(const Config& config) {
  const CheckResult result = check_directory(config.directory, config.options);
  if (!result.error.empty()) return end({result.exit_code, result.error});
  say(result.report);
  return result.exit_code;
}

int serve(const Config& config) {
  hold_stop_signals();
  std::mutex mutex;
  std::optional<Stop> wanted;  // the first reason
  ServerSetup setup;
  setup.options = config.options;
  setup.on_stop_wanted = [&](const Stop& stop) {
    std::lock_guard lock(mutex);
    if (wanted) return;
    wanted = stop;
    raise_stop_signal();
  };
  auto started = Server::start(std::move(setup));
  if (const auto* stop = std::get_if<Stop>(&started)) return end(*stop);
  const auto& server = std::get<std::unique_ptr<Server>>(started);
  say("listening on " + server->address());

  const int signal = wait_for_stop_signal();
  base::log::info("draining", {{"signal", signal}});
  server->stop(config.options.drain_timeout_ms);
  std::lock_guard lock(mutex);
  return wanted ? end(*wanted) : kExitOk;
}

int run(const std::vector<std::string>& args) {
  const auto config = load_config(args, process_environment());
  if (!config) return end({kExitConfig, base::to_string(config.error())});
  base::log::configure(*base::log::parse_format(config->options.log_format),
                       *base::log::parse_level(config->options.log_level));
  for (const std::string& warning : config->warnings) {
    base::log::warn("configuration", {{"finding", warning}});
  }
  switch (config->mode) {
    case Mode::kHelp:
      return say(help_text());
    case Mode::kVersion:
      return say("rota-server " ROTA_VERSION);
    case Mode::kPrintConfig:
      return say(print_config(*config));
    case Mode::kCheckDisk:
      return measure_disk(config->directory);
    case Mode::kCheck:
      return check_data(*config);
    case Mode::kServe:
      break;
  }
  return serve(*config);
}

}  // namespace
}  // namespace rota::app

#ifdef ROTA_JEMALLOC
// Read by jemalloc before main(): memory that is free goes back to the system within two seconds
// instead of ten, also when the server is idle, so that what a burst of large answers leaves is not
// taken for the server's own. It costs a few percent of a drain.
extern "C" {
const char* malloc_conf = "background_thread:true,dirty_decay_ms:2000,muzzy_decay_ms:0";
}
#endif

int main(int argc, char** argv) {
  rota::base::occupy_standard_files();
  return rota::app::run(std::vector<std::string>(argv + 1, argv + argc));
}
