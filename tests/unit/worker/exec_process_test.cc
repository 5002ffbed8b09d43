// SPDX-License-Identifier: Apache-2.0
// The rota-worker program against a fake server.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "support/fake_server/fake_server.h"

namespace rota::test {
namespace {

using namespace std::chrono_literals;

class Process {
 public:
  explicit Process(std::vector<std::string> arguments) {
    static int started = 0;
    log_file_ = ::testing::TempDir() + "rota-worker-" + std::to_string(getpid()) + "-" +
                std::to_string(started++) + ".log";
    const int log = open(log_file_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    arguments.insert(arguments.begin(), ROTA_WORKER_BINARY);
    std::vector<char*> raw;
    for (auto& argument : arguments) raw.push_back(argument.data());
    raw.push_back(nullptr);
    pid_ = fork();
    if (pid_ == 0) {
      const int null = open("/dev/null", O_RDWR);
      dup2(null, STDOUT_FILENO);
      dup2(log, STDERR_FILENO);
      execv(raw[0], raw.data());
      _exit(126);
    }
    close(log);
  }
  ~Process() {
    if (pid_ > 0) end(SIGKILL);
    unlink(log_file_.c_str());
  }
  pid_t pid() const { return pid_; }
  // What it has written to standard error.
  std::string log() const {
    std::ifstream file(log_file_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool has_logged(const std::string& text) const { return log().find(text) != std::string::npos; }
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
  std::string log_file_;
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
  EXPECT_TRUE(worker.has_logged("started: server " + server.address() +
                                ", queues q q2, concurrency 2, id w-test\n"))
      << worker.log();
  EXPECT_FALSE(worker.has_logged("warning")) << worker.log();
}

TEST(ExecProcessTest, ACommandThatDoesNotExistIsAFailedAttemptAndNotADeadWorker) {
  FakeServer server;
  const std::string command = ::testing::TempDir() + "rota-command-" + std::to_string(getpid());
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", command});
  const std::string missed = server.give("a");
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
  EXPECT_EQ(server.finished[0].outcome().failure().failure().type(), "spawn");
  EXPECT_FALSE(server.finished[0].outcome().failure().not_retryable());
  std::ofstream(command + ".new") << "#!/bin/sh\n";
  ASSERT_EQ(chmod((command + ".new").c_str(), 0700), 0);
  ASSERT_EQ(rename((command + ".new").c_str(), command.c_str()), 0);
  server.give("b");
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 2; }));
  EXPECT_TRUE(server.finished[1].outcome().has_success());
  unlink(command.c_str());
  EXPECT_EQ(worker.end(SIGINT), 0);
  EXPECT_TRUE(worker.has_logged("warning COMMAND \"" + command + "\": No such file or directory"))
      << worker.log();
  EXPECT_TRUE(worker.has_logged("warning job " + missed)) << worker.log();
}

// Ends with 0 on TERM, as programs do that shut down in good order.
const char* const kGoesInOrder = "trap 'exit 0' TERM; echo > '%'; while :; do sleep 0.05; done";

// Starts such a command for a job, and returns when it is ready to be told.
class GoesInOrder {
 public:
  GoesInOrder(FakeServer& server, std::vector<std::string> options,
              std::chrono::milliseconds attempt_timeout = 0ms)
      : ready_(::testing::TempDir() + "rota-ready-" + std::to_string(getpid())),
        id(server.give("k", "", attempt_timeout)),
        worker(arguments(server, std::move(options))) {
    EXPECT_TRUE(server.wait_until([&] { return access(ready_.c_str(), F_OK) == 0; }));
  }
  ~GoesInOrder() { unlink(ready_.c_str()); }

 private:
  std::vector<std::string> arguments(FakeServer& server, std::vector<std::string> options) {
    unlink(ready_.c_str());
    std::string script = kGoesInOrder;
    script.replace(script.find('%'), 1, ready_);
    std::vector<std::string> all = {"exec", "--server", server.address(), "--queue", "q"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "sh", "-c", script});
    return all;
  }
  const std::string ready_;

 public:
  const std::string id;
  Process worker;
};

TEST(ExecProcessTest, ACommandThatGoesInOrderAtTheDrainIsGivenBack) {
  FakeServer server;
  GoesInOrder job(server, {"--drain", "0s"});
  EXPECT_EQ(job.worker.end(SIGTERM), 0);
  ASSERT_EQ(server.finished.size(), 1u);
  EXPECT_EQ(server.finished[0].outcome().release().reason(), v1::ReleaseOutcome::REASON_SHUTDOWN);
}

// CANCELLED would give its business key back, and its effect could be made once more.
TEST(ExecProcessTest, ACommandThatEndsWithZeroOnCancelHasSucceeded) {
  FakeServer server;
  GoesInOrder job(server, {"--concurrency", "2"});
  server.cancel_by_lease(server.token_of(job.id));
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
  EXPECT_TRUE(server.finished[0].outcome().has_success());
}

TEST(ExecProcessTest, ACommandThatGoesInOrderAtItsTimeoutHasTimedOut) {
  FakeServer server;
  GoesInOrder job(server, {}, 5s);
  EXPECT_TRUE(server.wait_until([&] {
    return job.worker.has_logged("warning job " + job.id + ", attempt ") &&
           job.worker.has_logged(" timed out: exit 0 after it was told to stop");
  })) << job.worker.log();
  EXPECT_EQ(job.worker.end(SIGTERM), 0);
  EXPECT_TRUE(server.finished.empty());  // the server ends it
}

TEST(ExecProcessTest, SaysWhichAttemptsFailAndWhy) {
  FakeServer server;
  const std::string code = server.give("k", "echo 'Error: no' >&2; exit 3"),
                    signal = server.give("k", "kill -9 $$");
  Process worker(
      {"exec", "--server", server.address(), "--queue", "q", "--", "sh", "-c", "eval \"$(cat)\""});
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 2; }));
  EXPECT_EQ(worker.end(SIGTERM), 0);
  const std::string log = worker.log();
  EXPECT_NE(log.find("warning job " + code + ", attempt "), std::string::npos) << log;
  EXPECT_NE(log.find(" failed: exit 3; stderr: \"Error: no\"\n"), std::string::npos) << log;
  EXPECT_NE(log.find("warning job " + signal + ", attempt "), std::string::npos) << log;
  EXPECT_NE(log.find(" failed: signal KILL\n"), std::string::npos) << log;
}

TEST(ExecProcessTest, ArgumentsAreCheckedBeforeTheServerIsAsked) {
  const auto said = [](std::vector<std::string> options, const std::string& begin) {
    std::vector<std::string> all = {"exec", "--server", "127.0.0.1:1"};
    all.insert(all.end(), options.begin(), options.end());
    all.insert(all.end(), {"--", "true"});
    Process worker(all);
    EXPECT_EQ(worker.wait(), 2) << begin;
    EXPECT_TRUE(worker.log().starts_with("error: INVALID_FIELD: " + begin)) << worker.log();
  };
  said({"--queue", "a b"}, "--queue: \"a b\" has a character");
  said({"--queue", "q", "--queue", "q"}, "--queue: \"q\" stands there twice");
  said({"--queue", "q", "--id", "a b"}, "--id: \"a b\" has a character");
  said({"--queue", "q", "--namespace", "a b"}, "--namespace: \"a b\" has a character");
  said({"--queue", "q", "--concurrency", "0"}, "--concurrency: 0, must be");
}

TEST(ExecProcessTest, ABadAddressIsBlamedOnWhereItCameFrom) {
  setenv("ROTA_ADDRESS", "nowhere", 1);
  Process from_environment({"exec", "--queue", "q", "--", "true"});
  Process from_option({"exec", "--queue", "q", "--server", "here", "--", "true"});
  unsetenv("ROTA_ADDRESS");
  EXPECT_EQ(from_environment.wait(), 2);
  EXPECT_TRUE(from_environment.has_logged(": ROTA_ADDRESS: 'nowhere' is not HOST:PORT"))
      << from_environment.log();
  EXPECT_EQ(from_option.wait(), 2);
  EXPECT_TRUE(from_option.has_logged(": --server: 'here' is not HOST:PORT")) << from_option.log();
}

TEST(ExecProcessTest, WhatTheServerRefusesIsSaidOnce) {
  FakeServer server;
  server.always("LeaseJobs", Trouble::kInvalid);
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", "true"});
  EXPECT_EQ(worker.wait(), 2);
  EXPECT_FALSE(worker.has_logged("stopping")) << worker.log();
}

TEST(ExecProcessTest, TheCommandKnowsTheServer) {
  FakeServer server;
  server.give("k");
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", "sh", "-c",
                  "printf %s \"$ROTA_ADDRESS\""});
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
  EXPECT_EQ(server.finished[0].outcome().success().result().data(), server.address());
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

// The children of a process, as the kernel lists them.
std::vector<pid_t> children_of(pid_t pid) {
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid);
  std::ifstream list(task + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

// The command, and what it has started: a shell that waits for its last command is the usual case.
TEST(ExecProcessTest, NothingOfAKilledWorkersCommandsIsLeftAfterASecond) {
  FakeServer server;
  server.give("k");
  const std::string file = ::testing::TempDir() + "rota-child-" + std::to_string(getpid());
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", "sh", "-c",
                  "trap '' TERM INT HUP; sleep 1000 & echo $$ $! > '" + file + ".new' && mv '" +
                      file + ".new' '" + file + "'; sleep 1000; echo done"});
  pid_t shell = 0, background = 0;
  ASSERT_TRUE(server.wait_until([&] { return server.live.size() == 1; }));
  ASSERT_TRUE(server.wait_until([&] {
    std::ifstream(file) >> shell >> background;
    return background > 0 && children_of(shell).size() == 2;
  }));
  std::vector<pid_t> all = children_of(shell);
  all.push_back(shell);
  EXPECT_EQ(std::count(all.begin(), all.end(), background), 1);
  worker.end(SIGKILL);
  const auto killed = std::chrono::steady_clock::now();
  for (const pid_t pid : all) {
    EXPECT_TRUE(server.wait_until([&] { return !is_running(pid); })) << pid << " of " << shell;
  }
  EXPECT_LT(std::chrono::steady_clock::now() - killed, 1s);
  unlink(file.c_str());
}

TEST(ExecProcessTest, AWorkerThatEndsLeavesNoProcess) {
  FakeServer server;
  server.give("k");
  Process worker({"exec", "--server", server.address(), "--queue", "q", "--", "true"});
  ASSERT_TRUE(server.wait_until([&] { return server.finished.size() == 1; }));
  const std::vector<pid_t> children = children_of(worker.pid());
  EXPECT_FALSE(children.empty()) << "the guard";
  EXPECT_EQ(worker.end(SIGTERM), 0);
  for (const pid_t pid : children) EXPECT_FALSE(is_running(pid));
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
