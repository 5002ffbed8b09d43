// SPDX-License-Identifier: Apache-2.0
#include "blackbox/swarm.h"

#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "blackbox/history.h"
#include "blackbox/plan.h"
#include "rota/v1/worker_service.pb.h"

namespace rota::blackbox {
namespace {

constexpr char kLeasePath[] = "/rota.v1.WorkerService/LeaseJobs";
constexpr int kOpenEveryMs = 20;
constexpr int kWaitMs = 30'000;  // the longest that the server takes

std::string lease_call(std::size_t place) {
  v1::LeaseJobsRequest request;
  request.set_session_id("swarm-" + std::to_string(place));
  request.mutable_worker()->set_worker_id("swarm");
  request.add_queues(kIdle);
  request.set_max_jobs(1);
  set_ms(request.mutable_wait_duration(), kWaitMs);
  return request.SerializeAsString();
}

}  // namespace

Swarm::Swarm(const std::string& address, int connections)
    : address_(address),
      target_(split_address(address)),
      connections_(static_cast<std::size_t>(connections)) {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  thread_ = std::thread([this] { run(); });
}

Swarm::~Swarm() {
  stopping_ = true;
  thread_.join();
  for (const Connection& connection : connections_) {
    if (connection.fd >= 0) close_with_reset(connection.fd);
  }
  close(epoll_);
}

void Swarm::run() {
  std::array<epoll_event, 512> events{};
  while (!stopping_) {
    open_due();
    const int count =
        epoll_wait(epoll_, events.data(), static_cast<int>(events.size()), kOpenEveryMs);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      look(static_cast<std::size_t>(event.data.u64), event.events);
    }
  }
}

void Swarm::open_due() {
  const Ns now = mono_ns();
  for (std::size_t place = 0; place < connections_.size(); ++place) {
    if (connections_[place].fd < 0 && connections_[place].retry_ns <= now) open(place);
  }
}

void Swarm::open(std::size_t place) {
  Connection& connection = connections_[place];
  connection = {};
  connection.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (connection.fd < 0) return lose(place, true);
  const sockaddr_in address = socket_address(target_);
  if (connect(connection.fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno != EINPROGRESS) {
    return lose(place, true);
  }
  connection.to_send = http2_begin(0);
  call(connection, place);
  watch(place, EPOLL_CTL_ADD);
}

void Swarm::watch(std::size_t place, int operation) {
  Connection& connection = connections_[place];
  epoll_event event{};
  event.events = EPOLLIN | (connection.to_send.empty() ? 0U : static_cast<unsigned>(EPOLLOUT));
  event.data.u64 = place;
  epoll_ctl(epoll_, operation, connection.fd, &event);
}

void Swarm::call(Connection& connection, std::size_t place) {
  connection.to_send += http2_call(connection.stream, address_, kLeasePath, lease_call(place));
  connection.stream += 2;
}

void Swarm::look(std::size_t place, std::uint32_t events) {
  Connection& connection = connections_[place];
  if (connection.fd < 0) return;
  if ((events & (EPOLLERR | EPOLLHUP)) != 0) return lose(place, !connection.up);
  if ((events & EPOLLOUT) != 0 && !connection.up) {
    connection.up = true;
    ++connected_;
    ++made_;
  }
  if ((events & EPOLLIN) != 0) receive(place);
  if (connection.fd >= 0) send_rest(place);
}

void Swarm::receive(std::size_t place) {
  Connection& connection = connections_[place];
  std::array<char, 8'192> bytes{};
  const ssize_t got = recv(connection.fd, bytes.data(), bytes.size(), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) return lose(place, false);
  auto seen = connection.reader.read({bytes.data(), static_cast<std::size_t>(got)});
  connection.to_send += seen.to_send;
  answered_ += seen.ended;
  if (seen.broken || seen.goes_away) return lose(place, false);
  for (int i = 0; i < seen.ended; ++i) call(connection, place);
}

void Swarm::send_rest(std::size_t place) {
  Connection& connection = connections_[place];
  if (!connection.up || connection.to_send.empty()) return;
  const ssize_t sent =
      send(connection.fd, connection.to_send.data(), connection.to_send.size(), MSG_NOSIGNAL);
  if (sent < 0 && errno != EAGAIN && errno != EINTR) return lose(place, false);
  if (sent > 0) connection.to_send.erase(0, static_cast<std::size_t>(sent));
  watch(place, EPOLL_CTL_MOD);
}

void Swarm::lose(std::size_t place, bool refused) {
  Connection& connection = connections_[place];
  if (connection.fd >= 0) close_with_reset(connection.fd);
  if (connection.up) --connected_;
  if (refused) ++refused_;
  connection.up = false;
  connection.fd = -1;
  connection.retry_ns = refused ? mono_ns() + Ns{kRefusedMs} * 1'000'000 : 0;
}

}  // namespace rota::blackbox
