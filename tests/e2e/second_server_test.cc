// SPDX-License-Identifier: Apache-2.0
//
// A second server on the same directory or the same port goes at once and says why; the first one
// does not notice.
#include <atomic>
#include <thread>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

constexpr int kExitInUse = 69;

class SecondServerTest : public LiveServerTest {
 protected:
  void SetUp() override {
    start();
    make_queue("work");
    enqueue("x");
    const auto leased = lease();
    ASSERT_EQ(leased.jobs_size(), 1);
    job_ = leased.jobs(0);
    beating_ = std::thread([this] {
      while (!ending_.load()) beat_once();
    });
  }

  void TearDown() override {
    ending_.store(true);
    if (beating_.joinable()) beating_.join();
    EXPECT_GT(beats_.load(), 0);
    EXPECT_EQ(failed_beats_.load(), 0);
    EXPECT_FALSE(server_.process().poll().has_value());
    if (!HasFatalFailure()) {
      EXPECT_EQ(finish(success("session-1", job_)).job().state(), v1::JOB_STATE_SUCCEEDED);
    }
  }

  // Starts a second server and expects its end; returns what it said.
  std::string start_second(const std::string& data, const std::string& listen) {
    const std::string log = folder_.file("second.log");
    const std::int64_t beats_before = beats_.load();
    const std::int64_t begin_ms = mono_ms();
    auto process =
        driver::Process::start({server_binary(), "--data", data, "--listen", listen}, log, true);
    if (!process) {
      ADD_FAILURE() << "not started";
      return {};
    }
    const auto change = process->wait(kPatienceMs);
    EXPECT_LE(mono_ms() - begin_ms, 2'000);
    EXPECT_EQ(change ? change->exit_code : -1, kExitInUse);
    EXPECT_TRUE(wait_until([&] { return beats_.load() > beats_before; }, kPatienceMs));
    return driver::read_file(log);
  }

 private:
  void beat_once() {
    v1::HeartbeatRequest request;
    request.set_session_id("session-1");
    v1::LeaseRef* lease = request.add_leases();
    lease->set_job_id(job_.job_id());
    lease->set_fencing_token(job_.fencing_token());
    const auto answer = client().heartbeat(request, once());
    const bool renewed = answer && answer->results_size() == 1 &&
                         answer->results(0).status() == v1::HeartbeatResult::STATUS_RENEWED;
    ++(renewed ? beats_ : failed_beats_);
  }

  v1::LeasedJob job_;
  std::thread beating_;
  std::atomic<bool> ending_{false};
  std::atomic<std::int64_t> beats_{0}, failed_beats_{0};
};

TEST_F(SecondServerTest, OnTheSameDirectory) {
  const std::string said = start_second(folder_.file("data"), "127.0.0.1:0");
  EXPECT_NE(said.find(folder_.file("data")), std::string::npos) << said;
  EXPECT_NE(said.find(std::to_string(server_.process().pid())), std::string::npos) << said;
  EXPECT_NE(said.find("stop the other server"), std::string::npos) << said;
}

TEST_F(SecondServerTest, OnTheSamePort) {
  const std::string said = start_second(folder_.file("other-data"), server_.address());
  EXPECT_NE(said.find(server_.address()), std::string::npos) << said;
  EXPECT_NE(said.find("--listen"), std::string::npos) << said;
}

TEST_F(SecondServerTest, OnBoth) {
  EXPECT_FALSE(start_second(folder_.file("data"), server_.address()).empty());
}

}  // namespace
}  // namespace rota::e2e
