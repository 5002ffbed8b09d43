// SPDX-License-Identifier: Apache-2.0
//
// The server ends after the commit and before the answer. The caller repeats what it sent once the
// server is back, and gets the answer that was lost; nothing happens twice.
#include <future>

#include "e2e/live_server.h"

namespace rota::e2e {
namespace {

constexpr const char* kId = "request-1";

// What the caller sees when the answer is lost.
template <class T>
void expect_unknown(const Result<T>& answer) {
  const Error error = refused(answer);
  EXPECT_EQ(error.code, Code::kUnavailable) << error.message;
  EXPECT_TRUE(error.may_have_happened);
}

class LostAnswerTest : public LiveServerTest {
 protected:
  void back_after_fail_point() {
    expect_fail_point_reached();
    start();
  }

  // The whole of `call`, whose client repeats it, while the server ends after the commit of its
  // first try and comes back.
  template <class Call>
  auto over_a_lost_answer(const std::string& fail_point, Call call) {
    server_.kill();
    start(fail_point);
    auto answer = std::async(std::launch::async, std::move(call));
    back_after_fail_point();
    return answer.get();
  }

  std::string dead_job() {
    const std::string id = enqueue("one");
    const auto leased = lease();
    EXPECT_EQ(leased.jobs_size(), 1);
    finish(failure("session-1", leased.jobs(0)));
    EXPECT_EQ(job(id).state(), v1::JOB_STATE_DEAD);
    return id;
  }
};

TEST_F(LostAnswerTest, Enqueue) {
  start("before_enqueue_reply");
  make_queue("work");
  v1::EnqueueJobRequest request;
  request.set_request_id(kId);
  *request.mutable_job() = job_spec("one");
  expect_unknown(client().enqueue_job(request, once()));
  back_after_fail_point();

  const auto first = must(client().enqueue_job(request, patient()));
  const auto second = must(client().enqueue_job(request, patient()));
  EXPECT_TRUE(first.job().created());
  EXPECT_EQ(first.SerializeAsString(), second.SerializeAsString());
  const auto all = jobs();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].id(), first.job().id());
  EXPECT_EQ(counters().created(), 1);
  EXPECT_EQ(counters().ready(), 1);

  // The same id for something else is a mistake of the caller, also after the restart.
  request.mutable_job()->set_kind("other");
  EXPECT_EQ(refused(client().enqueue_job(request, patient())).reason, "REQUEST_ID_REUSED");
}

TEST_F(LostAnswerTest, BulkEnqueueWithABadItem) {
  start("before_enqueue_reply");
  make_queue("work");
  v1::BulkEnqueueJobsRequest request;
  request.set_request_id(kId);
  *request.add_jobs() = job_spec("one");
  *request.add_jobs() = job_spec("lost", "no-such-queue");
  *request.add_jobs() = job_spec("two");
  expect_unknown(client().bulk_enqueue_jobs(request, once()));
  back_after_fail_point();

  const auto first = must(client().bulk_enqueue_jobs(request, patient()));
  enqueue("another commit");
  const auto second = must(client().bulk_enqueue_jobs(request, patient()));
  ASSERT_EQ(first.results_size(), 3);
  ASSERT_EQ(second.results_size(), 3);
  for (const int good : {0, 2}) {
    EXPECT_TRUE(first.results(good).job().created());
    EXPECT_EQ(first.results(good).job().id(), second.results(good).job().id());
    EXPECT_EQ(first.results(good).job().created(), second.results(good).job().created());
  }
  EXPECT_EQ(first.results(1).error().reason(), "QUEUE_NOT_FOUND");
  EXPECT_EQ(second.results(1).error().reason(), "QUEUE_NOT_FOUND");
  EXPECT_EQ(first.commit_seq(), second.commit_seq());
  EXPECT_EQ(jobs().size(), 3U);
  EXPECT_EQ(counters().created(), 3);
}

TEST_F(LostAnswerTest, LeaseGivesTheSameTokens) {
  start("before_lease_reply");
  make_queue("work");
  for (const char* payload : {"a", "b", "c"}) enqueue(payload);
  const LeaseWish wish{.request_id = kId, .max_jobs = 2};
  expect_unknown(client().lease_jobs(lease_request(wish), once()));
  back_after_fail_point();

  const auto first = lease(wish);
  const auto second = lease(wish);
  ASSERT_EQ(first.jobs_size(), 2);
  ASSERT_EQ(second.jobs_size(), 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(first.jobs(i).job_id(), second.jobs(i).job_id());
    EXPECT_EQ(first.jobs(i).fencing_token(), second.jobs(i).fencing_token());
    EXPECT_EQ(first.jobs(i).payload().data(), i == 0 ? "a" : "b");
    const v1::Job stored = job(first.jobs(i).job_id());
    ASSERT_EQ(stored.attempts_size(), 1);
    EXPECT_EQ(stored.attempts(0).fencing_token(), first.jobs(i).fencing_token());
    EXPECT_EQ(stored.attempts(0).ended_seq(), 0);
  }
  EXPECT_EQ(counters().running(), 2);
  EXPECT_EQ(counters().ready(), 1);

  // Both are alive; when both are over, the id is spent and gives nothing new.
  for (const v1::LeasedJob& leased : first.jobs()) {
    EXPECT_EQ(beat(wish.session, leased).status(), v1::HeartbeatResult::STATUS_RENEWED);
    EXPECT_EQ(finish(success(wish.session, leased)).job().state(), v1::JOB_STATE_SUCCEEDED);
  }
  const auto third = lease(wish);
  EXPECT_EQ(third.jobs_size(), 0);
  EXPECT_TRUE(third.request_spent());
  EXPECT_EQ(counters().ready(), 1);
}

TEST_F(LostAnswerTest, Declare) {
  start("before_scheduler_reply");
  make_queue("work");
  v1::UpsertSchedulerRequest request;
  request.set_request_id(kId);
  v1::SchedulerDeclaration* declaration = request.mutable_scheduler();
  declaration->set_id("yearly");
  declaration->mutable_spec()->add_parts()->set_cron("0 0 1 1 *");
  declaration->mutable_job()->set_queue("work");
  declaration->mutable_job()->set_kind("task");
  declaration->set_revision(1);
  expect_unknown(client().upsert_scheduler(request, once()));
  back_after_fail_point();

  const auto first = must(client().upsert_scheduler(request, patient()));
  const auto second = must(client().upsert_scheduler(request, patient()));
  EXPECT_EQ(first.result(), v1::UpsertSchedulerResponse::RESULT_CREATED);
  EXPECT_EQ(second.result(), v1::UpsertSchedulerResponse::RESULT_CREATED);
  EXPECT_EQ(first.scheduler().generation(), second.scheduler().generation());
  EXPECT_EQ(must(client().list_schedulers({}, patient())).schedulers_size(), 1);

  // Without the id it is a new call, and finds what is there.
  request.clear_request_id();
  EXPECT_EQ(must(client().upsert_scheduler(request, patient())).result(),
            v1::UpsertSchedulerResponse::RESULT_UNCHANGED);
}

TEST_F(LostAnswerTest, SetQueue) {
  start("before_queue_reply");
  v1::SetQueueRequest request;
  request.set_request_id(kId);
  request.set_queue("work");
  request.mutable_settings()->set_concurrency_limit(3);
  expect_unknown(client().set_queue(request, once()));
  back_after_fail_point();
  const auto first = must(client().set_queue(request, patient()));
  EXPECT_EQ(first.queue().settings().concurrency_limit(), 3);
  EXPECT_EQ(must(client().list_queues({}, patient())).queues_size(), 1);
}

TEST_F(LostAnswerTest, RedriveHappensOnceAlsoWhenTheJobDiedAgain) {
  start();
  v1::SetQueueRequest queue;
  queue.set_queue("work");
  queue.mutable_settings()->mutable_retry()->set_max_attempts(1);
  must(client().set_queue(queue, patient()));
  const std::string id = dead_job();
  server_.kill();
  start("before_job_reply");
  info();  // on the new connection
  v1::RedriveJobRequest request;
  request.set_request_id(kId);
  request.set_job_id(id);
  expect_unknown(client().redrive_job(request, once()));
  back_after_fail_point();

  EXPECT_EQ(job(id).redrive_count(), 1);
  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  finish(failure("session-1", leased.jobs(0)));
  ASSERT_EQ(job(id).state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(must(client().redrive_job(request, patient())).state(), v1::JOB_STATE_READY);
  EXPECT_EQ(job(id).state(), v1::JOB_STATE_DEAD);
  EXPECT_EQ(job(id).redrive_count(), 1);
  request.set_job_id(enqueue("two"));
  EXPECT_EQ(refused(client().redrive_job(request, patient())).reason, "REQUEST_ID_REUSED");

  // The client makes an id by itself: its own repeat is answered as a success.
  request = {};
  request.set_job_id(id);
  const auto redriven = over_a_lost_answer(
      "before_job_reply", [&] { return must(client().redrive_job(request, patient())); });
  EXPECT_EQ(redriven.state(), v1::JOB_STATE_READY);
  EXPECT_EQ(job(id).redrive_count(), 2);
}

// One call after the other loses its answer and is repeated by the client, as the table in
// client/src/repeat.h says.
TEST_F(LostAnswerTest, RepeatsOfJobCallsFindThemDone) {
  start();
  make_queue("work");
  const std::string waiting = enqueue("waiting"), running = enqueue("running");

  v1::UpdateJobRequest update;
  update.set_job_id(waiting);
  update.mutable_changes()->set_priority(7);
  update.mutable_update_mask()->add_paths("priority");
  const auto updated = over_a_lost_answer(
      "before_job_reply", [&] { return must(client().update_job(update, patient())); });
  EXPECT_EQ(updated.job().priority(), 7);

  v1::CancelJobRequest cancel;
  cancel.set_job_id(waiting);
  const auto cancelled = over_a_lost_answer(
      "before_job_reply", [&] { return must(client().cancel_job(cancel, patient())); });
  EXPECT_EQ(cancelled.state(), v1::JOB_STATE_CANCELLED);
  // A call of its own hears how things are.
  EXPECT_EQ(refused(client().cancel_job(cancel, patient())).reason, "ALREADY_FINAL");

  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  cancel.set_job_id(running);
  const auto asked = over_a_lost_answer(
      "before_job_reply", [&] { return must(client().cancel_job(cancel, patient())); });
  EXPECT_EQ(asked.state(), v1::JOB_STATE_RUNNING);

  v1::DeleteJobRequest remove;
  remove.set_job_id(waiting);
  over_a_lost_answer("before_job_reply",
                     [&] { return must(client().delete_job(remove, patient())); });
  EXPECT_EQ(refused(client().delete_job(remove, patient())).reason, "JOB_NOT_FOUND");
  EXPECT_EQ(counters().running(), 1);
}

TEST_F(LostAnswerTest, RepeatsOfQueueAndSchedulerCallsFindThemDone) {
  start();
  make_queue("work");
  enqueue("one");
  v1::PauseQueueRequest pause;
  pause.set_queue("work");
  pause.set_note("why");
  EXPECT_EQ(over_a_lost_answer("before_queue_reply",
                               [&] { return must(client().pause_queue(pause, patient())); })
                .queue()
                .pause()
                .note(),
            "why");
  v1::ResumeQueueRequest resume;
  resume.set_queue("work");
  EXPECT_FALSE(over_a_lost_answer("before_queue_reply",
                                  [&] { return must(client().resume_queue(resume, patient())); })
                   .queue()
                   .has_pause());

  v1::UpsertSchedulerRequest declare;
  declare.mutable_scheduler()->set_id("yearly");
  declare.mutable_scheduler()->mutable_spec()->add_parts()->set_cron("0 0 1 1 *");
  declare.mutable_scheduler()->mutable_job()->set_queue("work");
  declare.mutable_scheduler()->mutable_job()->set_kind("task");
  must(client().upsert_scheduler(declare, patient()));
  v1::PauseSchedulerRequest hold;
  hold.set_scheduler_id("yearly");
  EXPECT_TRUE(over_a_lost_answer("before_scheduler_reply",
                                 [&] { return must(client().pause_scheduler(hold, patient())); })
                  .scheduler()
                  .has_pause());
  v1::ResumeSchedulerRequest go_on;
  go_on.set_scheduler_id("yearly");
  EXPECT_FALSE(over_a_lost_answer("before_scheduler_reply",
                                  [&] { return must(client().resume_scheduler(go_on, patient())); })
                   .scheduler()
                   .has_pause());
  v1::DeleteSchedulerRequest remove;
  remove.set_scheduler_id("yearly");
  over_a_lost_answer("before_scheduler_reply",
                     [&] { return must(client().delete_scheduler(remove, patient())); });
  EXPECT_EQ(refused(client().delete_scheduler(remove, patient())).reason, "SCHEDULER_NOT_FOUND");

  v1::PurgeQueueRequest purge;
  purge.set_queue("work");
  const auto operation = over_a_lost_answer("before_operation_reply", [&] {
                           return must(client().purge_queue(purge, patient()));
                         }).operation();
  v1::GetOperationRequest question;
  question.set_operation_id(operation.id());
  ASSERT_TRUE(wait_until(
      [&] {
        return must(client().get_operation(question, patient())).operation().state() ==
               v1::Operation::STATE_SUCCEEDED;
      },
      kPatienceMs));
  EXPECT_EQ(must(client().get_operation(question, patient())).operation().removed_count(), 1);
  v1::DeleteQueueRequest drop;
  drop.set_queue("work");
  over_a_lost_answer("before_queue_reply",
                     [&] { return must(client().delete_queue(drop, patient())); });
  EXPECT_EQ(refused(client().delete_queue(drop, patient())).reason, "QUEUE_NOT_FOUND");
  EXPECT_EQ(must(client().list_queues({}, patient())).queues_size(), 0);
}

TEST_F(LostAnswerTest, FinishIsAnsweredAsAlreadyEnded) {
  start("before_finish_reply");
  make_queue("work");
  const std::string id = enqueue("one");
  const auto leased = lease();
  ASSERT_EQ(leased.jobs_size(), 1);
  const auto request = success("session-1", leased.jobs(0), "the result");
  expect_unknown(client().finish_jobs(request, once()));
  back_after_fail_point();

  const v1::FinishResult again = finish(request);
  EXPECT_TRUE(again.job().already_ended());
  EXPECT_EQ(again.job().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(again.job().state(), v1::JOB_STATE_SUCCEEDED);
  const v1::Job stored = job(id);
  EXPECT_EQ(stored.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(stored.result().data(), "the result");
  EXPECT_EQ(stored.attempts_size(), 1);
  EXPECT_EQ(counters().succeeded(), 1);
  EXPECT_EQ(counters().running(), 0);
}

TEST_F(LostAnswerTest, FinishedFailureStaysWhileTheNextAttemptRuns) {
  start("before_finish_reply");
  make_queue("work");
  const std::string id = enqueue("one");
  const auto first = lease();
  ASSERT_EQ(first.jobs_size(), 1);
  const auto request = failure("session-1", first.jobs(0));
  expect_unknown(client().finish_jobs(request, once()));
  back_after_fail_point();

  const auto second = lease({.session = "session-2", .wait = Millis(20'000)});
  ASSERT_EQ(second.jobs_size(), 1);
  EXPECT_EQ(second.jobs(0).job_id(), id);
  EXPECT_GT(second.jobs(0).fencing_token(), first.jobs(0).fencing_token());
  // The repeat claims another outcome: the recorded one is what counts.
  const v1::FinishResult again = finish(success("session-1", first.jobs(0)));
  EXPECT_TRUE(again.job().already_ended());
  EXPECT_EQ(again.job().outcome(), v1::ATTEMPT_OUTCOME_FAILED);
  EXPECT_EQ(again.job().state(), v1::JOB_STATE_RUNNING);
  EXPECT_EQ(finish(success("session-2", second.jobs(0))).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job(id).attempts_size(), 2);
}

// One commit holds both: after the restart the outcome is recorded and the grants are live.
TEST_F(LostAnswerTest, LeaseWithOutcomesGivesTheSameTokensAndFindsThemEnded) {
  start();
  make_queue("work");
  const std::string done = enqueue("one");
  const std::string next = enqueue("two");
  const auto held = lease();
  ASSERT_EQ(held.jobs_size(), 1);
  server_.kill();
  start("before_lease_reply");
  info();  // on the new connection
  auto request = lease_request({.request_id = kId});
  *request.mutable_outcomes() = success("session-1", held.jobs(0), "the result").items();
  expect_unknown(client().lease_jobs(request, once()));
  back_after_fail_point();

  const auto first = must(client().lease_jobs(request, patient()));
  const auto second = must(client().lease_jobs(request, patient()));
  for (const auto& answer : {first, second}) {
    ASSERT_EQ(answer.finished_size(), 1);
    EXPECT_TRUE(answer.finished(0).job().already_ended());
    EXPECT_EQ(answer.finished(0).job().outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
    ASSERT_EQ(answer.jobs_size(), 1);
    EXPECT_EQ(answer.jobs(0).job_id(), next);
    EXPECT_EQ(answer.jobs(0).fencing_token(), first.jobs(0).fencing_token());
  }
  EXPECT_EQ(job(done).result().data(), "the result");
  // Not with the same commit: the first window of the queue had to be read in between.
  EXPECT_LE(job(done).attempts(0).ended_seq(), job(next).attempts(0).granted_seq());
  EXPECT_EQ(counters().succeeded(), 1);
  EXPECT_EQ(counters().running(), 1);
}

}  // namespace
}  // namespace rota::e2e
