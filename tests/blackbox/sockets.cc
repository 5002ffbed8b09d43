// SPDX-License-Identifier: Apache-2.0
#include "blackbox/sockets.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

namespace rota::blackbox {

HostPort split_address(const std::string& address) {
  const auto colon = address.rfind(':');
  return {address.substr(0, colon), std::atoi(address.c_str() + colon + 1)};
}

sockaddr_in socket_address(const HostPort& address) {
  sockaddr_in result{};
  result.sin_family = AF_INET;
  result.sin_port = htons(static_cast<std::uint16_t>(address.port));
  inet_pton(AF_INET, address.host.c_str(), &result.sin_addr);
  return result;
}

void close_with_reset(int fd) {
  if (fd < 0) return;
  const linger now{.l_onoff = 1, .l_linger = 0};
  setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
  close(fd);
}

}  // namespace rota::blackbox
