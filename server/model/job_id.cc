// SPDX-License-Identifier: Apache-2.0
#include "model/job_id.h"

#include <array>

#include "base/limits.h"
#include "model/bytes.h"

namespace rota::model {
namespace {

constexpr std::string_view kAlphabet = "0123456789abcdefghjkmnpqrstvwxyz";
using base::limits::kJobIdBytesMax;

constexpr std::array<std::int8_t, 256> make_values() {
  std::array<std::int8_t, 256> values{};
  values.fill(-1);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<std::uint8_t>(kAlphabet[i])] = static_cast<std::int8_t>(i);
  }
  return values;
}
constexpr std::array<std::int8_t, 256> kValues = make_values();

int value_of(char c) { return kValues[static_cast<std::uint8_t>(c)]; }

// The digits as coefficients of a polynomial over the field of 32 elements, at x: a wrong character
// and two swapped neighbours always change it, whatever the characters and wherever they stand.
char check_char(std::string_view digits) {
  const auto times_x = [](unsigned v) { return (v << 1U) ^ ((v & 16U) != 0 ? 0x25U : 0U); };
  unsigned sum = 7;
  for (const char c : digits) sum = times_x(sum) ^ static_cast<unsigned>(value_of(c));
  return kAlphabet[times_x(sum)];
}

std::string to_digits(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 8 / 5 + 2);  // the check character comes behind
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<std::uint8_t>(c);
    have += 8;
    while (have >= 5) {
      have -= 5;
      out.push_back(kAlphabet[(bits >> have) & 31U]);
    }
    bits &= (1U << have) - 1U;
  }
  if (have > 0) out.push_back(kAlphabet[(bits << (5 - have)) & 31U]);
  return out;
}

}  // namespace

std::string job_id(const JobKey& key) {
  Writer w;
  w.varint(key.queue);
  w.u8(key.priority);
  w.varint(key.seq);
  std::string digits = to_digits(w.take());
  digits.push_back(check_char(digits));
  return digits;
}

bool is_job_id_form(std::string_view text) {
  if (text.empty() || text.size() > kJobIdBytesMax) return false;
  for (const char c : text) {
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z'))) return false;
  }
  return true;
}

std::optional<JobKey> parse_job_id(std::string_view text) {
  if (!is_job_id_form(text) || text.size() < 2) return std::nullopt;
  const std::string_view digits = text.substr(0, text.size() - 1);
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned have = 0;
  for (const char c : digits) {
    const int v = value_of(c);
    if (v < 0) return std::nullopt;
    bits = (bits << 5U) | static_cast<unsigned>(v);
    have += 5;
    if (have >= 8) {
      have -= 8;
      bytes.push_back(static_cast<char>((bits >> have) & 0xffU));
    }
    bits &= (1U << have) - 1U;
  }
  Reader r(bytes);
  const std::uint64_t queue = r.varint();
  JobKey key;
  key.queue = static_cast<std::uint32_t>(queue);
  key.priority = r.u8();
  key.seq = r.varint();
  if (!r.ok() || queue == 0 || queue > UINT32_MAX || key.seq == 0) return std::nullopt;
  // One text per key: whatever does not encode back to itself (check character, spare bits, longer
  // varints) names nothing.
  if (job_id(key) != text) return std::nullopt;
  return key;
}

}  // namespace rota::model
