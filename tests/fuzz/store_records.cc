// SPDX-License-Identifier: Apache-2.0
//
// The store's own records. Input: one byte that says which, then format byte and fields. Fields
// that a newer version appended are read past, so what is read need not be all that stands there.
#include <optional>

#include "fuzz/records.h"
#include "store/store_record.h"

namespace {

using namespace rota;

template <class Decode>
void check(std::string_view format_and_fields, const Decode& decode) {
  decode(format_and_fields);
  const std::string bytes = fuzz::sealed(format_and_fields);
  const auto record = decode(bytes);
  if (!record) return;
  const std::string again = store::encode(*record);
  FUZZ_CHECK(bytes.starts_with(again.substr(0, again.size() - 4)),
             "read " + fuzz::hex(bytes) + "\nbut it is written as " + fuzz::hex(again));
  const auto twice = decode(again);
  FUZZ_CHECK(twice && store::encode(*twice) == again, "not read back: " + fuzz::hex(again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) {
    check(input.rest(), store::decode_store_record);
  } else {
    check(input.rest(), store::decode_commit_record);
  }
  return 0;
}
