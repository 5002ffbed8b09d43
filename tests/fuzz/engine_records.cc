// SPDX-License-Identifier: Apache-2.0
//
// The small records: engine counters, grants, overdue grants, ledger entries, remembered requests,
// operations, and the lists of the retention indexes. Input: one byte that says which, then format
// byte and fields.
#include "fuzz/records.h"
#include "model/records.h"

namespace {

using namespace rota;

std::optional<std::string> recode_keys(std::string_view bytes) {
  std::vector<model::JobKey> keys;
  if (!model::decode_job_keys(bytes, &keys)) return std::nullopt;
  return model::encode_job_keys(keys);
}

std::optional<std::string> recode_strings(std::string_view bytes) {
  std::vector<std::string> strings;
  if (!model::decode_strings(bytes, &strings)) return std::nullopt;
  return model::encode_strings(strings);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 8) {
    case 0:
      fuzz::check_record<model::EngineMeta>(input.rest());
      break;
    case 1:
      fuzz::check_record<model::Grant>(input.rest());
      break;
    case 2:
      fuzz::check_record<model::LedgerEntry>(input.rest());
      break;
    case 3:
      fuzz::check_record<model::RequestRecord>(input.rest());
      break;
    case 4:
      fuzz::check_record<model::Operation>(input.rest());
      break;
    case 5:
      fuzz::check_recoding(input.rest(), recode_keys);
      break;
    case 6:
      fuzz::check_recoding(input.rest(), recode_strings);
      break;
    default:
      fuzz::check_record<model::OverdueGrant>(input.rest());
      break;
  }
  return 0;
}
