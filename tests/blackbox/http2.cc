// SPDX-License-Identifier: Apache-2.0
#include "blackbox/http2.h"

#include <utility>

namespace rota::blackbox {
namespace {

enum Type : std::uint8_t {
  kData = 0,
  kHeaders = 1,
  kReset = 3,
  kSettings = 4,
  kPing = 6,
  kGoAway = 7,
  kWindowUpdate = 8,
};
constexpr std::uint8_t kEndStream = 1, kAck = 1, kEndHeaders = 4;
constexpr std::size_t kHeadBytes = 9, kFrameMax = 1U << 20U;
constexpr std::uint16_t kInitialWindow = 4;

std::string big_endian(std::uint64_t value, int bytes) {
  std::string text;
  while (bytes-- > 0) text.push_back(static_cast<char>(value >> (8 * bytes) & 0xff));
  return text;
}

std::string frame(Type type, std::uint8_t flags, std::uint32_t stream, std::string_view body) {
  std::string text = big_endian(body.size(), 3);
  text.push_back(static_cast<char>(type));
  text.push_back(static_cast<char>(flags));
  text += big_endian(stream, 4);
  text.append(body);
  return text;
}

// A text of a header, not compressed. Below 127 bytes its length is one byte.
std::string literal(std::string_view text) {
  return std::string(1, static_cast<char>(text.size())).append(text);
}

}  // namespace

std::string http2_begin(std::uint32_t window) {
  std::string settings;
  if (window > 0) settings = big_endian(kInitialWindow, 2) + big_endian(window, 4);
  std::string text = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(kSettings, 0, 0, settings);
  if (window > 65'535) text += frame(kWindowUpdate, 0, 0, big_endian(window - 65'535, 4));
  return text;
}

std::string http2_call(std::uint32_t stream, std::string_view authority, std::string_view path,
                       std::string_view message) {
  // RFC 7541: indexed fields are one byte; 0x0f 0x10 is index 31, content-type; the others with a
  // name from the table carry its index, and a new name follows a zero.
  std::string headers = "\x83\x86";  // :method POST, :scheme http
  headers += '\x04' + literal(path);
  headers += '\x01' + literal(authority);
  headers += std::string("\x0f\x10") + literal("application/grpc");
  headers += std::string(1, '\0') + literal("te") + literal("trailers");
  const std::string body = std::string(1, '\0') + big_endian(message.size(), 4);
  return frame(kHeaders, kEndHeaders, stream, headers) +
         frame(kData, kEndStream, stream, body + std::string(message));
}

Http2Reader::Seen Http2Reader::read(std::string_view bytes) {
  Seen seen;
  rest_.append(bytes);
  std::size_t at = 0;
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(rest_[at + i]); };
  while (rest_.size() - at >= kHeadBytes) {
    const std::size_t size = static_cast<std::size_t>(byte(0)) << 16U | byte(1) << 8U | byte(2);
    if (size > kFrameMax) {
      seen.broken = true;
      return seen;
    }
    if (rest_.size() - at < kHeadBytes + size) break;
    const std::uint8_t type = byte(3), flags = byte(4);
    const std::string_view body = std::string_view(rest_).substr(at + kHeadBytes, size);
    if (type == kSettings && (flags & kAck) == 0) seen.to_send += frame(kSettings, kAck, 0, {});
    if (type == kPing && (flags & kAck) == 0) seen.to_send += frame(kPing, kAck, 0, body);
    if (type == kGoAway) seen.goes_away = true;
    if ((type == kData || type == kHeaders) && (flags & kEndStream) != 0) ++seen.ended;
    if (type == kReset) ++seen.ended;
    at += kHeadBytes + size;
  }
  rest_.erase(0, at);
  return seen;
}

}  // namespace rota::blackbox
