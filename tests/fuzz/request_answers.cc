// SPDX-License-Identifier: Apache-2.0
//
// The answers that are remembered under their request id. They lie inside a request record, whose
// checksum covers them. Input: one byte that says which, then the answer.
#include <optional>

#include "core/request_answers.h"
#include "fuzz/fuzz.h"

namespace {

using namespace rota;

template <class Answer>
std::optional<std::string> recode(std::string_view bytes) {
  Answer answer{};
  if (!core::decode_answer(bytes, &answer)) return std::nullopt;
  return core::encode_answer(answer);
}

// A reason that this version does not know becomes INTERNAL, so such an answer is written
// differently; everything else comes out as it came in.
bool has_internal(std::string_view bytes) {
  core::EnqueueReply reply;
  core::decode_answer(bytes, &reply);
  for (const core::EnqueueItem& item : reply.items) {
    const auto* error = std::get_if<core::Error>(&item);
    if (error != nullptr && error->reason == core::Reason::kInternal) return true;
  }
  return false;
}

void check(std::string_view bytes, const std::optional<std::string>& again, bool may_differ) {
  if (!again || may_differ) return;
  FUZZ_CHECK(*again == bytes,
             "read " + fuzz::hex(bytes) + "\nbut it is written as " + fuzz::hex(*again));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte() % 3;
  const std::string_view bytes = input.rest();
  if (kind == 0) {
    const auto again = recode<core::EnqueueReply>(bytes);
    check(bytes, again, again && has_internal(bytes));
    if (again) check(*again, recode<core::EnqueueReply>(*again), false);
  } else if (kind == 1) {
    check(bytes, recode<core::DeclaredAnswer>(bytes), false);
  } else {
    check(bytes, recode<std::uint64_t>(bytes), false);
  }
  return 0;
}
