// SPDX-License-Identifier: Apache-2.0
//
// Reads the options of rota-server. A flag wins over the environment, the environment over the
// file, the file over the default; every value remembers where it came from. The options themselves
// are the table base/options.inc.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/options.h"

namespace rota::app {

enum class Mode : std::uint8_t {
  kServe,
  kPrintConfig,  // --print-config
  kCheck,        // --check DIR: recount everything offline
  kCheckDisk,    // --check-disk DIR: measure what a sync costs there
  kVersion,
  kHelp,
};

struct Config {
  Mode mode = Mode::kServe;
  base::ServerOptions options = {};
  std::string directory = {};    // of --check and --check-disk
  std::string config_file = {};  // empty: none was given
  // Option key -> where its value came from: "default", "file rota.toml:3", "environment
  // ROTA_LISTEN", "flag --listen". Every option has an entry.
  std::map<std::string, std::string> origins = {};
  // One sentence for each variable that looks like a mistyped option. Others that begin with ROTA_
  // are none of ours: Kubernetes makes some for a service of that name.
  std::vector<std::string> warnings = {};
};

using Environment = std::map<std::string, std::string>;

// The variables of this process.
Environment process_environment();

// Reads `args` (without the program's name), `environment` and the file that they name. No option
// is accepted that the table does not have; the error suggests the nearest. INVALID_FIELD with the
// flag, variable or file position in `field` for anything that cannot be read, or a configuration
// file that is a directory, a device or larger than 1 MiB; MISSING_FIELD when kServe has no data
// directory.
base::Result<Config> load_config(const std::vector<std::string>& args,
                                 const Environment& environment);

// The configuration as a TOML file with the origin behind each value. It can be read back with
// --config and then gives the same values.
std::string print_config(const Config& config);

// The text of --help.
std::string help_text();

}  // namespace rota::app
