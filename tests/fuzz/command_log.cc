// SPDX-License-Identifier: Apache-2.0
//
// An entry of the command log. Input: format byte and fields.
#include "core/command_log.h"
#include "fuzz/records.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rota::fuzz::check_record<rota::core::LogEntry>(rota::fuzz::Input(data, size).rest());
  return 0;
}
