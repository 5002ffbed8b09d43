// SPDX-License-Identifier: Apache-2.0
//
// The configuration file of the server. Input: its bytes.
#include "fuzz/config_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota;
  static const fuzz::MemoryFile given;
  static const fuzz::MemoryFile printed;
  given.write(fuzz::Input(data, size).rest());
  fuzz::check_config(app::load_config({"--config", given.path()}, {}), printed);
  return 0;
}
