// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/template.h"

#include <algorithm>

#include "base/limits.h"

namespace rota::core {
namespace {

constexpr std::string_view kNominalTime = "{{nominal_time}}";
constexpr std::string_view kBusinessDate = "{{business_date}}";
constexpr std::string_view kOpen = "{{";
constexpr std::string_view kClose = "}}";
constexpr std::string_view kLongestTime = "9999-12-31T23:59:59.999Z";
constexpr std::string_view kLongestDate = "9999-12-31";

std::string render(std::string_view text, std::string_view time, std::string_view date) {
  std::string out;
  out.reserve(text.size() + kLongestTime.size());
  while (true) {
    const std::size_t open = text.find(kOpen);
    if (open == std::string_view::npos) break;
    out += text.substr(0, open);
    text.remove_prefix(open);
    if (text.starts_with(kNominalTime)) {
      out += time;
      text.remove_prefix(kNominalTime.size());
    } else if (text.starts_with(kBusinessDate)) {
      out += date;
      text.remove_prefix(kBusinessDate.size());
    } else {
      // One brace only, since the next one may open a value: {{{nominal_time}}.
      out += text.front();
      text.remove_prefix(1);
    }
  }
  out += text;
  return out;
}

}  // namespace

std::string render_template(std::string_view text, const TemplateValues& values) {
  return render(text, values.nominal_time, values.business_date);
}

bool template_has_time(std::string_view text) {
  return text.find(kNominalTime) != std::string_view::npos ||
         text.find(kBusinessDate) != std::string_view::npos;
}

std::size_t longest_rendering(std::string_view text) {
  return template_has_time(text) ? render(text, kLongestTime, kLongestDate).size() : text.size();
}

base::Status check_key_template(std::string_view key, std::string_view field) {
  if (key.empty()) return {};
  const std::string rest = render(key, "", "");
  if (const std::size_t open = rest.find(kOpen); open != std::string::npos) {
    const std::size_t close = rest.find(kClose, open);
    const std::size_t size = close == std::string::npos ? std::string::npos : close + 2 - open;
    return base::invalid_field(
        std::string(field), "\"" + rest.substr(open, size) +
                                "\" is not a value; allowed: {{nominal_time}}, {{business_date}}");
  }
  if (!template_has_time(key)) {
    return base::make_error(base::Reason::kBusinessKeyNeedsTime,
                            "\"" + std::string(key) +
                                "\" is the same for every tick; put {{nominal_time}} or "
                                "{{business_date}} into it",
                            std::string(field));
  }
  if (const std::size_t size = longest_rendering(key); size > base::limits::kTextKeyBytesMax) {
    return base::invalid_field(std::string(field),
                               "up to " + std::to_string(size) + " bytes once filled in, at most " +
                                   std::to_string(base::limits::kTextKeyBytesMax));
  }
  return {};
}

}  // namespace rota::core
