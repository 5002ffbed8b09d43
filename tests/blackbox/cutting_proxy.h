// SPDX-License-Identifier: Apache-2.0
//
// A TCP proxy that does to connections what networks do: cuts them, also in the middle of a frame,
// delays them, lets them die without a word, refuses them.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "blackbox/sockets.h"

namespace rota::blackbox {

enum class Direction : std::uint8_t { kToServer = 0, kToClient = 1 };

// Has a thread of its own; all methods are thread-safe and return when what they ask for is in
// force. Commands about present connections leave later ones alone.
class CuttingProxy {
 public:
  // Listens on any free port of `listen_host`, an IPv4 literal, and passes on to `target`
  // ("127.0.0.1:7500"). A target that does not listen is met as a connection that is reset.
  CuttingProxy(const std::string& listen_host, const std::string& target);
  ~CuttingProxy();  // resets what is left
  CuttingProxy(const CuttingProxy&) = delete;
  CuttingProxy& operator=(const CuttingProxy&) = delete;

  // False with why() when it could not listen.
  bool listens() const { return port_ > 0; }
  const std::string& why() const { return why_; }
  const std::string& address() const { return address_; }

  // Resets the present connections.
  void cut();
  // Each present connection passes exactly so many bytes more in this direction and is then reset.
  void cut_after(Direction direction, std::uint64_t bytes);
  // What arrives from now on waits so long. 0: goes on at once.
  void delay(Direction direction, int ms);
  // While held, nothing passes in this direction, on any connection; all stay open. What arrived
  // meanwhile passes afterwards.
  void hold(Direction direction, bool held);
  // The present connections become half open: nothing passes any more in either direction, and an
  // end that closes is not reported to the other one.
  void abandon();
  // While it refuses, new connections are reset at once.
  void refuse(bool refuses);

  struct Figures {
    std::uint64_t accepted = 0, refused = 0;
    std::uint64_t reset = 0;      // connections, by a command
    std::uint64_t abandoned = 0;  // connections
    std::uint64_t delayed = 0;    // bytes, in both directions
    std::uint64_t held = 0;       // bytes that arrived while their direction was held
    std::array<std::uint64_t, 2> bytes{};
    int present = 0;
  };
  Figures figures();

 private:
  struct Chunk {
    std::int64_t due_ns = 0;
    std::string bytes;
    std::size_t sent = 0;
  };
  // One direction of a connection.
  struct Pipe {
    std::list<Chunk> chunks{};
    std::size_t held_bytes = 0;
    std::int64_t budget = -1;  // bytes until the cut; -1: none is due
    bool ended = false;        // the source has closed its side
    bool told = false;         // the target knows
  };
  struct Connection {
    std::array<int, 2> fds{-1, -1};  // of the client, of the server
    std::array<Pipe, 2> pipes{};
    bool abandoned = false;
    bool broken = false;
  };

  void listen(const std::string& host);
  void run();
  void command(std::function<void()> change);
  void take_commands();
  void accept_all();
  void connect_on(int client);
  void look(Connection& connection, int side, short events);
  void read_from(Connection& connection, int side);
  void write_to(Connection& connection, int side);
  void look_at_abandoned(Connection& connection, int side, short events);
  static int polled_fd(const Connection& connection, int side);
  short wanted_events(const Connection& connection, int side) const;
  bool may_write(const Connection& connection, int direction, std::int64_t now_ns) const;
  void reset(Connection& connection);
  int timeout_ms() const;

  HostPort target_;
  std::string address_, why_;
  int listener_ = -1, wake_ = -1, port_ = 0;
  std::thread thread_;
  std::mutex mutex_;
  std::vector<std::function<void()>> commands_;  // under the mutex
  bool stopping_ = false;                        // below: of the thread
  bool refuses_ = false;
  std::array<int, 2> delay_ms_{};
  std::array<bool, 2> held_{};
  std::list<Connection> connections_;
  Figures figures_;
};

}  // namespace rota::blackbox
