// SPDX-License-Identifier: Apache-2.0
//
// The records of a queue: settings and counters. Input: one byte that says which, then format byte
// and fields.
#include "fuzz/records.h"
#include "model/queue.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota;
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) {
    fuzz::check_record<model::Queue>(input.rest());
  } else {
    const std::string_view fields = input.rest();
    fuzz::check_record<model::QueueCounters>(fields);
    model::QueueCounters counters;
    if (model::decode(fuzz::sealed(fields), &counters) && counters.conserved()) {
      ++counters.created;
      FUZZ_CHECK(!counters.conserved(), "a job that is nowhere is not missed");
    }
  }
  return 0;
}
