// SPDX-License-Identifier: Apache-2.0
#include "model/bytes.h"

#include "base/crc32c.h"

namespace rota::model {

void Writer::long_varint(std::uint64_t v) {
  char bytes[10];
  std::size_t size = 0;
  for (; v >= 0x80U; v >>= 7U) bytes[size++] = static_cast<char>((v & 0x7fU) | 0x80U);
  bytes[size++] = static_cast<char>(v);
  raw({bytes, size});
}

std::string Writer::seal() {
  const std::uint32_t crc = base::crc32c({out_.data(), size_});
  u32(crc);
  return take();
}

Reader Reader::open(std::string_view envelope, std::uint8_t newest_format) {
  Reader r(envelope);
  if (envelope.size() < 5) {
    r.ok_ = false;
    return r;
  }
  const std::string_view body = envelope.substr(0, envelope.size() - 4);
  Reader tail(envelope.substr(envelope.size() - 4));
  r.in_ = body;
  r.ok_ = tail.u32() == base::crc32c(body);
  r.format_ = r.u8();
  if (r.format_ == 0 || r.format_ > newest_format) r.ok_ = false;
  return r;
}

std::uint64_t Reader::varint() {
  std::uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (!ok_ || in_.empty()) break;
    const auto b = static_cast<std::uint8_t>(in_.front());
    in_.remove_prefix(1);
    if ((shift == 63 && b > 1) || (shift > 0 && b == 0)) break;
    v |= static_cast<std::uint64_t>(b & 0x7fU) << shift;
    if ((b & 0x80U) == 0) return v;
  }
  ok_ = false;
  return 0;
}

std::uint32_t Reader::varint32() {
  const std::uint64_t v = varint();
  if (v <= UINT32_MAX) return static_cast<std::uint32_t>(v);
  ok_ = false;
  return 0;
}

std::int32_t Reader::svarint32() {
  const std::int64_t v = svarint();
  if (v >= INT32_MIN && v <= INT32_MAX) return static_cast<std::int32_t>(v);
  ok_ = false;
  return 0;
}

std::string_view Reader::raw(std::uint64_t n) {
  if (!ok_ || n > in_.size()) {
    ok_ = false;
    return {};
  }
  const std::string_view v = in_.substr(0, n);
  in_.remove_prefix(n);
  return v;
}

std::uint64_t Reader::count() {
  const std::uint64_t n = varint();
  if (n > in_.size()) {
    ok_ = false;
    return 0;
  }
  return n;
}

std::uint64_t Reader::fixed(std::size_t n) {
  const std::string_view b = raw(n);
  std::uint64_t v = 0;
  for (const char c : b) v = (v << 8U) | static_cast<std::uint8_t>(c);
  return v;
}

}  // namespace rota::model
