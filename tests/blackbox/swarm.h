// SPDX-License-Identifier: Apache-2.0
//
// Ten thousand workers without jobs: connections that each hold one lease call, and that all come
// back at once when the server does.
#pragma once

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

}  // namespace rota::blackbox
