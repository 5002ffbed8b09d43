// SPDX-License-Identifier: Apache-2.0
#include "base/names.h"

#include <algorithm>

#include "base/duration.h"
#include "base/limits.h"
#include "base/utf8.h"

namespace rota::base {
namespace {

Error missing(std::string_view field) {
  return make_error(Reason::kMissingField, "must not be empty", std::string(field));
}

Error faulty(std::string_view field, std::string message) {
  return invalid_field(std::string(field), std::move(message));
}

std::optional<Error> check_length(std::string_view field, std::string_view value,
                                  std::size_t max_bytes) {
  if (value.size() <= max_bytes) return std::nullopt;
  return faulty(field, std::to_string(value.size()) + " bytes, limit " + std::to_string(max_bytes));
}

bool is_name_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == ':' || c == '-';
}

std::optional<Error> check_printable(std::string_view field, std::string_view value,
                                     std::size_t max_bytes) {
  if (value.empty()) return missing(field);
  if (auto error = check_length(field, value, max_bytes)) return error;
  const bool printable =
      std::all_of(value.begin(), value.end(), [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable) return faulty(field, quoted(value) + " holds other than printable ASCII");
  if (value.front() == ' ' || value.back() == ' ') {
    return faulty(field, quoted(value) + " begins or ends with a space");
  }
  return std::nullopt;
}

}  // namespace

std::optional<Error> check_name(std::string_view field, std::string_view value) {
  if (value.empty()) return missing(field);
  if (auto error = check_length(field, value, limits::kNameBytesMax)) return error;
  char before = '/';
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == '/' && before == '/') {
      return faulty(field, quoted(value) + " has an empty segment at byte " + std::to_string(i));
    }
    if (c != '/' && !is_name_character(c)) {
      return faulty(field, quoted(value) + " has a character at byte " + std::to_string(i) +
                               " that is none of A-Z a-z 0-9 . _ : - /");
    }
    before = c;
  }
  if (before == '/') return faulty(field, quoted(value) + " ends with a slash");
  return std::nullopt;
}

std::optional<Error> check_text_key(std::string_view field, std::string_view value) {
  if (value.empty()) return missing(field);
  if (auto error = check_length(field, value, limits::kTextKeyBytesMax)) return error;
  if (!is_utf8(value)) return faulty(field, quoted(value) + " is not UTF-8");
  if (has_control(value)) return faulty(field, quoted(value) + " holds a control character");
  return std::nullopt;
}

std::optional<Error> check_request_id(std::string_view field, std::string_view value) {
  return check_printable(field, value, limits::kRequestIdBytesMax);
}

std::optional<Error> check_bulk_request_id(std::string_view field, std::string_view value) {
  if (value.size() <= limits::kBulkRequestIdBytesMax) return check_request_id(field, value);
  return faulty(field, std::to_string(value.size()) + " bytes, limit " +
                           std::to_string(limits::kBulkRequestIdBytesMax) +
                           " where it stands for several calls, which are named ID:0, ID:1, ...");
}

std::optional<Error> check_session_id(std::string_view field, std::string_view value) {
  return check_printable(field, value, limits::kSessionIdBytesMax);
}

std::optional<Error> check_content_type(std::string_view field, std::string_view value) {
  return check_printable(field, value, limits::kContentTypeBytesMax);
}

std::optional<Error> check_labels(std::string_view field, const LabelMap& labels) {
  if (labels.size() > limits::kLabelPairsMax) {
    return faulty(field, std::to_string(labels.size()) + " pairs, limit " +
                             std::to_string(limits::kLabelPairsMax));
  }
  std::size_t bytes = 0;
  for (const auto& [key, value] : labels) {
    const std::string at = std::string(field) + "[" + quoted(key) + "]";
    bytes += key.size() + value.size();
    if (key.empty()) return faulty(field, "holds an empty key");
    if (auto error = check_name(at, key)) return error;
    if (!is_utf8(value)) return faulty(at, "the value is not UTF-8");
    if (has_control(value)) return faulty(at, "the value holds a control character");
  }
  if (bytes > limits::kLabelBytesMax) {
    return faulty(field, format_bytes(static_cast<std::int64_t>(bytes)) + " in all, limit " +
                             format_bytes(limits::kLabelBytesMax));
  }
  return std::nullopt;
}

std::optional<Error> check_text(std::string_view field, std::string_view value,
                                std::size_t max_bytes) {
  if (auto error = check_length(field, value, max_bytes)) return error;
  if (!is_utf8(value)) return faulty(field, "is not UTF-8");
  const bool bad = std::any_of(value.begin(), value.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7f;
  });
  if (bad) return faulty(field, "holds a control character other than line break and tab");
  return std::nullopt;
}

std::optional<Error> check_range(std::string_view field, std::int64_t value, std::int64_t least,
                                 std::int64_t most) {
  if (value >= least && value <= most) return std::nullopt;
  return faulty(field, std::to_string(value) + ", limit " + std::to_string(least) + " to " +
                           std::to_string(most));
}

std::optional<Error> check_duration(std::string_view field, std::int64_t value_ms,
                                    std::int64_t least_ms, std::int64_t most_ms) {
  if (value_ms >= least_ms && value_ms <= most_ms) return std::nullopt;
  return faulty(field, format_duration(value_ms) + ", limit " + format_duration(least_ms) + " to " +
                           format_duration(most_ms));
}

std::string format_bytes(std::int64_t bytes) {
  const auto in_unit = [bytes](std::int64_t unit, std::string_view name) {
    // One decimal when it is not a whole number, rounded up: a size over a limit never looks equal.
    const std::int64_t tenths = bytes / unit * 10 + (bytes % unit * 10 + unit - 1) / unit;
    std::string text = std::to_string(tenths / 10);
    if (tenths % 10 != 0) text.append(".").append(std::to_string(tenths % 10));
    return text.append(" ").append(name);
  };
  if (bytes >= kMiB) return in_unit(kMiB, "MiB");
  if (bytes >= kKiB) return in_unit(kKiB, "KiB");
  return std::to_string(bytes) + " bytes";
}

}  // namespace rota::base
