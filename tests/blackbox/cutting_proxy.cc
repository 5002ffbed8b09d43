// SPDX-License-Identifier: Apache-2.0
#include "blackbox/cutting_proxy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <utility>

#include "blackbox/history.h"

namespace rota::blackbox {
namespace {

constexpr std::size_t kHeldMax = 256 * 1024;  // of one direction; then the source has to wait
constexpr std::size_t kReadBytes = 64 * 1024;
constexpr std::int64_t kNsPerMs = 1'000'000;

int stream_socket() { return socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// The direction that a side is the source of, and the one that leads to it.
int from_side(int side) { return side; }
int to_side(int side) { return 1 - side; }

}  // namespace

CuttingProxy::CuttingProxy(const std::string& listen_host, const std::string& target) {
  target_ = split_address(target);
  listen(listen_host);
  if (!listens()) return;
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  thread_ = std::thread([this] { run(); });
}

CuttingProxy::~CuttingProxy() {
  if (thread_.joinable()) {
    command([this] { stopping_ = true; });
    thread_.join();
  }
  for (const Connection& connection : connections_) {
    for (const int fd : connection.fds) close_with_reset(fd);
  }
  if (listener_ >= 0) close(listener_);
  if (wake_ >= 0) close(wake_);
}

void CuttingProxy::listen(const std::string& host) {
  listener_ = stream_socket();
  sockaddr_in address = socket_address({host, 0});
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (listener_ < 0 || bind(listener_, generic, size) != 0 || ::listen(listener_, 4096) != 0 ||
      getsockname(listener_, generic, &size) != 0) {
    why_ = "cannot listen on " + host + ": " + std::strerror(errno);
    return;
  }
  port_ = ntohs(address.sin_port);
  address_ = host + ":" + std::to_string(port_);
}

void CuttingProxy::command(std::function<void()> change) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    commands_.push_back([&] {
      change();
      done.set_value();
    });
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_, &one, sizeof one);
  done.get_future().wait();
}

void CuttingProxy::cut() {
  command([this] {
    for (Connection& connection : connections_) {
      if (!connection.abandoned) ++figures_.reset;
      reset(connection);
    }
  });
}

void CuttingProxy::cut_after(Direction direction, std::uint64_t bytes) {
  command([=, this] {
    for (Connection& connection : connections_) {
      if (connection.abandoned) continue;
      connection.pipes[static_cast<std::size_t>(direction)].budget =
          static_cast<std::int64_t>(bytes);
      if (bytes == 0) {
        ++figures_.reset;
        reset(connection);
      }
    }
  });
}

void CuttingProxy::delay(Direction direction, int ms) {
  command([=, this] { delay_ms_[static_cast<std::size_t>(direction)] = ms; });
}

void CuttingProxy::hold(Direction direction, bool held) {
  command([=, this] { held_[static_cast<std::size_t>(direction)] = held; });
}

void CuttingProxy::abandon() {
  command([this] {
    for (Connection& connection : connections_) {
      if (!connection.abandoned) ++figures_.abandoned;
      connection.abandoned = true;
    }
  });
}

void CuttingProxy::refuse(bool refuses) {
  command([=, this] { refuses_ = refuses; });
}

CuttingProxy::Figures CuttingProxy::figures() {
  Figures figures;
  command([&] {
    figures = figures_;
    figures.present = static_cast<int>(connections_.size());
  });
  return figures;
}

void CuttingProxy::take_commands() {
  std::uint64_t count = 0;
  [[maybe_unused]] const auto got = read(wake_, &count, sizeof count);
  std::vector<std::function<void()>> commands;
  {
    const std::lock_guard lock(mutex_);
    commands.swap(commands_);
  }
  for (const auto& one : commands) one();
}

void CuttingProxy::run() {
  std::vector<pollfd> polled;
  while (!stopping_) {
    polled.clear();
    polled.push_back({.fd = wake_, .events = POLLIN, .revents = 0});
    polled.push_back({.fd = listener_, .events = POLLIN, .revents = 0});
    for (const Connection& connection : connections_) {
      for (const int side : {0, 1}) {
        polled.push_back({.fd = polled_fd(connection, side),
                          .events = wanted_events(connection, side),
                          .revents = 0});
      }
    }
    poll(polled.data(), polled.size(), timeout_ms());
    std::size_t next = 2;
    for (Connection& connection : connections_) {
      for (const int side : {0, 1}) look(connection, side, polled[next++].revents);
    }
    // After the connections, whose places in the list of descriptors they would change.
    if (polled[1].revents != 0) accept_all();
    if (polled[0].revents != 0) take_commands();
    connections_.remove_if([](const Connection& connection) { return connection.broken; });
  }
}

int CuttingProxy::timeout_ms() const {
  std::int64_t due_ns = INT64_MAX;
  for (const Connection& connection : connections_) {
    for (std::size_t direction = 0; direction < 2; ++direction) {
      const Pipe& pipe = connection.pipes[direction];
      if (!connection.abandoned && !held_[direction] && !pipe.chunks.empty()) {
        due_ns = std::min(due_ns, pipe.chunks.front().due_ns);
      }
    }
  }
  if (due_ns == INT64_MAX) return -1;
  return static_cast<int>(std::max<std::int64_t>(0, (due_ns - mono_ns()) / kNsPerMs + 1));
}

void CuttingProxy::accept_all() {
  while (true) {
    const int client = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (client < 0) return;
    ++figures_.accepted;
    if (refuses_) {
      ++figures_.refused;
      close_with_reset(client);
      continue;
    }
    connect_on(client);
  }
}

void CuttingProxy::connect_on(int client) {
  const int server = stream_socket();
  const sockaddr_in address = socket_address(target_);
  const int at_once = 1;
  setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof at_once);
  if (connect(server, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    close_with_reset(client);
    close_with_reset(server);
    return;
  }
  // One that is still on its way and fails is seen as an error of the socket.
  connections_.emplace_back().fds = {client, server};
}

bool CuttingProxy::may_write(const Connection& connection, int direction,
                             std::int64_t now_ns) const {
  const auto index = static_cast<std::size_t>(direction);
  const Pipe& pipe = connection.pipes[index];
  return !held_[index] && !pipe.chunks.empty() && pipe.chunks.front().due_ns <= now_ns;
}

// A side that has closed and was told of the other's end has nothing to say but that, for ever.
int CuttingProxy::polled_fd(const Connection& connection, int side) {
  const bool silent = connection.pipes[static_cast<std::size_t>(from_side(side))].ended &&
                      connection.pipes[static_cast<std::size_t>(to_side(side))].told;
  return silent ? -1 : connection.fds[static_cast<std::size_t>(side)];
}

short CuttingProxy::wanted_events(const Connection& connection, int side) const {
  if (connection.abandoned) return POLLRDHUP;
  short events = 0;
  const Pipe& source = connection.pipes[static_cast<std::size_t>(from_side(side))];
  if (!source.ended && source.held_bytes < kHeldMax) events |= POLLIN;
  if (may_write(connection, to_side(side), mono_ns())) events |= POLLOUT;
  return events;
}

void CuttingProxy::look(Connection& connection, int side, short events) {
  if (connection.broken) return;
  if (connection.abandoned) return look_at_abandoned(connection, side, events);
  if ((events & (POLLERR | POLLNVAL)) != 0) return reset(connection);
  if ((events & (POLLIN | POLLHUP)) != 0) read_from(connection, side);
  if (!connection.broken) write_to(connection, side);
}

void CuttingProxy::look_at_abandoned(Connection& connection, int side, short events) {
  int& fd = connection.fds[static_cast<std::size_t>(side)];
  if (fd >= 0 && (events & (POLLRDHUP | POLLHUP | POLLERR | POLLNVAL)) != 0) {
    close(fd);
    fd = -1;  // poll passes over it
  }
  connection.broken = connection.fds[0] < 0 && connection.fds[1] < 0;
}

void CuttingProxy::read_from(Connection& connection, int side) {
  const int fd = connection.fds[static_cast<std::size_t>(side)];
  const auto direction = static_cast<std::size_t>(from_side(side));
  Pipe& pipe = connection.pipes[direction];
  if (pipe.ended || pipe.held_bytes >= kHeldMax) return;
  std::string bytes(kReadBytes, '\0');
  const ssize_t got = recv(fd, bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got < 0) return reset(connection);
  if (got == 0) {
    pipe.ended = true;
    return write_to(connection, 1 - side);  // with nothing left to send nothing else would tell it
  }
  bytes.resize(static_cast<std::size_t>(got));
  pipe.held_bytes += bytes.size();
  if (delay_ms_[direction] > 0) figures_.delayed += bytes.size();
  if (held_[direction]) figures_.held += bytes.size();
  pipe.chunks.push_back(
      {.due_ns = mono_ns() + delay_ms_[direction] * kNsPerMs, .bytes = std::move(bytes)});
}

void CuttingProxy::write_to(Connection& connection, int side) {
  const int fd = connection.fds[static_cast<std::size_t>(side)];
  const int direction = to_side(side);
  Pipe& pipe = connection.pipes[static_cast<std::size_t>(direction)];
  while (may_write(connection, direction, mono_ns())) {
    Chunk& chunk = pipe.chunks.front();
    std::size_t size = chunk.bytes.size() - chunk.sent;
    if (pipe.budget >= 0) size = std::min(size, static_cast<std::size_t>(pipe.budget));
    const ssize_t sent = send(fd, chunk.bytes.data() + chunk.sent, size, MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return;
    if (sent < 0) return reset(connection);
    chunk.sent += static_cast<std::size_t>(sent);
    pipe.held_bytes -= static_cast<std::size_t>(sent);
    figures_.bytes[static_cast<std::size_t>(direction)] += static_cast<std::uint64_t>(sent);
    if (pipe.budget >= 0) {
      pipe.budget -= sent;
      if (pipe.budget == 0) {
        ++figures_.reset;
        return reset(connection);
      }
    }
    if (chunk.sent == chunk.bytes.size()) pipe.chunks.pop_front();
  }
  if (pipe.ended && pipe.chunks.empty() && !pipe.told) {
    pipe.told = true;
    shutdown(fd, SHUT_WR);
    if (connection.pipes[0].told && connection.pipes[1].told) {
      for (int& one : connection.fds) {
        close(one);
        one = -1;
      }
      connection.broken = true;
    }
  }
}

void CuttingProxy::reset(Connection& connection) {
  for (int& fd : connection.fds) {
    close_with_reset(fd);
    fd = -1;
  }
  connection.broken = true;
}

}  // namespace rota::blackbox
