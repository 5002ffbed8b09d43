// SPDX-License-Identifier: Apache-2.0
//
// Pure encoding of bytes: fixed-width numbers big-endian, so that keys sort as their values do;
// everything of variable length is length-prefixed, never parsed by separators.
//
// A stored value is an envelope: one format byte, the fields, and a CRC32C of both at the end, so
// that a damaged value is found in any store, whatever checksums of its own the store keeps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rota::model {

class Writer {
 public:
  Writer() = default;
  explicit Writer(std::uint8_t format) {
    reserve(kUsualRecordBytes);
    u8(format);
  }

  void u8(std::uint8_t v) { *room(1) = static_cast<char>(v); }
  void u32(std::uint32_t v) { fixed(v, 4); }
  void u64(std::uint64_t v) { fixed(v, 8); }
  // Signed times as keys: the sign bit flipped, so that order is kept.
  void time_key(std::int64_t ms) { u64(static_cast<std::uint64_t>(ms) ^ (1ULL << 63U)); }
  void varint(std::uint64_t v) {
    if (v < 0x80U) return u8(static_cast<std::uint8_t>(v));
    long_varint(v);
  }
  void svarint(std::int64_t v) {  // zigzag
    varint((static_cast<std::uint64_t>(v) << 1U) ^ static_cast<std::uint64_t>(v >> 63));
  }
  void boolean(bool v) { u8(v ? 1 : 0); }
  void str(std::string_view v) {
    varint(v.size());
    raw(v);
  }
  void raw(std::string_view v) { std::copy_n(v.data(), v.size(), room(v.size())); }
  // Room for `n` bytes in all.
  void reserve(std::size_t n) {
    if (out_.size() < n) out_.resize(n);
  }

  std::string take() {
    out_.resize(size_);
    size_ = 0;
    return std::move(out_);
  }
  // Closes an envelope: appends the CRC32C of all that was written.
  std::string seal();

 private:
  static constexpr std::size_t kUsualRecordBytes = 240;
  static constexpr std::size_t kSmallest = 15;  // what a string holds in place: a job key

  void fixed(std::uint64_t v, std::size_t n) {
    char* bytes = room(n);
    for (std::size_t i = 0; i < n; ++i) {
      bytes[i] = static_cast<char>((v >> (8 * (n - 1 - i))) & 0xffU);
    }
  }
  void long_varint(std::uint64_t v);
  // Where the next `n` bytes go.
  char* room(std::size_t n) {
    if (out_.size() - size_ < n) out_.resize(std::max({size_ + n, 2 * size_, kSmallest}));
    char* at = out_.data() + size_;
    size_ += n;
    return at;
  }
  std::string out_;       // longer than what is written, so that most writes are a store
  std::size_t size_ = 0;  // what is written
};

// Reads what Writer wrote, and nothing else: what Writer would have written in another way (a
// number with more bytes than it needs, a truth value of 2, a value outside its type) is a fault
// like one that is cut off, so that no two byte strings are the same value. Never reads past the
// end: the first fault makes ok() false for good and every later read returns zero or empty. Views
// point into the bytes given.
class Reader {
 public:
  explicit Reader(std::string_view in) : in_(in) {}
  // Opens an envelope: checks the CRC32C and the format byte (`format` or an older one, which the
  // caller finds in format()). A failure is reported by ok().
  static Reader open(std::string_view envelope, std::uint8_t newest_format);

  std::uint8_t u8() { return static_cast<std::uint8_t>(fixed(1)); }
  std::uint32_t u32() { return static_cast<std::uint32_t>(fixed(4)); }
  std::uint64_t u64() { return fixed(8); }
  std::int64_t time_key() { return static_cast<std::int64_t>(fixed(8) ^ (1ULL << 63U)); }
  std::uint64_t varint();
  std::uint32_t varint32();
  std::int32_t svarint32();
  std::int64_t svarint() {
    const std::uint64_t v = varint();
    return static_cast<std::int64_t>((v >> 1U) ^ (~(v & 1U) + 1U));
  }
  bool boolean() { return u8_to(1) == 1; }
  // At most `most`.
  std::uint8_t u8_to(std::uint8_t most) {
    const std::uint8_t v = u8();
    if (v <= most) return v;
    ok_ = false;
    return 0;
  }
  // An enum of one byte with the values from `first` to `last`; `first` after a fault.
  template <class Enum>
  Enum one_of(Enum first, Enum last) {
    const std::uint8_t v = u8_to(static_cast<std::uint8_t>(last));
    if (v >= static_cast<std::uint8_t>(first)) return static_cast<Enum>(v);
    ok_ = false;
    return first;
  }
  std::string_view view() {
    const std::uint64_t n = varint();
    return raw(n);
  }
  std::string str() { return std::string(view()); }
  std::string_view raw(std::uint64_t n);

  bool ok() const { return ok_; }
  bool at_end() const { return ok_ && in_.empty(); }
  std::uint8_t format() const { return format_; }
  void fail() { ok_ = false; }
  // A count that is about to drive a loop: refused when the rest of the bytes cannot hold it.
  std::uint64_t count();

 private:
  std::uint64_t fixed(std::size_t n);
  std::string_view in_;
  bool ok_ = true;
  std::uint8_t format_ = 0;
};

}  // namespace rota::model
