// SPDX-License-Identifier: Apache-2.0
#include "blackbox/deaf_consumer.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "blackbox/http2.h"
#include "blackbox/sockets.h"

namespace rota::blackbox {

bool DeafConsumer::begin(const std::string& address, std::string_view path,
                         std::string_view message, int calls) {
  const HostPort server = split_address(address);
  fd_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in to = socket_address(server);
  // As little as possible is taken off the server's hands by the system.
  const int little = 4'096;
  setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &little, sizeof little);
  if (fd_ < 0 || connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return false;
  sockaddr_in own{};
  socklen_t size = sizeof own;
  getsockname(fd_, reinterpret_cast<sockaddr*>(&own), &size);
  own_port_ = ntohs(own.sin_port);
  server_port_ = server.port;
  std::string bytes = http2_begin(INT32_MAX);
  for (int i = 0; i < calls; ++i) {
    bytes += http2_call(static_cast<std::uint32_t>(2 * i + 1), address, path, message);
  }
  std::string_view rest = bytes;
  while (!rest.empty()) {
    pollfd ready{.fd = fd_, .events = POLLOUT, .revents = 0};
    // A server that reads no further has heard enough.
    if (poll(&ready, 1, 2'000) <= 0) return true;
    const ssize_t sent = send(fd_, rest.data(), rest.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN) return false;
    if (sent > 0) rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool DeafConsumer::cut() const {
  // A server that takes both kinds of addresses stands in the table of the newer one.
  return !(stands_in("/proc/net/tcp") || stands_in("/proc/net/tcp6"));
}

// Whether the server's end is established. "sl local_address rem_address st ...", in hex.
bool DeafConsumer::stands_in(const char* path) const {
  constexpr int kEstablished = 1;
  const auto port = [](const std::string& address) {
    return std::strtol(address.c_str() + address.find(':') + 1, nullptr, 16);
  };
  std::ifstream table(path);
  std::string line, number, local, remote, state;
  while (std::getline(table, line)) {
    std::istringstream words(line);
    words >> number >> local >> remote >> state;
    if (local.find(':') == std::string::npos || remote.find(':') == std::string::npos) continue;
    if (port(local) != server_port_ || port(remote) != own_port_) continue;
    return std::strtol(state.c_str(), nullptr, 16) == kEstablished;
  }
  return false;
}

void DeafConsumer::close() {
  if (fd_ >= 0) close_with_reset(fd_);
  fd_ = -1;
}

}  // namespace rota::blackbox
