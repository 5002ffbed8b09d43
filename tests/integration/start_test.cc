// SPDX-License-Identifier: Apache-2.0
//
// Starts that are refused, each with its exit code, a reason and a cure; and clocks that stepped.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <string>
#include <variant>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/exit_code.h"
#include "base/limits.h"
#include "support/in_process_server.h"

namespace rota::testing {
namespace {

using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

app::Stop refused(base::ServerOptions options, const base::Clock* clock = nullptr) {
  app::ServerSetup setup;
  setup.options = std::move(options);
  setup.clock = clock;
  auto started = app::Server::start(std::move(setup));
  if (auto* stop = std::get_if<app::Stop>(&started)) return *stop;
  ADD_FAILURE() << "it started";
  return {};
}

class MovedClock final : public base::Clock {
 public:
  std::int64_t wall_ms() const override { return real_.wall_ms() + offset_ms_; }
  std::int64_t mono_ms() const override { return real_.mono_ms(); }
  std::int64_t boot_ms() const override { return real_.boot_ms(); }
  void set_offset(std::int64_t ms) { offset_ms_ = ms; }

 private:
  base::SystemClock real_;
  std::atomic<std::int64_t> offset_ms_{0};
};

TEST(Start, ASecondServerOnTheSameDirectoryIsRefusedQuickly) {
  InProcessServer first;
  first.make_queue("q");
  base::ServerOptions options = first.server_options();
  options.listen = "127.0.0.1:0";
  const auto began = Clock::now();
  const app::Stop stop = refused(options);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(2));
  EXPECT_EQ(stop.exit_code, app::kExitInUse);
  EXPECT_THAT(stop.text, HasSubstr(options.data));
  EXPECT_THAT(stop.text, HasSubstr(std::to_string(getpid())));
  first.enqueue("q");  // undisturbed
}

TEST(Start, ASecondServerOnTheSamePortIsRefusedAndCreatesNothing) {
  InProcessServer first;
  TemporaryDirectory other;
  base::ServerOptions options;
  options.data = other.path() + "/data";
  options.listen = first.address();
  const auto began = Clock::now();
  const app::Stop stop = refused(options);
  EXPECT_LT(Clock::now() - began, std::chrono::seconds(2));
  EXPECT_EQ(stop.exit_code, app::kExitInUse);
  EXPECT_THAT(stop.text, HasSubstr(first.address()));
  EXPECT_NE(access(options.data.c_str(), F_OK), 0);
}

TEST(Start, AnAddressThatIsNotAllowedIsRefused) {
  TemporaryDirectory directory;
  base::ServerOptions options;
  options.data = directory.path() + "/data";
  options.listen = "192.0.2.7:7500";
  EXPECT_EQ(refused(options).exit_code, app::kExitConfig);
  options.listen = "0.0.0.0:0";
  const app::Stop stop = refused(options);
  EXPECT_EQ(stop.exit_code, app::kExitConfig);
  EXPECT_THAT(stop.text, HasSubstr("--allow-plaintext-private"));
  options.listen = "nonsense";
  EXPECT_EQ(refused(options).exit_code, app::kExitConfig);
}

TEST(Start, ADirectoryOfSomethingElseIsRefused) {
  TemporaryDirectory directory;
  base::ServerOptions options;
  options.data = directory.path();
  options.listen = "127.0.0.1:0";
  const std::string file = directory.path() + "/letters.txt";
  std::fclose(std::fopen(file.c_str(), "w"));
  EXPECT_EQ(refused(options).exit_code, app::kExitConfig);
}

TEST(Start, AClockFarBehindTheDataIsRefusedUnlessTrusted) {
  MovedClock clock;
  InProcessServer server({.clock = &clock});
  server.make_queue("q");
  const std::string id = server.enqueue("q");
  base::ServerOptions options = server.server_options();
  server.stop();

  clock.set_offset(-2 * base::kDayMs);
  const app::Stop stop = refused(options, &clock);
  EXPECT_EQ(stop.exit_code, app::kExitClock);
  EXPECT_THAT(stop.text, HasSubstr("--trust-clock"));

  options.trust_clock = true;
  app::ServerSetup setup;
  setup.options = options;
  setup.clock = &clock;
  {  // the data directory is free again when the server object is gone
    auto started = app::Server::start(std::move(setup));
    ASSERT_TRUE(std::holds_alternative<std::unique_ptr<app::Server>>(started));
    std::get<std::unique_ptr<app::Server>>(started)->stop(1'000);
  }

  server.start();
  EXPECT_EQ(server.get(id).state(), v1::JOB_STATE_READY);
  EXPECT_EQ(server.info().clock_state(), v1::ServerInfo::CLOCK_STATE_OK);
}

TEST(Start, AClockALittleBehindIsServedAndShown) {
  MovedClock clock;
  InProcessServer server({.clock = &clock});
  server.make_queue("q");
  server.stop();
  clock.set_offset(-60'000);
  server.start();
  const v1::ServerInfo info = server.info();
  EXPECT_EQ(info.clock_state(), v1::ServerInfo::CLOCK_STATE_BEHIND);
  ASSERT_GE(info.warnings_size(), 1);
  EXPECT_THAT(info.warnings(0), HasSubstr("time stands still"));
}

TEST(Start, GarbageOnThePortEndsThatConnectionAndNothingElse) {
  InProcessServer server;
  server.make_queue("q");
  const auto colon = server.address().rfind(':');
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port =
      htons(static_cast<std::uint16_t>(std::stoi(server.address().substr(colon + 1))));
  for (const std::string& garbage :
       {std::string("GET / HTTP/1.1\r\n\r\n"), std::string(4096, '\xff'), std::string(1, '\0')}) {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_GT(send(fd, garbage.data(), garbage.size(), MSG_NOSIGNAL), 0);
    shutdown(fd, SHUT_WR);
    char buffer[4096];
    while (recv(fd, buffer, sizeof(buffer), 0) > 0) {
    }
    close(fd);
  }
  server.enqueue("q");
  EXPECT_FALSE(server.failure());
}

}  // namespace
}  // namespace rota::testing
