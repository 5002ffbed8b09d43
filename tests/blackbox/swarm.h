// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand workers without jobs: connections that each hold one lease call, and that all come
// back at once when the server does.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "blackbox/http2.h"
#include "blackbox/sockets.h"

namespace rota::blackbox {

class Swarm {
 public:
  // Begins at once, on a thread of its own. Each connection that ends is made again at once; one
  // that is refused, after kRefusedMs.
  Swarm(const std::string& address, int connections);
  ~Swarm();
  Swarm(const Swarm&) = delete;
  Swarm& operator=(const Swarm&) = delete;

  static constexpr int kRefusedMs = 200;

  int connected() const { return connected_; }
  std::int64_t made() const { return made_; }        // connections, in all
  std::int64_t refused() const { return refused_; }  // attempts
  std::int64_t answered() const { return answered_; }

 private:
  struct Connection {
    int fd = -1;
    std::int64_t retry_ns = 0;  // while fd is -1
    std::uint32_t stream = 1;
    bool up = false;
    std::string to_send{};
    Http2Reader reader{};
  };

  void run();
  void open_due();
  void open(std::size_t place);
  void look(std::size_t place, std::uint32_t events);
  void receive(std::size_t place);
  void call(Connection& connection, std::size_t place);
  void send_rest(std::size_t place);
  void lose(std::size_t place, bool refused);
  void watch(std::size_t place, int operation);

  const std::string address_;
  const HostPort target_;
  int epoll_ = -1;
  std::vector<Connection> connections_;
  std::atomic<bool> stopping_{false};
  std::atomic<int> connected_{0};
  std::atomic<std::int64_t> made_{0}, refused_{0}, answered_{0};
  std::thread thread_;
};

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
