// SPDX-License-Identifier: Apache-2.0
#include "base/error.h"

#include <iterator>

namespace rota::base {
namespace {

constexpr ReasonInfo kTable[] = {
#define ROTA_REASON(enumerator, name, code, retryable, sentence) \
  ReasonInfo{Reason::enumerator, #name, StatusCode::code, retryable, sentence},
#include "base/error_reasons.inc"
};

}  // namespace

const ReasonInfo& reason_info(Reason reason) {
  const auto index = static_cast<std::size_t>(reason);
  if (index >= std::size(kTable)) std::abort();
  return kTable[index];
}

std::string_view reason_name(Reason reason) { return reason_info(reason).name; }

std::optional<Reason> find_reason(std::string_view name) {
  for (const ReasonInfo& info : kTable) {
    if (info.name == name) return info.reason;
  }
  return std::nullopt;
}

ReasonTable reason_table() { return {std::begin(kTable), std::end(kTable)}; }

std::string to_string(const Error& error) {
  std::string text(reason_name(error.reason));
  if (!error.field.empty()) text.append(": ").append(error.field);
  if (!error.message.empty()) text.append(": ").append(error.message);
  return text;
}

Error in_field(std::string_view prefix, Error error) {
  if (error.field.empty()) {
    error.field = prefix;
  } else if (!prefix.empty()) {
    error.field = std::string(prefix) + "." + error.field;
  }
  return error;
}

}  // namespace rota::base
