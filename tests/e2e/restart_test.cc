// SPDX-License-Identifier: Apache-2.0
//
// Ends and starts: what a restart keeps, how a server drains, and with which code it ends.
#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

namespace fs = std::filesystem;

constexpr int kExitDamage = 65, kExitConfig = 78;

class RestartTest : public LiveServerTest {
 protected:
  // Runs another server to its end and returns its exit code; -1 when it had to be killed.
  int run_server(const std::vector<std::string>& arguments) {
    std::vector<std::string> command = {server_binary()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    auto process = driver::Process::start(command, said_path(), true);
    if (!process) return -1;
    const auto change = process->wait(kPatienceMs);
    return change && change->signal == 0 ? change->exit_code : -1;
  }
  std::string said_path() const { return folder_.file("said.log"); }
  std::string said() const { return driver::read_file(said_path()); }
};

TEST_F(RestartTest, KillKeepsEveryLease) {
  start();
  make_queue("work", 2);
  for (int i = 0; i < 5; ++i) enqueue("x");
  const auto leased = lease({.max_jobs = 5});
  ASSERT_EQ(leased.jobs_size(), 2);
  const std::int64_t epoch = leased.server_epoch();
  kill_and_restart();

  EXPECT_GT(info().server_epoch(), epoch);
  EXPECT_EQ(info().lease_count(), 2);
  // They count from the first moment: the limit is reached.
  EXPECT_EQ(lease({.session = "session-2"}).jobs_size(), 0);
  for (const v1::LeasedJob& job : leased.jobs()) {
    EXPECT_EQ(beat("session-1", job).status(), v1::HeartbeatResult::STATUS_RENEWED);
    EXPECT_EQ(beat("session-2", job).status(), v1::HeartbeatResult::STATUS_LOST);
  }
  const v1::FinishResult ended = finish(success("session-1", leased.jobs(0)));
  EXPECT_EQ(ended.job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(ended.job().already_ended());
  const auto next = lease({.session = "session-2"});
  ASSERT_EQ(next.jobs_size(), 1);
  EXPECT_GT(next.jobs(0).fencing_token(), leased.jobs(1).fencing_token());
  EXPECT_EQ(counters().running(), 2);
  EXPECT_EQ(counters().ready(), 2);
  EXPECT_EQ(counters().succeeded(), 1);
}

TEST_F(RestartTest, DrainAnswersWhatWaitsAndKeepsLeases) {
  start();
  make_queue("work");
  make_queue("empty");
  enqueue("x");
  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  std::promise<Result<v1::LeaseJobsResponse>> parked;
  client().lease_jobs_async(lease_request({.queue = "empty", .wait = Millis(30'000)}), once(),
                            [&](auto answer) { parked.set_value(std::move(answer)); });
  ASSERT_TRUE(wait_until([&] { return info().parked_poll_count() == 1; }, kPatienceMs));

  EXPECT_EQ(server_.stop(kPatienceMs), 0);
  const auto answer = parked.get_future().get();
  if (answer) {
    EXPECT_EQ(answer->jobs_size(), 0);
  } else {
    EXPECT_EQ(answer.error().reason, "DRAINING") << answer.error().message;
  }
  start();
  EXPECT_EQ(beat("session-1", leased.jobs(0)).status(), v1::HeartbeatResult::STATUS_RENEWED);
  EXPECT_EQ(finish(success("session-1", leased.jobs(0))).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(server_.stop(kPatienceMs), 0);
  EXPECT_EQ(run_server({"--check", folder_.file("data")}), 0) << said();
}

TEST_F(RestartTest, AFlippedByteIsRefusedWithItsPlace) {
  start();
  make_queue("work");
  v1::BulkEnqueueJobsRequest request;
  for (int i = 0; i < 200; ++i) *request.add_jobs() = job_spec(std::string(500, 'x'));
  for (int i = 0; i < 5; ++i) must(client().bulk_enqueue_jobs(request, patient()));
  server_.kill();

  fs::path log;
  for (const auto& entry : fs::directory_iterator(folder_.file("data") + "/db")) {
    if (entry.path().extension() != ".log") continue;
    if (log.empty() || fs::file_size(entry.path()) > fs::file_size(log)) log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  const auto size = fs::file_size(log);
  ASSERT_GT(size, 100'000U);
  const auto flip = [&] {
    std::fstream file(log, std::ios::in | std::ios::out | std::ios::binary);
    file.seekg(static_cast<std::streamoff>(size / 2));
    const int byte = file.get();
    file.seekp(static_cast<std::streamoff>(size / 2));
    file.put(static_cast<char>(byte ^ 0x10));
    ASSERT_TRUE(file.good());
  };
  flip();
  const std::string data = folder_.file("data");
  EXPECT_EQ(run_server({"--data", data, "--listen", "127.0.0.1:0"}), kExitDamage) << said();
  EXPECT_NE(said().find(log.filename().string()), std::string::npos) << said();
  EXPECT_EQ(run_server({"--check", data}), kExitDamage) << said();
  // Nothing was repaired or dropped: with the byte as it was, all is there.
  flip();
  start();
  EXPECT_EQ(counters().ready(), 1'000);
}

TEST_F(RestartTest, AHangUpDrainsToo) {
  start();
  make_queue("work");
  server_.process().signal(SIGHUP);
  const auto ended = server_.process().wait(kPatienceMs);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0);
}

// A copy is looked at before it is relied on, so the check says what a start would warn of.
TEST_F(RestartTest, TheCheckTellsOfALogThatEndsWithinABatch) {
  start();
  make_queue("work");
  enqueue("x");
  server_.kill();
  const std::string data = folder_.file("data");
  EXPECT_EQ(run_server({"--check", data}), 0) << said();
  EXPECT_EQ(said().find("torn log"), std::string::npos) << said();
  fs::path log;
  for (const auto& entry : fs::directory_iterator(data + "/db")) {
    if (entry.path().extension() != ".log") continue;
    if (log.empty() || entry.path().filename() > log.filename()) log = entry.path();
  }
  ASSERT_FALSE(log.empty());
  // A header that announces 100 bytes of a batch, and 20 of them.
  std::ofstream(log, std::ios::app | std::ios::binary)
      << std::string("crc.\x64\x00\x01", 7) << std::string(20, 'b');
  EXPECT_EQ(run_server({"--check", data}), 0) << said();
  EXPECT_NE(said().find("torn log: "), std::string::npos) << said();
  EXPECT_NE(said().find(log.filename().string()), std::string::npos) << said();
}

TEST_F(RestartTest, ClosedStandardFilesAreNotGivenToTheStore) {
  const std::string data = folder_.file("data");
  auto server = driver::Process::start(
      {"/bin/sh", "-c",
       "exec '" + server_binary() + "' --data '" + data + "' --listen 127.0.0.1:0 <&- >&- 2>&-"},
      said_path(), true);
  ASSERT_TRUE(server);
  const std::string files = "/proc/" + std::to_string(server->pid()) + "/fd/";
  const auto target = [&](const std::string& fd) {
    std::error_code none;
    return fs::read_symlink(files + fd, none).string();
  };
  // Until a file of the database is open.
  const bool opened = wait_until(
      [&] {
        std::error_code none;
        for (const auto& entry : fs::directory_iterator(files, none)) {
          if (target(entry.path().filename()).starts_with(data + "/db/")) return true;
        }
        return false;
      },
      kPatienceMs);
  EXPECT_TRUE(opened);
  for (const char* fd : {"0", "1", "2"}) EXPECT_EQ(target(fd), "/dev/null") << fd;
  server->signal(SIGTERM);
  const auto ended = server->wait(kPatienceMs);
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_EQ(run_server({"--check", data}), 0) << said();
}

TEST_F(RestartTest, AConfigurationThatCannotBeServed) {
  const std::string data = folder_.file("data");
  EXPECT_EQ(run_server({"--data", data, "--listen", "nonsense"}), kExitConfig) << said();
  EXPECT_EQ(run_server({"--data", data, "--listen", "192.0.2.1:7500"}), kExitConfig) << said();
  EXPECT_EQ(run_server({"--listen", "127.0.0.1:0"}), kExitConfig) << said();
  EXPECT_FALSE(fs::exists(data));
  // A directory with other things in it is not taken over.
  fs::create_directories(data);
  std::ofstream(data + "/letter.txt") << "dear reader";
  EXPECT_EQ(run_server({"--data", data, "--listen", "127.0.0.1:0"}), kExitConfig) << said();
  EXPECT_TRUE(fs::exists(data + "/letter.txt"));
}

}  // namespace
}  // namespace rota::e2e
