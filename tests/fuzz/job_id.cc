// SPDX-License-Identifier: Apache-2.0
//
// Job ids. Input: a text; its bytes are also taken as the numbers of a job.
#include <optional>

#include "fuzz/fuzz.h"
#include "model/job_id.h"

namespace {

using namespace rota;

void check_text(std::string_view text) {
  const auto key = model::parse_job_id(text);
  if (!key) return;
  FUZZ_CHECK(model::is_job_id_form(text), "an id without an id's form");
  FUZZ_CHECK(key->valid() && key->seq > 0, "an id of no job");
  FUZZ_CHECK(model::job_id(*key) == text, "two texts name one job");
}

void check_job(fuzz::Input& input) {
  const model::JobKey key{
      .queue = input.u32(), .priority = input.byte(), .seq = input.u64() >> (input.byte() % 64)};
  if (key.queue == 0 || key.seq == 0) return;
  std::string id = model::job_id(key);
  FUZZ_CHECK(model::is_job_id_form(id), "not of an id's form: " + id);
  FUZZ_CHECK(model::parse_job_id(id) == key, "not read back: " + id);
  // One wrong character, or two neighbours swapped: it names nothing.
  const std::size_t at = input.byte() % id.size();
  const char wrong = static_cast<char>(input.byte());
  std::string bad = id;
  bad[at] = wrong;
  FUZZ_CHECK(bad == id || !model::parse_job_id(bad), id + " mistyped as " + bad);
  bad = id;
  std::swap(bad[at], bad[(at + 1) % bad.size()]);
  FUZZ_CHECK(at + 1 == id.size() || bad == id || !model::parse_job_id(bad),
             id + " with characters swapped: " + bad);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input whole(data, size);
  check_text(whole.rest());
  fuzz::Input numbers(data, size);
  check_job(numbers);
  return 0;
}
