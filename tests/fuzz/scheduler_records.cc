// SPDX-License-Identifier: Apache-2.0
//
// The records of a scheduler: what was declared, its state, runs. Input: one byte that says which,
// then format byte and fields.
#include "fuzz/records.h"
#include "model/scheduler.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota;
  fuzz::Input input(data, size);
  switch (input.byte() % 3) {
    case 0:
      fuzz::check_record<model::Scheduler>(input.rest());
      break;
    case 1:
      fuzz::check_record<model::SchedulerState>(input.rest());
      break;
    default:
      fuzz::check_record<model::RunRecord>(input.rest());
      break;
  }
  return 0;
}
