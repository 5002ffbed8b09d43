// SPDX-License-Identifier: Apache-2.0
//
// Plain sockets of IPv4, for those who are no gRPC client.
#pragma once

#include <netinet/in.h>

#include <string>

namespace rota::blackbox {

struct HostPort {
  std::string host;
  int port = 0;
};
// Of "127.0.0.1:7500".
HostPort split_address(const std::string& address);

sockaddr_in socket_address(const HostPort& address);

// Neither waits for what is on its way nor leaves the port behind for a while.
void close_with_reset(int fd);

}  // namespace rota::blackbox
