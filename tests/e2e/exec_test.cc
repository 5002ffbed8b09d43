// SPDX-License-Identifier: Apache-2.0
//
// `rota-worker exec`: exit codes, signals, limits of time, and what is left when the worker dies.
#include <sys/types.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

// Still there, and not merely waiting for its parent to look.
bool alive(pid_t pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  if (!std::getline(stat, text)) return false;
  const auto end = text.rfind(')');
  return end != std::string::npos && end + 2 < text.size() && text[end + 2] != 'Z' &&
         text[end + 2] != 'X';
}

class ExecTest : public LiveServerTest {
 protected:
  driver::Process start_worker(const std::vector<std::string>& command,
                               const std::string& queue = "work",
                               const std::vector<std::string>& options = {}) {
    std::vector<std::string> line = {worker_binary(),   "exec",        "--queue", queue, "--server",
                                     server_.address(), "--lease-ttl", "5s"};
    line.insert(line.end(), options.begin(), options.end());
    line.push_back("--");
    line.insert(line.end(), command.begin(), command.end());
    auto process = driver::Process::start(line, folder_.file("worker.log"), true);
    EXPECT_TRUE(process.has_value());
    return process ? std::move(*process) : driver::Process();
  }
  // The payload of a job is the script that it runs.
  driver::Process start_shell_worker() {
    return start_worker({"sh", "-c", "eval \"$(cat)\""}, "work", {"--concurrency", "4"});
  }

  std::string enqueue_single(const std::string& script) {
    v1::JobSpec spec = job_spec(script);
    spec.mutable_retry()->set_max_attempts(1);
    return enqueue(spec);
  }

  // The number that a command wrote to a file; 0 while there is none.
  pid_t pid_in(const std::string& name) const {
    std::istringstream text(driver::read_file(folder_.file(name)));
    pid_t pid = 0;
    text >> pid;
    return text.fail() || driver::read_file(folder_.file(name)).find('\n') == std::string::npos
               ? 0
               : pid;
  }

  std::string worker_log() const { return driver::read_file(folder_.file("worker.log")); }
};

TEST_F(ExecTest, ExitCodesAndSignals) {
  start();
  make_queue("work");
  driver::Process worker = start_shell_worker();
  const std::string good = enqueue_single("printf 'hello '; printf \"$ROTA_KIND $ROTA_ATTEMPT\"");
  const std::string other = enqueue_single("echo because >&2; exit 3");
  const std::string killed = enqueue_single("kill -9 $$");
  const std::string large = enqueue_single("head -c 300000 /dev/zero | tr '\\0' x");
  v1::JobSpec later = job_spec("test \"$ROTA_ATTEMPT\" = 2 || exit 75");
  later.mutable_retry()->set_max_attempts(1);
  later.mutable_retry()->mutable_backoff()->mutable_first()->set_nanos(1'000'000);
  const std::string snoozed = enqueue(later);
  const std::string environment = enqueue_single(
      "test \"$ROTA_FENCING_TOKEN\" -gt 0 && test -n \"$ROTA_JOB_ID\" && test \"$ROTA_QUEUE\" = "
      "work");

  v1::Job job = finished(good);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.result().data(), "hello task 1");

  job = finished(other);
  EXPECT_EQ(job.state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job.final_reason(), "MAX_ATTEMPTS");
  EXPECT_EQ(job.failure().type(), "exit");
  EXPECT_EQ(job.failure().message(), "exit 3; stderr: \"because\"");
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(job.attempts(0).log_tail(), "because\n");

  job = finished(killed);
  EXPECT_EQ(job.state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job.failure().type(), "signal");
  EXPECT_EQ(job.failure().message(), "signal KILL");

  job = finished(large);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.result().data().size(), 256U * 1024U);
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_TRUE(job.attempts(0).result_truncated());

  // Snoozing uses no attempt: one is all it has.
  job = finished(snoozed);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  ASSERT_EQ(job.attempts_size(), 2);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_SNOOZED);
  EXPECT_EQ(job.attempts_used(), 0);

  EXPECT_EQ(finished(environment).state(), v1::JOB_STATE_SUCCEEDED);
  worker.signal(SIGTERM);
  const auto ended = worker.wait(kPatienceMs);
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->exit_code, 0);
}

TEST_F(ExecTest, ACommandThatDoesNotExistIsAFailedAttemptAndNotADeadWorker) {
  start();
  make_queue("work");
  const std::string command = folder_.file("command");
  driver::Process worker = start_worker({command});
  const std::string missed = enqueue_single("");
  v1::Job job = finished(missed);
  EXPECT_EQ(job.state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job.attempts_used(), 1);
  EXPECT_EQ(job.failure().type(), "spawn");
  EXPECT_NE(job.failure().message().find("No such file"), std::string::npos);
  std::filesystem::create_symlink("/bin/true", command);
  EXPECT_EQ(finished(enqueue_single("")).state(), v1::JOB_STATE_SUCCEEDED);
}

// Code 0 on TERM is a shutdown in good order, and not the work of the job; but nobody does a
// cancelled one again, so there it counts.
TEST_F(ExecTest, CodeZeroAfterTermIsASuccessOnCancelOnly) {
  start();
  make_queue("work");
  const std::vector<std::string> shell = {"sh", "-c", "eval \"$(cat)\""};
  driver::Process worker = start_worker(shell, "work", {"--concurrency", "4", "--drain", "0s"});
  const auto goes_in_order = [&](const std::string& name) {
    return "trap 'exit 0' TERM; echo $$ > '" + folder_.file(name) +
           "'; while :; do sleep 0.1; done";
  };
  v1::JobSpec short_one = job_spec(goes_in_order("short.pid"));
  short_one.mutable_retry()->set_max_attempts(1);
  short_one.mutable_attempt_timeout()->set_seconds(5);
  const std::string timed = enqueue(short_one);
  const std::string done = enqueue(job_spec(goes_in_order("done.pid")));
  const std::string undone =
      enqueue(job_spec("trap 'exit 3' TERM; echo $$ > '" + folder_.file("undone.pid") +
                       "'; while :; do sleep 0.1; done"));
  for (const char* name : {"done.pid", "undone.pid"}) {
    ASSERT_TRUE(wait_until([&] { return pid_in(name) > 0; }, kPatienceMs));
  }
  for (const std::string& id : {done, undone}) {
    v1::CancelJobRequest cancel;
    cancel.set_job_id(id);
    must(client().cancel_job(cancel, patient()));
  }
  EXPECT_EQ(finished(done).state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(finished(undone).state(), v1::JOB_STATE_CANCELLED);
  v1::Job job = finished(timed);
  EXPECT_EQ(job.state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_TIMED_OUT);

  const std::string interrupted =
      enqueue_single("test \"$ROTA_ATTEMPT\" = 1 || exit 0; " + goes_in_order("interrupted.pid"));
  ASSERT_TRUE(wait_until([&] { return pid_in("interrupted.pid") > 0; }, kPatienceMs));
  worker.signal(SIGTERM);
  EXPECT_TRUE(worker.wait(kPatienceMs).has_value());
  driver::Process next = start_shell_worker();
  job = finished(interrupted);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  // The poll that was still out may have brought it once more, for nothing.
  ASSERT_GE(job.attempts_size(), 2);
  for (int i = 0; i + 1 < job.attempts_size(); ++i) {
    EXPECT_EQ(job.attempts(i).outcome(), v1::ATTEMPT_OUTCOME_RELEASED);
    EXPECT_EQ(job.attempts(i).failure().type(), "SHUTDOWN");
  }
}

TEST_F(ExecTest, KilledWorkerTakesItsChildAlong) {
  start();
  make_queue("work");
  driver::Process worker = start_shell_worker();
  enqueue_single("echo $$ > '" + folder_.file("child.pid") + "'; exec sleep 600");
  pid_t child = 0;
  ASSERT_TRUE(wait_until([&] { return (child = pid_in("child.pid")) > 0; }, kPatienceMs))
      << worker_log();
  ASSERT_TRUE(alive(child));
  const std::int64_t killed_ms = mono_ms();
  worker.signal(SIGKILL);
  EXPECT_TRUE(wait_until([&] { return !alive(child); }, kPatienceMs));
  EXPECT_LE(mono_ms() - killed_ms, 1'000);
}

TEST_F(ExecTest, AttemptTimeoutEndsACommandThatIgnoresIt) {
  start();
  make_queue("work");
  driver::Process worker = start_shell_worker();
  v1::JobSpec spec = job_spec("trap '' TERM; echo $$ > '" + folder_.file("child.pid") +
                              "'; while :; do sleep 1; done");
  spec.mutable_retry()->set_max_attempts(1);
  spec.mutable_attempt_timeout()->set_seconds(2);
  const v1::Job job = finished(enqueue(spec));
  EXPECT_EQ(job.state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job.final_reason(), "MAX_ATTEMPTS");
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_TIMED_OUT);
  const pid_t child = pid_in("child.pid");
  ASSERT_GT(child, 0);
  EXPECT_TRUE(wait_until([&] { return !alive(child); }, kPatienceMs));
  EXPECT_FALSE(worker.poll().has_value());
}

TEST_F(ExecTest, CancelSendsTermThenKill) {
  start();
  make_queue("work");
  driver::Process worker = start_shell_worker();
  const std::string polite =
      enqueue(job_spec("trap 'echo told >&2; exit 1' TERM; echo $$ > '" +
                       folder_.file("polite.pid") + "'; while :; do sleep 0.1; done"));
  const std::string deaf =
      enqueue(job_spec("trap 'echo ignored >&2' TERM; echo $$ > '" + folder_.file("deaf.pid") +
                       "'; while :; do sleep 0.1; done"));
  pid_t deaf_pid = 0;
  ASSERT_TRUE(wait_until([&] { return pid_in("polite.pid") > 0; }, kPatienceMs));
  ASSERT_TRUE(wait_until([&] { return (deaf_pid = pid_in("deaf.pid")) > 0; }, kPatienceMs));
  for (const std::string& id : {polite, deaf}) {
    v1::CancelJobRequest cancel;
    cancel.set_job_id(id);
    cancel.set_reason("not wanted any more");
    EXPECT_EQ(must(client().cancel_job(cancel, patient())).state(), v1::JOB_STATE_RUNNING);
  }
  v1::Job job = finished(polite);
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(job.cancel_reason(), "not wanted any more");
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_CANCELLED);
  EXPECT_NE(job.attempts(0).log_tail().find("told"), std::string::npos);

  job = finished(deaf);
  EXPECT_EQ(job.state(), v1::JOB_STATE_CANCELLED);
  EXPECT_NE(job.attempts(0).log_tail().find("ignored"), std::string::npos);
  EXPECT_NE(job.attempts(0).failure().message().find("signal KILL"), std::string::npos)
      << job.attempts(0).failure().message();
  EXPECT_FALSE(alive(deaf_pid));
}

}  // namespace
}  // namespace rota::e2e
