// SPDX-License-Identifier: Apache-2.0
#include "blackbox/cutting_proxy.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "blackbox/history.h"
#include "support/eventually.h"

namespace rota::blackbox {
namespace {

constexpr int kPatienceMs = 20'000, kSilenceMs = 50;

// A socket whose reads end in time: with bytes, with an end, or with an error.
class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket() { close(); }

  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  bool readable(int ms) const {
    pollfd ready{.fd = fd_, .events = POLLIN, .revents = 0};
    return poll(&ready, 1, ms) > 0;
  }
  bool write(const std::string& bytes) const {
    return send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
           static_cast<ssize_t>(bytes.size());
  }
  // At most `size` bytes; fewer at the end, whichever it is.
  std::string read(std::size_t size) const {
    std::string all;
    while (all.size() < size && readable(kPatienceMs)) {
      char piece[4096];
      const ssize_t got = recv(fd_, piece, std::min(sizeof piece, size - all.size()), 0);
      if (got <= 0) break;
      all.append(piece, static_cast<std::size_t>(got));
    }
    return all;
  }
  bool at_end() const {
    char byte = 0;
    return readable(kPatienceMs) && recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  int fd_;
};

class CuttingProxyTest : public ::testing::Test {
 protected:
  CuttingProxyTest() : listener_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    socklen_t size = sizeof address;
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    EXPECT_EQ(bind(listener_.fd(), generic, size), 0);
    EXPECT_EQ(listen(listener_.fd(), 16), 0);
    EXPECT_EQ(getsockname(listener_.fd(), generic, &size), 0);
    proxy_ = std::make_unique<CuttingProxy>("127.0.0.1",
                                            "127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
    EXPECT_TRUE(proxy_->listens()) << proxy_->why();
  }

  Socket connect() const {
    Socket client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const std::string& text = proxy_->address();
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port =
        htons(static_cast<std::uint16_t>(std::stoi(text.substr(text.rfind(':') + 1))));
    EXPECT_EQ(::connect(client.fd(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    return client;
  }
  Socket accept() const {
    EXPECT_TRUE(listener_.readable(kPatienceMs));
    return Socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC));
  }

  Socket listener_;
  std::unique_ptr<CuttingProxy> proxy_;
};

TEST_F(CuttingProxyTest, PassesBytesBothWaysAndEnds) {
  const Socket client = connect();
  Socket server = accept();
  const std::string much(3'000'000, 'x');
  ASSERT_TRUE(client.write("question"));
  EXPECT_EQ(server.read(8), "question");
  std::thread answers([&] {
    EXPECT_TRUE(server.write(much));
    server.close();
  });
  EXPECT_EQ(client.read(much.size()), much);
  EXPECT_TRUE(client.at_end());
  answers.join();
  EXPECT_EQ(proxy_->figures().bytes[1], much.size());
  EXPECT_EQ(proxy_->figures().reset, 0U);
}

TEST_F(CuttingProxyTest, CutsAtTheByte) {
  for (const std::uint64_t bytes : {1, 4, 9}) {
    const Socket client = connect();
    const Socket server = accept();
    ASSERT_TRUE(client.write("so far "));
    EXPECT_EQ(server.read(7), "so far ");
    proxy_->cut_after(Direction::kToServer, bytes);
    client.write("and not further");
    EXPECT_EQ(server.read(100), std::string("and not further").substr(0, bytes));
    EXPECT_TRUE(client.at_end());
  }
  EXPECT_EQ(proxy_->figures().reset, 3U);
}

TEST_F(CuttingProxyTest, CutsPresentConnectionsOnly) {
  const Socket first = connect();
  const Socket first_server = accept();
  ASSERT_TRUE(first.write("a"));
  EXPECT_EQ(first_server.read(1), "a");
  proxy_->cut();
  EXPECT_TRUE(first.at_end());
  EXPECT_TRUE(first_server.at_end());
  const Socket second = connect();
  const Socket second_server = accept();
  ASSERT_TRUE(second.write("b"));
  EXPECT_EQ(second_server.read(1), "b");
}

TEST_F(CuttingProxyTest, Delays) {
  const Socket client = connect();
  const Socket server = accept();
  proxy_->delay(Direction::kToServer, 120);
  const Ns sent = mono_ns();
  ASSERT_TRUE(client.write("late"));
  EXPECT_EQ(server.read(4), "late");
  EXPECT_GE(mono_ns() - sent, 119'000'000);
  ASSERT_TRUE(server.write("at once"));
  EXPECT_EQ(client.read(7), "at once");
  EXPECT_EQ(proxy_->figures().delayed, 4U);
}

TEST_F(CuttingProxyTest, HoldsOneDirection) {
  const Socket client = connect();
  const Socket server = accept();
  proxy_->hold(Direction::kToClient, true);
  ASSERT_TRUE(server.write("held"));
  EXPECT_FALSE(client.readable(kSilenceMs));
  ASSERT_TRUE(client.write("passes"));
  EXPECT_EQ(server.read(6), "passes");
  proxy_->hold(Direction::kToClient, false);
  EXPECT_EQ(client.read(4), "held");
  EXPECT_EQ(proxy_->figures().held, 4U);
}

TEST_F(CuttingProxyTest, HalfOpenTellsNobody) {
  const Socket client = connect();
  Socket server = accept();
  ASSERT_TRUE(client.write("a"));
  EXPECT_EQ(server.read(1), "a");
  proxy_->abandon();
  ASSERT_TRUE(client.write("lost"));
  EXPECT_FALSE(server.readable(kSilenceMs));
  server.close();
  EXPECT_FALSE(client.readable(kSilenceMs));
  EXPECT_EQ(proxy_->figures().present, 1);
  EXPECT_EQ(proxy_->figures().abandoned, 1U);
  // Another one is as good as any.
  const Socket second = connect();
  const Socket second_server = accept();
  ASSERT_TRUE(second.write("b"));
  EXPECT_EQ(second_server.read(1), "b");
  proxy_->cut();
  EXPECT_TRUE(client.at_end());
}

TEST_F(CuttingProxyTest, Refuses) {
  proxy_->refuse(true);
  EXPECT_TRUE(connect().at_end());
  EXPECT_FALSE(listener_.readable(kSilenceMs));
  proxy_->refuse(false);
  const Socket client = connect();
  const Socket server = accept();
  ASSERT_TRUE(client.write("b"));
  EXPECT_EQ(server.read(1), "b");
  EXPECT_EQ(proxy_->figures().refused, 1U);
}

TEST_F(CuttingProxyTest, ATargetThatIsAwayIsAReset) {
  listener_.close();
  EXPECT_TRUE(connect().at_end());
  EXPECT_TRUE(testing::eventually([&] { return proxy_->figures().present == 0; }));
}

}  // namespace
}  // namespace rota::blackbox
