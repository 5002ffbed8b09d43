// SPDX-License-Identifier: Apache-2.0
//
// Bytes on the port, behind the beginning of HTTP/2 or without it: the server stays what it is. The
// transport is Debian's and counts no edges, so this sees little further than its corpus leads; the
// connections of a hostile peer belong to the black-box tests.
//
// Input: one byte (odd: the client's preface and an empty SETTINGS frame come first), then the
// bytes that are sent. The connection is closed for writing behind them and read to its end.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>

#include "fuzz/live_server.h"

namespace {

using namespace rota;

constexpr std::string_view kPreface("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0", 33);
constexpr int kCallEvery = 16;
// The server ends a connection that has ended at once, as a rule; the rest is left to its
// keepalive, and then it must answer others meanwhile.
constexpr int kEndMs = 1'000;
constexpr std::size_t kAnswerMax = 1U << 20U;

class Connection {
 public:
  explicit Connection(int port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const auto* to = reinterpret_cast<const sockaddr*>(&address);
    FUZZ_CHECK(connect(fd_, to, sizeof(address)) == 0, "the server takes no connection");
  }
  // No address is left waiting for stray packets: thousands of connections follow.
  ~Connection() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(fd_);
  }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void write(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return;  // the server has heard enough
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  // True when the other side ended it in time. Its answer is bounded.
  bool read_to_end() const {
    shutdown(fd_, SHUT_WR);
    char bytes[4096];
    std::size_t read = 0;
    while (true) {
      pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
      if (poll(&ready, 1, kEndMs) <= 0) return false;
      const ssize_t got = recv(fd_, bytes, sizeof(bytes), 0);
      if (got <= 0) return true;
      read += static_cast<std::size_t>(got);
      FUZZ_CHECK(read <= kAnswerMax, "an answer without end to bytes that ask for nothing");
    }
  }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto& server = fuzz::LiveServer::instance();
  server.next_input();
  fuzz::Input input(data, size);
  const Connection connection(server.port());
  if ((input.byte() & 1U) != 0) connection.write(kPreface);
  connection.write(input.rest());
  const bool ended = connection.read_to_end();
  static int inputs = 0;
  if (!ended || inputs++ % kCallEvery == 0) {
    const auto answer = server.call("/rota.v1.AdminService/GetServerInfo", "");
    FUZZ_CHECK(answer.status.ok(), "the server answers no more: " + answer.status.error_message());
  }
  return 0;
}
