// SPDX-License-Identifier: Apache-2.0
#include "blackbox/http2.h"

#include <gtest/gtest.h>

namespace rota::blackbox {
namespace {

using namespace std::string_literals;

// Frames as RFC 9113 lays them out: length, type, flags, stream, body.
const std::string kSettings = "\0\0\6\4\0\0\0\0\0\0\3\0\0\4\0"s;
const std::string kSettingsAck = "\0\0\0\4\1\0\0\0\0"s;
const std::string kPing = "\0\0\10\6\0\0\0\0\0pingpong"s;
const std::string kPingAck = "\0\0\10\6\1\0\0\0\0pingpong"s;
const std::string kHeaders = "\0\0\1\1\4\0\0\0\1\x88"s;
const std::string kTrailers = "\0\0\1\1\5\0\0\0\1\x88"s;
const std::string kData = "\0\0\5\0\0\0\0\0\1\0\0\0\0\0"s;
const std::string kReset = "\0\0\4\3\0\0\0\0\3\0\0\0\2"s;
const std::string kGoAway = "\0\0\10\7\0\0\0\0\0\0\0\0\1\0\0\0\0"s;

TEST(Http2Test, BeginsWithThePreface) {
  EXPECT_EQ(http2_begin(0), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0"s);
  EXPECT_EQ(http2_begin(0x7fffffff),
            "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\6\4\0\0\0\0\0\0\4\x7f\xff\xff\xff"
            "\0\0\4\10\0\0\0\0\0\x7f\xff\0\0"s);
}

TEST(Http2Test, ACallIsHeadersAndAMessage) {
  EXPECT_EQ(http2_call(5, "host:1", "/s/M", "abc"),
            "\0\0\x30\1\4\0\0\0\5\x83\x86\x04\x04/s/M\x01\x06host:1"
            "\x0f\x10\x10"
            "application/grpc\0\x02te\x08trailers"
            "\0\0\x8\0\1\0\0\0\5\0\0\0\0\3"
            "abc"s);
}

TEST(Http2Test, WhatIsReadDoesNotDependOnThePieces) {
  const std::string all = kSettings + kHeaders + kData + kPing + kTrailers + kReset;
  for (std::size_t piece = 1; piece <= all.size(); ++piece) {
    Http2Reader reader;
    int ended = 0;
    std::string to_send;
    for (std::size_t at = 0; at < all.size(); at += piece) {
      const auto seen = reader.read(std::string_view(all).substr(at, piece));
      ended += seen.ended;
      to_send += seen.to_send;
      EXPECT_FALSE(seen.goes_away);
      EXPECT_FALSE(seen.broken);
    }
    EXPECT_EQ(ended, 2) << piece;
    EXPECT_EQ(to_send, kSettingsAck + kPingAck) << piece;
  }
}

TEST(Http2Test, TheEnd) {
  Http2Reader reader;
  EXPECT_TRUE(reader.read(kGoAway).goes_away);
  EXPECT_EQ(reader.read(kSettingsAck + kPingAck).to_send, "");
  EXPECT_TRUE(reader.read("HTTP/1.1 400 Bad Request").broken);
}

}  // namespace
}  // namespace rota::blackbox
