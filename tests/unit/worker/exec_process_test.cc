// SPDX-License-Identifier: Apache-2.0
// The rota-worker program against a fake server.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <string>
#include <vector>

#include "support/fake_server/fake_server.h"

namespace rota::test {
namespace {

using namespace std::chrono_literals;

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), ROTA_WORKER_BINARY);
    std::vector<char*> raw;
    for (auto& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int null = open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
      execv(raw[0], raw.data());
      _exit(126);
    }
  }
  ~Process() {
    if (pid_ > 0) end(SIGKILL);
  }
  int end(int signal_number) {
    kill(pid_, signal_number);
    return wait();
  }
  int wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  pid_t pid_ = 0;
};

bool is_running(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/stat");
  std::string number, name, state;
  return (file >> number >> name >> state) && state != "Z";
}

TEST(ExecProcessTest, RunsTheCommandForEachJob) {
  FakeServer server;
  const std::string id = server.give("any", "payload");
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--queue", "q2",
                  "--concurrency", "2", "--lease-ttl", "10s", "--id", "w-test", "--", "sh", "-c",
                  "echo $ROTA_KIND $ROTA_JOB_ID; cat"});
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
  EXPECT_EQ(server.finished[0].outcome().success().result().data(), "any " + id + "\npayload");
  const auto& call = server.lease_calls[0];
  EXPECT_EQ(call.queues_size(), 2);
  EXPECT_EQ(call.max_jobs(), 2);
  EXPECT_EQ(call.lease_ttl().seconds(), 10);
  EXPECT_EQ(call.worker().worker_id(), "w-test");
  EXPECT_EQ(worker.end(SIGTERM), 0);
}

TEST(ExecProcessTest, MissingCommandFailsTheAttemptOnly) {
  FakeServer server;
  server.give("a");
  server.give("b");
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", "/nowhere"});
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 2; }));
  EXPECT_TRUE(server.finished[1].outcome().has_failure());
  EXPECT_EQ(worker.end(SIGINT), 0);
}

TEST(ExecProcessTest, TermGivesBackWhatCannotFinish) {
  FakeServer server;
  server.give("k");
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--drain", "200ms", "--",
                  "sleep", "1000"});
  ASSERT_TRUE(server.wait_until([&] { return server.live.size() == 1; }));
  EXPECT_EQ(worker.end(SIGTERM), 0);
  ASSERT_EQ(server.finished.size(), 1u);
  EXPECT_TRUE(server.finished[0].outcome().has_release());
}

TEST(ExecProcessTest, ChildOfAKilledWorkerIsGoneWithinASecond) {
  FakeServer server;
  server.give("k");
  const std::string file = ::testing::TempDir() + "rota-child-" + std::to_string(getpid());
  Process worker(
      {"exec", "--server", server.address(), "--queue", "q", "--", "sh", "-c",
       "echo $$ > '" + file + ".new' && mv '" + file + ".new' '" + file + "'; exec sleep 1000"});
  pid_t child = 0;
  ASSERT_TRUE(server.wait_until([&] { return server.live.size() == 1; }));
  ASSERT_TRUE(server.wait_until([&] {
    std::ifstream(file) >> child;
    return child > 0;
  }));
  ASSERT_TRUE(is_running(child));
  worker.end(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  EXPECT_TRUE(server.wait_until([&] { return !is_running(child); }));
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 1s);
  unlink(file.c_str());
}

TEST(ExecProcessTest, UsageAndMissingServer) {
  EXPECT_EQ(Process({"exec", "--queue", "q"}).wait(), 2);
  EXPECT_EQ(Process({"exec", "--queue", "q", "--lease-ttl", "30", "--", "true"}).wait(), 2);
  EXPECT_EQ(Process({"exec", "--queue", "q", "--server", "127.0.0.1:1", "--", "true"}).wait(), 6);
  EXPECT_EQ(Process({"--version"}).wait(), 0);
}

TEST(ExecProcessTest, WaitsForTheServerWhenAsked) {
  FakeServer server;
  server.stop();
  server.give("k");
  Process worker({"exec", "--server", server.address(), "--wait-for-server", "20s", "--queue", "q",
                  "--", "true"});
  server.start();
  EXPECT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
}

}  // namespace
}  // namespace rota::test
