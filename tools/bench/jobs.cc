// SPDX-License-Identifier: Apache-2.0
#include "bench/jobs.h"

#include <charconv>
#include <random>
#include <utility>

namespace rota::bench {
namespace {

constexpr std::size_t kRandomBytes = kPayloadBytes / 2;
constexpr std::size_t kSlices = 8'191;  // a prime: neighbours in one block differ for long
constexpr std::size_t kDigits = 16;
constexpr std::string_view kFiller =
    " a job of rota-bench: half of it is alike in all, half is not ";

void append_hex(std::string* out, std::uint64_t value) {
  char digits[kDigits];
  for (std::size_t i = kDigits; i-- > 0; value >>= 4U) digits[i] = "0123456789abcdef"[value & 15U];
  out->append(digits, kDigits);
}

bool read_hex(std::string_view* text, std::uint64_t* value) {
  if (text->size() < kDigits) return false;
  const auto read = std::from_chars(text->data(), text->data() + kDigits, *value, 16);
  text->remove_prefix(kDigits);
  return read.ec == std::errc() && read.ptr == text->data();
}

}  // namespace

PayloadMaker::PayloadMaker(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  random_.resize(kSlices * kRandomBytes);
  for (char& byte : random_) byte = static_cast<char>(random());
}

std::string PayloadMaker::make(const JobMark& mark) const {
  std::string payload;
  payload.reserve(kPayloadBytes);
  append_hex(&payload, mark.number);
  append_hex(&payload, static_cast<std::uint64_t>(mark.sent_ns));
  payload += static_cast<char>('0' + mark.histogram);
  while (payload.size() < kPayloadBytes - kRandomBytes) {
    payload += kFiller.substr(0, kPayloadBytes - kRandomBytes - payload.size());
  }
  payload.append(random_, mark.number % kSlices * kRandomBytes, kRandomBytes);
  return payload;
}

std::optional<JobMark> read_mark(std::string_view payload) {
  if (payload.size() != kPayloadBytes) return std::nullopt;
  JobMark mark;
  std::uint64_t sent = 0;
  if (!read_hex(&payload, &mark.number) || !read_hex(&payload, &sent)) return std::nullopt;
  mark.sent_ns = static_cast<std::int64_t>(sent);
  mark.histogram = payload[0] - '0';
  if (mark.histogram < 0) return std::nullopt;
  return mark;
}

JobSpec to_spec(const std::string& queue, std::string payload) {
  return {
      .queue = queue, .kind = kKind, .payload = std::move(payload), .content_type = kContentType};
}

void fill(v1::JobSpec* spec, const std::string& queue, std::string payload) {
  spec->set_queue(queue);
  spec->set_kind(kKind);
  spec->mutable_payload()->set_data(std::move(payload));
  spec->mutable_payload()->set_content_type(kContentType);
}

}  // namespace rota::bench
