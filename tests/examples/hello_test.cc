// SPDX-License-Identifier: Apache-2.0
// Each first job of examples/hello against a real server.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cstdio>
#include <future>
#include <optional>
#include <string>
#include <thread>

#include "rota/testing.h"

namespace rota::test {
namespace {

struct Ended {
  int status = -1;
  std::string output{};
};

Ended run(const std::string& command) {
  Ended ended;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return ended;
  char buffer[4096];
  std::size_t got = 0;
  while ((got = fread(buffer, 1, sizeof(buffer), pipe)) > 0) ended.output.append(buffer, got);
  ended.status = pclose(pipe);
  return ended;
}

class HelloTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto server = testing::LocalServer::start({.binary = ROTA_SERVER_BINARY});
    ASSERT_TRUE(server) << server.error().message;
    server_.emplace(*std::move(server));
    setenv("ROTA_ADDRESS", server_->address().c_str(), 1);
  }
  std::optional<testing::LocalServer> server_;
};

TEST_F(HelloTest, Cpp) {
  const Ended ended = run(ROTA_HELLO_BINARY);
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("hello world"), std::string::npos) << ended.output;
}

// As after the README's first job, whose worker stays on the queue.
TEST_F(HelloTest, CppSeesWhatAnotherWorkerDid) {
  auto client = Client::create({.address = server_->address()});
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->declare_queue({.name = "hello"}));
  Worker other(*client, {.queues = {"hello"}, .id = "other"});
  std::promise<void> asked;
  other.handle("first", [&](Context&) {
    asked.set_value();
    return Outcome::succeed();
  });
  other.handle("greet", [](Context& ctx) { return Outcome::succeed("hi " + ctx.job().payload); });
  std::jthread works([&] { EXPECT_TRUE(other.run()); });
  EXPECT_TRUE(client->enqueue({.queue = "hello", .kind = "first"}));
  // From here on it waits for the queue, before the example does.
  EXPECT_EQ(asked.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  const Ended ended = run(ROTA_HELLO_BINARY);
  EXPECT_EQ(ended.status, 0) << ended.output;
  const bool by_other = ended.output == "hi world\ndone by other\n";
  const bool by_itself = ended.output.rfind("hello world\ndone by ", 0) == 0;
  EXPECT_TRUE(by_other || by_itself) << ended.output;
  other.stop();
}

TEST_F(HelloTest, Shell) {
  const Ended ended =
      run("PATH='" ROTA_BINARIES "':\"$PATH\" '" ROTA_SOURCE "/examples/hello/shell/hello.sh'");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("SUCCEEDED"), std::string::npos) << ended.output;
}

TEST_F(HelloTest, Node) {
  const Ended packages =
      run("'" ROTA_CMAKE "' '-DSOURCE=" ROTA_SOURCE "/examples/hello/node' '-DWORK=" ROTA_NODE_DIR
          "' -P '" ROTA_SOURCE "/tests/examples/node_packages.cmake'");
  ASSERT_EQ(packages.status, 0) << packages.output;
  // The packages lie in the build tree: Node looks for them beside the script.
  const Ended ended =
      run("cp '" ROTA_SOURCE "/examples/hello/node/hello.js' '" ROTA_NODE_DIR
          "' && ROTA_PROTO_DIR='" ROTA_SOURCE "/proto' node '" ROTA_NODE_DIR "/hello.js'");
  EXPECT_EQ(ended.status, 0) << ended.output;
  EXPECT_NE(ended.output.find("hello world"), std::string::npos) << ended.output;
  EXPECT_NE(ended.output.find("result greeted"), std::string::npos) << ended.output;
}

TEST_F(HelloTest, LocalServerComesBackWithItsData) {
  auto client = Client::create({.address = server_->address()});
  ASSERT_TRUE(client);
  ASSERT_TRUE(client->declare_queue({.name = "kept"}));
  auto job = client->enqueue({.queue = "kept", .kind = "k"});
  ASSERT_TRUE(job) << job.error().message;
  server_->kill();
  EXPECT_EQ(server_->pid(), 0);
  auto again = server_->restart();
  ASSERT_TRUE(again) << again.error().message;
  auto info = client->get(job->id);
  ASSERT_TRUE(info) << info.error().message;
  EXPECT_EQ(info->ref.state, JobState::kReady);
  EXPECT_FALSE(info->why_waiting.empty());
  EXPECT_EQ(server_->terminate(), 0);
}

}  // namespace
}  // namespace rota::test
