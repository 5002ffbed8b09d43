// SPDX-License-Identifier: Apache-2.0
//
// The server's options as a struct and as a table; both come from options.inc. Reading flags,
// environment and file is the work of server/app/config.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/limits.h"

namespace rota::base {

// The values, with the table's defaults. Counts, bytes and milliseconds are all 64 bits wide.
struct ServerOptions {
#define ROTA_OPTION_TEXT(member, key, standard, sentence) std::string member = standard;
#define ROTA_OPTION_CHOICE(member, key, standard, choices, sentence) std::string member = standard;
#define ROTA_OPTION_FLAG(member, key, standard, sentence) bool member = standard;
#define ROTA_OPTION_COUNT(member, key, standard, least, most, sentence) \
  std::int64_t member = standard;
#define ROTA_OPTION_BYTES(member, key, standard, least, most, sentence) \
  std::int64_t member = standard;
#define ROTA_OPTION_DURATION(member, key, standard, least, most, sentence) \
  std::int64_t member = standard;
#include "base/options.inc"
};

enum class OptionType : std::uint8_t { kText, kChoice, kFlag, kCount, kBytes, kDuration };

// One line of the table.
struct OptionInfo {
  std::string_view key;  // "limits.payload_bytes"
  OptionType type;
  std::string_view choices;  // "text|json"; of a choice only
  std::int64_t least = 0;    // of a count, bytes or duration (ms)
  std::int64_t most = 0;
  std::string_view sentence;

  std::string flag() const;         // "--limits-payload-bytes"
  std::string environment() const;  // "ROTA_LIMITS_PAYLOAD_BYTES"
};

// All lines in the table's order; valid for the life of the process.
const std::vector<OptionInfo>& option_table();

// The line with this key; null when there is none.
const OptionInfo* find_option(std::string_view key);

// Sets the option of this line from text: "256KiB", "10s", "true", "json". INVALID_FIELD with the
// key as its field, the fault and the bounds if the text does not fit; `options` is then unchanged.
Status set_option(ServerOptions& options, const OptionInfo& info, std::string_view text);

// The value as text that set_option() reads back.
std::string option_text(const ServerOptions& options, const OptionInfo& info);

// Bytes as an option writes them: "4096", "256KiB", "64MiB", "1GiB". INVALID_FIELD (without field)
// for other text.
Result<std::int64_t> parse_bytes(std::string_view text);

}  // namespace rota::base
