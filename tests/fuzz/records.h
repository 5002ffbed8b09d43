// SPDX-License-Identifier: Apache-2.0
//
// The property of every stored record: what decodes is exactly what encode() writes, so a value has
// one form and nothing is read that was not written. A record of an older format is written anew,
// and then holds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fuzz/fuzz.h"
#include "model/bytes.h"

namespace rota::fuzz {

// An envelope around format byte and fields. A fuzzer finds no checksums, so it is put there.
inline std::string sealed(std::string_view format_and_fields) {
  model::Writer w;
  w.raw(format_and_fields);
  return w.seal();
}

// `decode(bytes)` gives what encode() makes of the value it read, or nothing.
template <class Recode>
void check_recoding(std::string_view format_and_fields, const Recode& recode) {
  recode(format_and_fields);  // as it is, with a checksum that is wrong nearly always
  const std::string bytes = sealed(format_and_fields);
  const auto again = recode(bytes);
  if (!again) return;
  const auto twice = recode(*again);
  FUZZ_CHECK(twice && *twice == *again, "what encode() wrote is not read back: " + hex(*again));
  const bool newest = again->front() == bytes.front();
  FUZZ_CHECK(!newest || *again == bytes,
             "read " + hex(bytes) + "\nbut it is written as " + hex(*again));
}

// For a record with encode(const T&) and decode(bytes, T*).
template <class T>
void check_record(std::string_view format_and_fields) {
  check_recoding(format_and_fields, [](std::string_view bytes) -> std::optional<std::string> {
    T value;
    if (!decode(bytes, &value)) return std::nullopt;
    return encode(value);
  });
}

}  // namespace rota::fuzz
