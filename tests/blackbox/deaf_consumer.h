// SPDX-License-Identifier: Apache-2.0
//
// A client of the kind that takes a server's memory without doing anything.
#pragma once

#include <string>
#include <string_view>

namespace rota::blackbox {

// A client that asks for all it can get and never reads a byte of it. The connection stays until
// close(), or until the server cuts it.
class DeafConsumer {
 public:
  DeafConsumer() = default;
  ~DeafConsumer() { close(); }
  DeafConsumer(const DeafConsumer&) = delete;
  DeafConsumer& operator=(const DeafConsumer&) = delete;

  // Sends `calls` times the same call. False: it could not.
  bool begin(const std::string& address, std::string_view path, std::string_view message,
             int calls);
  // Whether the server has cut it. Asked of the system's table of connections: the end of the
  // connection itself cannot arrive, behind so much that is not read.
  bool cut() const;
  void close();

 private:
  bool stands_in(const char* path) const;

  int fd_ = -1, own_port_ = 0, server_port_ = 0;
};

}  // namespace rota::blackbox
