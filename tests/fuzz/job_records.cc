// SPDX-License-Identifier: Apache-2.0
//
// The records of a job: body, side record, final record, pointer. Input: one byte that says which,
// then format byte and fields.
#include "fuzz/records.h"
#include "model/job.h"

namespace {

using namespace rota;

// A final record is written from the parts that it repeats.
std::string encode_final(const model::FinalRecord& record) {
  model::JobBody body;
  body.kind = record.kind;
  body.content_type = record.content_type;
  body.labels = record.labels;
  body.key_scope = record.key_scope;
  body.business_key = record.business_key;
  body.scheduler_id = record.scheduler_id;
  body.generation = record.generation;
  body.nominal_ms = record.nominal_ms;
  body.business_date = record.business_date;
  body.created_ms = record.created_ms;
  body.principal = record.principal;
  model::Side side;
  side.attempts = record.attempts;
  side.attempts_used = record.attempts_used;
  side.redrives = record.redrives;
  side.cancel_requested = record.cancel_requested;
  side.history = record.history;
  return model::encode_final(body, side,
                             {.state = record.state,
                              .priority = record.priority,
                              .ended_ms = record.ended_ms,
                              .ended_seq = record.ended_seq,
                              .reason = record.reason,
                              .result = record.result});
}

std::optional<std::string> recode_final(std::string_view bytes) {
  model::FinalRecord record;
  if (!model::decode(bytes, &record)) return std::nullopt;
  FUZZ_CHECK(model::is_final(record.state), "a final record of a state that is not final");
  return encode_final(record);
}

// A row of the job keyspace says itself what it is; only one of the two reads it.
void check_row_kind(std::string_view format_and_fields) {
  const std::string bytes = fuzz::sealed(format_and_fields);
  model::JobBody body;
  model::Pointer pointer;
  const bool is_body = model::decode(bytes, &body);
  const bool is_pointer = model::decode(bytes, &pointer);
  FUZZ_CHECK(!is_body || !model::is_pointer(bytes), "a body that is told to be a pointer");
  FUZZ_CHECK(!is_pointer || model::is_pointer(bytes), "a pointer that is told to be a body");
  if (is_body) {
    FUZZ_CHECK(body.memory_bytes() >= body.payload.size(), "a body smaller than its payload");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 4) {
    case 0: {
      const std::string_view fields = input.rest();
      fuzz::check_record<model::JobBody>(fields);
      check_row_kind(fields);
      break;
    }
    case 1:
      fuzz::check_record<model::Side>(input.rest());
      break;
    case 2:
      fuzz::check_recoding(input.rest(), recode_final);
      break;
    default: {
      const std::string_view fields = input.rest();
      fuzz::check_record<model::Pointer>(fields);
      check_row_kind(fields);
      break;
    }
  }
  return 0;
}
