// SPDX-License-Identifier: Apache-2.0
//
// As much of HTTP/2 and gRPC as it takes to hold ten thousand connections in one thread, and to be
// a client that no library would be: one call after the other on a plain connection, or calls
// without ever reading an answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace rota::blackbox {

// What a client sends first. `window`: bytes of answers that may be on their way, per call and in
// all, beyond the 64 KiB of the protocol; 0: no more than that.
std::string http2_begin(std::uint32_t window);

// A unary call of "/rota.v1.Service/Method" on an odd stream, message and end of stream included.
// `authority` and `path` have at most 100 bytes.
std::string http2_call(std::uint32_t stream, std::string_view authority, std::string_view path,
                       std::string_view message);

// Reads what the server sends, in pieces of any size.
class Http2Reader {
 public:
  // What happened while the bytes were read.
  struct Seen {
    int ended = 0;  // streams
    bool goes_away = false;
    bool broken = false;    // not HTTP/2
    std::string to_send{};  // acknowledgements
  };
  Seen read(std::string_view bytes);

 private:
  std::string rest_;
};

}  // namespace rota::blackbox
