// SPDX-License-Identifier: Apache-2.0
//
// Numbers and envelopes as bytes: round trips, order, and every kind of damage.
#include "model/bytes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rota::model {
namespace {

TEST(Bytes, VarintsRoundTrip) {
  for (const std::uint64_t v : std::vector<std::uint64_t>{
           0, 1, 127, 128, 16'383, 16'384, std::uint64_t{1} << 53U, UINT64_MAX - 1, UINT64_MAX}) {
    Writer w;
    w.varint(v);
    const std::string bytes = w.take();
    Reader r(bytes);
    EXPECT_EQ(r.varint(), v);
    EXPECT_TRUE(r.at_end());
  }
}

// A number has one form, or two byte strings would be the same value.
TEST(Bytes, VarintsWithMoreBytesThanTheyNeedAreRefused) {
  for (const std::string& bytes : {std::string("\x80\x00", 2), std::string("\xff\x80\x00", 3),
                                   std::string("\x81\x80\x00", 3)}) {
    Reader r(bytes);
    EXPECT_EQ(r.varint(), 0U);
    EXPECT_FALSE(r.ok()) << bytes.size();
  }
  Reader zero(std::string_view("\0", 1));
  EXPECT_EQ(zero.varint(), 0U);
  EXPECT_TRUE(zero.at_end());
}

TEST(Bytes, NumbersOutsideTheirTypeAreRefused) {
  const auto read = [](auto write, auto take) {
    Writer w;
    write(w);
    const std::string bytes = w.take();
    Reader r(bytes);
    take(r);
    return r.at_end();
  };
  const auto varint32 = [&](std::uint64_t v) {
    return read([v](Writer& w) { w.varint(v); }, [](Reader& r) { r.varint32(); });
  };
  EXPECT_TRUE(varint32(UINT32_MAX));
  EXPECT_FALSE(varint32(std::uint64_t{UINT32_MAX} + 1));
  const auto svarint32 = [&](std::int64_t v) {
    return read([v](Writer& w) { w.svarint(v); }, [](Reader& r) { r.svarint32(); });
  };
  EXPECT_TRUE(svarint32(INT32_MIN));
  EXPECT_TRUE(svarint32(INT32_MAX));
  EXPECT_FALSE(svarint32(std::int64_t{INT32_MIN} - 1));
  EXPECT_FALSE(svarint32(std::int64_t{INT32_MAX} + 1));
  const auto boolean = [&](std::uint8_t v) {
    return read([v](Writer& w) { w.u8(v); }, [](Reader& r) { r.boolean(); });
  };
  EXPECT_TRUE(boolean(0));
  EXPECT_TRUE(boolean(1));
  EXPECT_FALSE(boolean(2));
  enum class Some : std::uint8_t { kFirst = 2, kLast = 4 };
  const auto some = [&](std::uint8_t v) {
    return read([v](Writer& w) { w.u8(v); },
                [](Reader& r) { r.one_of(Some::kFirst, Some::kLast); });
  };
  EXPECT_FALSE(some(1));
  EXPECT_TRUE(some(2));
  EXPECT_TRUE(some(4));
  EXPECT_FALSE(some(5));
}

TEST(Bytes, SignedVarintsRoundTrip) {
  for (const std::int64_t v :
       std::vector<std::int64_t>{INT64_MIN, INT64_MIN + 1, -1, 0, 1, INT64_MAX - 1, INT64_MAX}) {
    Writer w;
    w.svarint(v);
    const std::string bytes = w.take();
    Reader r(bytes);
    EXPECT_EQ(r.svarint(), v);
    EXPECT_TRUE(r.at_end());
  }
}

TEST(Bytes, FixedNumbersSortAsTheirValues) {
  const auto u64 = [](std::uint64_t v) {
    Writer w;
    w.u64(v);
    return w.take();
  };
  EXPECT_LT(u64(1), u64(2));
  EXPECT_LT(u64(255), u64(256));
  EXPECT_LT(u64(INT64_MAX), u64(UINT64_MAX));
  const auto time = [](std::int64_t v) {
    Writer w;
    w.time_key(v);
    return w.take();
  };
  const std::vector<std::int64_t> times = {INT64_MIN, -5, -1, 0, 1, 1'000, INT64_MAX};
  for (std::size_t i = 1; i < times.size(); ++i) {
    EXPECT_LT(time(times[i - 1]), time(times[i]));
    const std::string bytes = time(times[i]);
    EXPECT_EQ(Reader(bytes).time_key(), times[i]);
  }
}

TEST(Bytes, ReadingPastTheEndFailsForGood) {
  Writer w;
  w.u32(7);
  const std::string bytes = w.take();
  Reader r(bytes);
  EXPECT_EQ(r.u64(), 0U);
  EXPECT_FALSE(r.ok());
  EXPECT_EQ(r.u8(), 0);
  EXPECT_EQ(r.str(), "");
  EXPECT_FALSE(r.at_end());
}

TEST(Bytes, LengthBeyondTheBytesIsRefused) {
  Writer w;
  w.varint(1'000'000);
  w.raw("abc");
  const std::string bytes = w.take();
  Reader r(bytes);
  EXPECT_EQ(r.str(), "");
  EXPECT_FALSE(r.ok());
  Reader c(bytes);
  EXPECT_EQ(c.count(), 0U);
  EXPECT_FALSE(c.ok());
}

TEST(Bytes, OverlongVarintIsRefused) {
  const std::string bytes(11, '\xff');
  Reader r(bytes);
  r.varint();
  EXPECT_FALSE(r.ok());
  std::string too_large(9, '\xff');
  too_large.push_back('\x02');  // bit 64
  Reader t(too_large);
  t.varint();
  EXPECT_FALSE(t.ok());
}

TEST(Envelope, OpensWhatWasSealed) {
  Writer w(3);
  w.str("hello");
  const std::string bytes = w.seal();
  Reader r = Reader::open(bytes, 3);
  EXPECT_TRUE(r.ok());
  EXPECT_EQ(r.format(), 3);
  EXPECT_EQ(r.str(), "hello");
  EXPECT_TRUE(r.at_end());
}

TEST(Envelope, NewerFormatIsRefusedOlderIsNot) {
  Writer w(2);
  w.str("x");
  const std::string bytes = w.seal();
  EXPECT_FALSE(Reader::open(bytes, 1).ok());
  EXPECT_TRUE(Reader::open(bytes, 9).ok());
}

TEST(Envelope, EveryFlippedBitAndEveryCutIsFound) {
  Writer w(1);
  w.str("some text");
  w.varint(123'456);
  const std::string good = w.seal();
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << bit));
      EXPECT_FALSE(Reader::open(bad, 1).ok()) << i << "/" << bit;
    }
    EXPECT_FALSE(Reader::open(good.substr(0, i), 1).ok()) << i;
  }
  EXPECT_FALSE(Reader::open(good + '\0', 1).ok());
}

}  // namespace
}  // namespace rota::model
