// SPDX-License-Identifier: Apache-2.0
//
// A worker that is suspended for longer than its lease, and comes back.
#include <csignal>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

class SuspendedWorkerTest : public LiveServerTest {
 protected:
  driver::Process start_probe(const std::string& name) {
    auto process = driver::Process::start(
        {probe_worker_binary(), server_.address(), "work", name, "5000"}, log(name), true);
    EXPECT_TRUE(process.has_value());
    return process ? std::move(*process) : driver::Process();
  }
  std::string log(const std::string& name) const { return folder_.file(name + ".log"); }
  bool logged(const std::string& name, const std::string& text) const {
    return driver::read_file(log(name)).find(text) != std::string::npos;
  }
  bool waits_for_log(const std::string& name, const std::string& text) const {
    return wait_until([&] { return logged(name, text); }, kPatienceMs);
  }
};

TEST_F(SuspendedWorkerTest, ItsLateOutcomeChangesNothing) {
  start();
  make_queue("work", 1);
  driver::Process sleeper = start_probe("sleeper");
  const std::string id = enqueue("hold");
  ASSERT_TRUE(waits_for_log("sleeper", "started " + id + " attempt 1"));
  sleeper.signal(SIGSTOP);

  ASSERT_TRUE(wait_until([&] { return job(id).attempts(0).ended_seq() != 0; }, kPatienceMs));
  v1::Attempt lost = job(id).attempts(0);
  EXPECT_EQ(lost.outcome(), v1::ATTEMPT_OUTCOME_LOST);
  driver::Process other = start_probe("other");
  EXPECT_EQ(finished(id).state(), v1::JOB_STATE_SUCCEEDED);

  sleeper.signal(SIGCONT);
  EXPECT_TRUE(waits_for_log("sleeper", "told to stop " + id + " attempt 1"));
  EXPECT_TRUE(waits_for_log("sleeper", "returned " + id + " attempt 1"));
  // Draining waits for every report: what was not sent by the end never is.
  sleeper.signal(SIGTERM);
  const auto ended = sleeper.wait(kPatienceMs);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0);
  EXPECT_TRUE(logged("sleeper", "lost the lease of job " + id));
  EXPECT_FALSE(logged("sleeper", "refuse")) << driver::read_file(log("sleeper"));

  // The library kept silent, so the test says what the worker might have said.
  v1::LeasedJob old;
  old.set_job_id(id);
  old.set_fencing_token(lost.fencing_token());
  const v1::FinishResult late = finish(success(lost.session_id(), old, "late"));
  EXPECT_EQ(late.error().reason(), "LEASE_LOST");
  EXPECT_EQ(beat(lost.session_id(), old).status(), v1::HeartbeatResult::STATUS_LOST);

  const v1::Job stored = job(id);
  EXPECT_EQ(stored.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(stored.result().data(), "attempt 2");
  ASSERT_EQ(stored.attempts_size(), 2);
  EXPECT_EQ(stored.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_LOST);
  EXPECT_EQ(stored.attempts(1).worker_id(), "other");
  EXPECT_GT(stored.attempts(1).fencing_token(), lost.fencing_token());
  EXPECT_GE(stored.attempts(1).granted_seq(), lost.ended_seq());
}

TEST_F(SuspendedWorkerTest, AShortSuspensionIsNoLoss) {
  start();
  make_queue("work", 1);
  driver::Process probe = start_probe("probe");
  const std::string id = enqueue("hold");
  ASSERT_TRUE(waits_for_log("probe", "started " + id));
  probe.signal(SIGSTOP);
  ASSERT_TRUE(wait_until(
      [&] {
        const auto change = probe.poll();
        return change && change->stopped;
      },
      kPatienceMs));
  probe.signal(SIGCONT);
  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  must(client().cancel_job(cancel, patient()));
  // Told to stop, it succeeds all the same, and that counts: the effect exists.
  EXPECT_EQ(finished(id).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_TRUE(logged("probe", "told to stop " + id));
  EXPECT_EQ(job(id).attempts_size(), 1);
}

}  // namespace
}  // namespace rota::e2e
