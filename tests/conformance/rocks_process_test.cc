// SPDX-License-Identifier: Apache-2.0
//
// Stores in processes of their own: killed in mid-commit, and two on one directory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <utility>

#include "conformance/store_box.h"
#include "conformance/store_files.h"
#include "store/open.h"

extern char** environ;

namespace rota::testing {
namespace {

using core::CommitSeq;
using core::Keyspace;
using store::FailureKind;

class Child {
 public:
  Child(const char* mode, const std::string& directory) {
    int in[2];
    int out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) ADD_FAILURE() << "pipe";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
    std::string program = STORE_CHILD;
    std::string mode_text = mode;
    std::string directory_text = directory;
    char* arguments[] = {program.data(), mode_text.data(), directory_text.data(), nullptr};
    EXPECT_EQ(::posix_spawn(&pid_, program.c_str(), &actions, nullptr, arguments, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ::close(in[0]);
    ::close(out[1]);
    input_ = in[1];
    output_ = ::fdopen(out[0], "r");
  }
  ~Child() {
    if (pid_ > 0) kill_and_wait();
    if (input_ >= 0) ::close(input_);
    std::fclose(output_);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  // Empty at the end of the output.
  std::string line() {
    char text[4096];
    if (std::fgets(text, sizeof text, output_) == nullptr) return {};
    text[std::strcspn(text, "\n")] = '\0';
    return text;
  }
  void kill_and_wait() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  void end_input() { ::close(std::exchange(input_, -1)); }

 private:
  pid_t pid_ = -1;
  int input_ = -1;
  FILE* output_ = nullptr;
};

store::OpenResult open_here(const std::string& directory, core::Executor& executor) {
  store::OpenOptions options;
  options.directory = directory;
  return store::open_store(options, executor);
}

TEST(RocksProcessTest, KilledInMidCommitKeepsEveryAcknowledgedBatchAndNoPartOfAnother) {
  const TempDirectory directory;
  core::InlineExecutor executor;
  CommitSeq acknowledged = 0;
  core::Epoch epoch = 0;
  for (const int lines : {1, 40, 300}) {
    Child child("commit", directory / "data");
    for (int i = 0; i < lines; ++i) {
      const std::string line = child.line();
      ASSERT_FALSE(line.empty());
      acknowledged = std::stoull(line);
    }
    child.kill_and_wait();
    for (std::string line = child.line(); !line.empty(); line = child.line()) {
      acknowledged = std::stoull(line);
    }

    auto result = open_here(directory / "data", executor);
    ASSERT_FALSE(result.failure) << result.failure->describe();
    const CommitSeq found = result.store->last_committed();
    EXPECT_GE(found, acknowledged);
    EXPECT_LE(found, acknowledged + 1);
    EXPECT_EQ(result.info.recovered_seq, found);
    EXPECT_GT(result.store->epoch(), epoch + 1);  // the child's own open lies between
    epoch = result.store->epoch();
    Driver driver(*result.store);
    EXPECT_EQ(driver.get(Keyspace::kMeta, "newest"), std::to_string(found));
    EXPECT_EQ(driver.load(Keyspace::kJob).size(), found * 20);
  }
}

TEST(RocksProcessTest, ASecondProcessIsRefusedWithDirectoryHolderAndCure) {
  const TempDirectory directory;
  Child child("hold", directory / "data");
  ASSERT_EQ(child.line(), "open 1");
  core::InlineExecutor executor;
  auto refused = open_here(directory / "data", executor);
  ASSERT_TRUE(refused.failure);
  EXPECT_EQ(refused.failure->kind, FailureKind::kInUse);
  EXPECT_EQ(refused.failure->exit_code(), 69);
  const std::string text = refused.failure->describe();
  EXPECT_NE(text.find(directory / "data"), std::string::npos) << text;
  EXPECT_NE(text.find("process " + std::to_string(child.pid())), std::string::npos) << text;
  EXPECT_NE(text.find("stop the other server before this one starts"), std::string::npos) << text;
  EXPECT_EQ(text.find('\n'), std::string::npos);

  child.end_input();
  EXPECT_EQ(child.wait(), 0);
  auto result = open_here(directory / "data", executor);
  ASSERT_FALSE(result.failure) << result.failure->describe();
  EXPECT_EQ(result.store->epoch(), 2U);

  // The other way round, seen from the child.
  Child second("hold", directory / "data");
  const std::string said = second.line();
  EXPECT_NE(said.find("process " + std::to_string(::getpid())), std::string::npos) << said;
  EXPECT_EQ(second.wait(), 69);
}

TEST(RocksProcessTest, AKilledHolderLeavesNoLockBehind) {
  const TempDirectory directory;
  Child child("hold", directory / "data");
  ASSERT_EQ(child.line(), "open 1");
  child.kill_and_wait();
  core::InlineExecutor executor;
  auto result = open_here(directory / "data", executor);
  ASSERT_FALSE(result.failure) << result.failure->describe();
}

}  // namespace
}  // namespace rota::testing
