// SPDX-License-Identifier: Apache-2.0
//
// Command line and environment of the server. Input: one argument a line; a line that begins with $
// is a variable, "$ROTA_DATA=/tmp". Lines that would name a file to read are left out.
#include "fuzz/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota;
  static const fuzz::MemoryFile printed;
  fuzz::Input input(data, size);
  std::vector<std::string> args;
  app::Environment environment;
  while (!input.empty()) {
    const std::string line(input.line());
    if (line.starts_with("--config")) continue;
    if (!line.starts_with("$")) {
      args.push_back(line);
      continue;
    }
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string name = line.substr(1, equals - 1);
    if (name != "ROTA_CONFIG") environment[name] = line.substr(std::min(equals + 1, line.size()));
  }
  fuzz::check_config(app::load_config(args, environment), printed);
  return 0;
}
