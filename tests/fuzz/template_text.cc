// SPDX-License-Identifier: Apache-2.0
//
// The two values in the texts of a scheduler's jobs. Input: a text.
#include "base/limits.h"
#include "core/schedule/template.h"
#include "fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rota;
  const std::string_view text = fuzz::Input(data, size).rest();
  const core::TemplateValues values{"2026-11-29T22:00:00Z", "2026-11-29"};
  const std::string rendered = core::render_template(text, values);
  FUZZ_CHECK(rendered.size() <= core::longest_rendering(text), "longer than the longest");
  FUZZ_CHECK(core::template_has_time(text) || rendered == text, "changed without a value in it");
  if (core::check_key_template(text, "business_key")) {
    FUZZ_CHECK(text.empty() || core::template_has_time(text), "every tick would give this key");
    FUZZ_CHECK(rendered.size() <= base::limits::kTextKeyBytesMax, "a key over its limit");
    FUZZ_CHECK(rendered.find("{{") == std::string::npos || text.empty(),
               "a misspelt value was let through: " + rendered);
  }
  return 0;
}
