// SPDX-License-Identifier: Apache-2.0
//
// Jobs over the wire: their life, idempotence, waiting, listing, explaining.
#include <future>
#include <set>

#include "model/bytes.h"
#include "model/keys.h"
#include "rpc/convert_time.h"
#include "rpc/page_token.h"
#include "rpc_fixture.h"

namespace rota::testing {
namespace {

class RpcJobTest : public RpcTest {};

TEST_F(RpcJobTest, LifeOfAJob) {
  make_queue("invoices");
  const auto id = enqueue("invoices", R"({"customer":42})");
  EXPECT_EQ(get(id).state(), v1::JOB_STATE_READY);
  EXPECT_FALSE(get(id).has_payload());
  EXPECT_EQ(get(id, true).payload().data(), R"({"customer":42})");

  const auto leased = lease("invoices");
  ASSERT_EQ(leased.jobs_size(), 1);
  EXPECT_EQ(leased.jobs(0).job_id(), id);
  EXPECT_EQ(leased.jobs(0).payload().data(), R"({"customer":42})");
  EXPECT_EQ(leased.jobs(0).attempt(), 1);
  EXPECT_GT(leased.jobs(0).fencing_token(), 0);
  EXPECT_EQ(leased.lease_ttl().seconds(), 30);
  EXPECT_GT(leased.server_epoch(), 0);
  EXPECT_GT(leased.commit_seq(), 0);

  auto job = get(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_RUNNING);
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).worker_id(), "w-1");
  EXPECT_EQ(job.attempts(0).granted_seq(), leased.commit_seq());

  const auto finished = succeed(leased.jobs(0), "done");
  ASSERT_TRUE(finished.results(0).has_job());
  EXPECT_EQ(finished.results(0).job().state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_FALSE(finished.results(0).job().already_ended());

  job = get(id);
  EXPECT_EQ(job.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(job.result().data(), "done");
  ASSERT_EQ(job.attempts_size(), 1);
  EXPECT_EQ(job.attempts(0).outcome(), v1::ATTEMPT_OUTCOME_SUCCEEDED);
  EXPECT_EQ(job.attempts(0).ended_seq(), finished.commit_seq());
  EXPECT_TRUE(job.has_finish_time());
}

TEST_F(RpcJobTest, LargePayloadsComeWhole) {
  make_queue("q");
  const std::string payload(200 * 1024, 'x');
  const auto id = enqueue("q", payload);
  EXPECT_EQ(get(id, true).payload().data(), payload);
  EXPECT_EQ(get(id).payload_size_bytes(), static_cast<std::int64_t>(payload.size()));
  EXPECT_EQ(lease("q").jobs(0).payload().data(), payload);
}

TEST_F(RpcJobTest, RepeatedRequestIsAnsweredWithTheFirstAnswer) {
  make_queue("q");
  v1::EnqueueJobRequest request;
  request.set_request_id("once");
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("k");
  const auto first = ok(jobs(), &Jobs::EnqueueJob, request);
  EXPECT_TRUE(first.job().created());
  request.set_namespace_("default");  // the same request, spelled out
  EXPECT_EQ(ok(jobs(), &Jobs::EnqueueJob, request).job().id(), first.job().id());
  request.mutable_job()->set_kind("other");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::EnqueueJob, request)), "REQUEST_ID_REUSED");
}

TEST_F(RpcJobTest, BusinessKeyNamesTheExistingJob) {
  make_queue("q");
  v1::EnqueueJobRequest request;
  request.mutable_job()->set_queue("q");
  request.mutable_job()->set_kind("k");
  request.mutable_job()->set_business_key("invoice/42");
  const auto first = ok(jobs(), &Jobs::EnqueueJob, request).job();
  EXPECT_TRUE(first.created());
  const auto second = ok(jobs(), &Jobs::EnqueueJob, request).job();
  EXPECT_FALSE(second.created());
  EXPECT_EQ(second.id(), first.id());
  succeed(lease("q").jobs(0), "invoice 1001");
  const auto third = ok(jobs(), &Jobs::EnqueueJob, request).job();
  EXPECT_FALSE(third.created());
  EXPECT_EQ(third.state(), v1::JOB_STATE_SUCCEEDED);
  EXPECT_EQ(third.result().data(), "invoice 1001");
  request.mutable_job()->mutable_payload()->set_data("another");
  const auto status = refused(jobs(), &Jobs::EnqueueJob, request);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ALREADY_EXISTS);
  EXPECT_EQ(reason_of(status), "BUSINESS_KEY_CONFLICT");
}

TEST_F(RpcJobTest, BulkHasAnOutcomeForEachItem) {
  make_queue("q");
  v1::BulkEnqueueJobsRequest request;
  for (int i = 0; i < 3; ++i) {
    auto* job = request.add_jobs();
    job->set_queue(i == 1 ? "nowhere" : "q");
    job->set_kind("k");
  }
  request.add_jobs()->set_queue("q");  // without a kind
  const auto response = ok(jobs(), &Jobs::BulkEnqueueJobs, request);
  ASSERT_EQ(response.results_size(), 4);
  EXPECT_TRUE(response.results(0).has_job());
  EXPECT_EQ(response.results(1).error().reason(), "QUEUE_NOT_FOUND");
  EXPECT_TRUE(response.results(2).has_job());
  EXPECT_EQ(response.results(3).error().reason(), "MISSING_FIELD");
  EXPECT_EQ(response.results(3).error().field(), "kind");
}

TEST_F(RpcJobTest, WaitIsAnsweredWhenTheJobEnds) {
  make_queue("q");
  const auto id = enqueue("q");
  v1::WaitJobRequest request;
  request.set_job_id(id);
  rpc::put_duration(20'000, request.mutable_wait_duration());
  auto waiting =
      std::async(std::launch::async, [&] { return ok(jobs(), &Jobs::WaitJob, request); });
  succeed(lease("q").jobs(0));
  const auto response = waiting.get();
  EXPECT_TRUE(response.finished());
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
  // Final already: at once.
  EXPECT_TRUE(ok(jobs(), &Jobs::WaitJob, request).finished());
}

TEST_F(RpcJobTest, WaitEndsBeforeTheCallersDeadline) {
  make_queue("q");
  v1::WaitJobRequest request;
  request.set_job_id(enqueue("q"));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(1));
  v1::WaitJobResponse response;
  const auto status = jobs().WaitJob(&context, request, &response);
  ASSERT_TRUE(status.ok()) << status.error_message();
  EXPECT_FALSE(response.finished());
  EXPECT_EQ(response.job().state(), v1::JOB_STATE_READY);
}

TEST_F(RpcJobTest, WaitOfAJobOfWhichNothingIsKept) {
  v1::SetQueueRequest queue;
  queue.set_queue("q");
  rpc::put_duration(0, queue.mutable_settings()->mutable_retention()->mutable_succeeded_age());
  ok(queues(), &Queues::SetQueue, queue);
  bool seen = false;
  for (int attempt = 0; attempt < 50 && !seen; ++attempt) {
    v1::WaitJobRequest request;
    request.set_job_id(enqueue("q"));
    rpc::put_duration(20'000, request.mutable_wait_duration());
    grpc::ClientContext context;
    v1::WaitJobResponse response;
    std::promise<grpc::Status> ended;
    jobs_stub->async()->WaitJob(&context, &request, &response,
                                [&](grpc::Status status) { ended.set_value(std::move(status)); });
    const auto finished = succeed(lease("q").jobs(0));
    // Registered before the finish it sees SUCCEEDED, after it nothing is left to be found.
    const auto status = ended.get_future().get();
    if (status.ok()) {
      seen = true;
      EXPECT_TRUE(response.finished());
      EXPECT_EQ(response.job().state(), v1::JOB_STATE_SUCCEEDED);
      EXPECT_EQ(response.commit_seq(), finished.commit_seq()) << "the commit in which it ended";
    } else {
      EXPECT_EQ(reason_of(status), "JOB_NOT_FOUND");
    }
  }
  EXPECT_TRUE(seen) << "no wait was registered before its job's end";
}

TEST_F(RpcJobTest, UpdateCancelRedriveDelete) {
  make_queue("q");
  const auto id = enqueue("q");
  v1::UpdateJobRequest update;
  update.set_job_id(id);
  update.mutable_changes()->set_priority(200);
  update.mutable_update_mask()->add_paths("priority");
  const auto updated = ok(jobs(), &Jobs::UpdateJob, update);
  EXPECT_EQ(updated.job().priority(), 200);
  EXPECT_EQ(updated.job().id(), id);

  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  cancel.set_reason("not needed");
  EXPECT_EQ(ok(jobs(), &Jobs::CancelJob, cancel).state(), v1::JOB_STATE_CANCELLED);
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::CancelJob, cancel)), "ALREADY_FINAL");

  v1::RedriveJobRequest redrive;
  redrive.set_job_id(id);
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::RedriveJob, redrive)), "NOT_DEAD");

  v1::DeleteJobRequest remove;
  remove.set_job_id(id);
  EXPECT_GT(ok(jobs(), &Jobs::DeleteJob, remove).commit_seq(), 0);
  v1::GetJobRequest gone;
  gone.set_job_id(id);
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::GetJob, gone)), "JOB_NOT_FOUND");
}

TEST_F(RpcJobTest, DeadJobIsRedrivenWithItsHistory) {
  make_queue("q");
  const auto id = enqueue("q");
  const auto leased = lease("q");
  v1::FinishJobsRequest failed;
  failed.set_session_id(session);
  auto* item = failed.add_items();
  item->mutable_lease()->set_job_id(id);
  item->mutable_lease()->set_fencing_token(leased.jobs(0).fencing_token());
  item->mutable_outcome()->mutable_failure()->mutable_failure()->set_message("exit 3");
  item->mutable_outcome()->mutable_failure()->set_not_retryable(true);
  item->set_log_tail("last words");
  EXPECT_EQ(ok(workers(), &Workers::FinishJobs, failed).results(0).job().state(),
            v1::JOB_STATE_DEAD);
  const auto dead = get(id);
  EXPECT_EQ(dead.failure().message(), "exit 3");
  EXPECT_FALSE(dead.final_reason().empty());
  EXPECT_EQ(dead.attempts(0).log_tail(), "last words");
  v1::RedriveJobRequest redrive;
  redrive.set_job_id(id);
  redrive.set_request_id("redrive-1");
  EXPECT_EQ(ok(jobs(), &Jobs::RedriveJob, redrive).state(), v1::JOB_STATE_READY);
  EXPECT_EQ(get(id).redrive_count(), 1);
  EXPECT_EQ(lease("q").jobs(0).attempt(), 2);
  // The same call again is answered alike while the job runs; another call is not.
  EXPECT_EQ(ok(jobs(), &Jobs::RedriveJob, redrive).state(), v1::JOB_STATE_READY);
  EXPECT_EQ(get(id).redrive_count(), 1);
  redrive.set_request_id("redrive-2");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::RedriveJob, redrive)), "NOT_DEAD");
  redrive.set_request_id(std::string(65, 'x'));
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::RedriveJob, redrive)), "INVALID_FIELD");
}

// Each of its deaths has a row in the index of ended jobs.
TEST_F(RpcJobTest, AJobThatDiedSeveralTimesIsListedOnce) {
  make_queue("q");
  const auto id = enqueue("q");
  for (const int deaths : {1, 2, 3}) {
    v1::FinishJobsRequest failed;
    failed.set_session_id(session);
    auto* item = failed.add_items();
    item->mutable_lease()->set_job_id(id);
    item->mutable_lease()->set_fencing_token(lease("q").jobs(0).fencing_token());
    item->mutable_outcome()->mutable_failure()->mutable_failure()->set_message("exit 3");
    item->mutable_outcome()->mutable_failure()->set_not_retryable(true);
    EXPECT_EQ(ok(workers(), &Workers::FinishJobs, failed).results(0).job().state(),
              v1::JOB_STATE_DEAD);
    v1::JobFilter filter;
    filter.set_queue("q");
    for (const int page_size : {1, 10}) {
      const auto listed = list(filter, page_size);
      ASSERT_EQ(listed.size(), 1U) << deaths;
      EXPECT_EQ(listed[0].id(), id);
    }
    v1::RedriveJobRequest redrive;
    redrive.set_job_id(id);
    EXPECT_EQ(ok(jobs(), &Jobs::RedriveJob, redrive).state(), v1::JOB_STATE_READY);
  }
}

TEST_F(RpcJobTest, ListingShowsEachJobOnceWhateverThePageSize) {
  make_queue("q");
  make_queue("other");
  enqueue("other");
  std::map<std::string, v1::JobState> expected;
  for (int i = 0; i < 6; ++i) expected[enqueue("q", "{}", 50 + i)] = v1::JOB_STATE_READY;
  v1::EnqueueJobRequest later;
  later.mutable_job()->set_queue("q");
  later.mutable_job()->set_kind("k");
  rpc::put_duration(3'600'000, later.mutable_job()->mutable_delay());
  for (int i = 0; i < 2; ++i) {
    expected[ok(jobs(), &Jobs::EnqueueJob, later).job().id()] = v1::JOB_STATE_SCHEDULED;
  }
  const auto running = lease("q", 3);
  for (const auto& job : running.jobs()) expected[job.job_id()] = v1::JOB_STATE_RUNNING;
  const auto done = lease("q", 2);
  for (const auto& job : done.jobs()) {
    succeed(job);
    expected[job.job_id()] = v1::JOB_STATE_SUCCEEDED;
  }
  const auto cancelled = enqueue("q");
  v1::CancelJobRequest cancel;
  cancel.set_job_id(cancelled);
  ok(jobs(), &Jobs::CancelJob, cancel);
  expected[cancelled] = v1::JOB_STATE_CANCELLED;
  const auto moved = enqueue("q");
  v1::UpdateJobRequest update;
  update.set_job_id(moved);
  update.mutable_changes()->set_priority(3);
  update.mutable_update_mask()->add_paths("priority");
  ok(jobs(), &Jobs::UpdateJob, update);
  expected[moved] = v1::JOB_STATE_READY;

  v1::JobFilter filter;
  filter.set_queue("q");
  for (const int size : {1, 2, 3, 100}) {
    std::map<std::string, v1::JobState> found;
    for (const auto& job : list(filter, size)) {
      EXPECT_TRUE(found.emplace(job.id(), job.state()).second) << job.id() << " twice";
    }
    EXPECT_EQ(found, expected) << "page size " << size;
  }
  for (const auto state : {v1::JOB_STATE_READY, v1::JOB_STATE_RUNNING, v1::JOB_STATE_SCHEDULED,
                           v1::JOB_STATE_SUCCEEDED, v1::JOB_STATE_CANCELLED, v1::JOB_STATE_DEAD}) {
    filter.clear_states();
    filter.add_states(state);
    std::set<std::string> wanted;
    for (const auto& [id, its] : expected) {
      if (its == state) wanted.insert(id);
    }
    std::set<std::string> found;
    for (const auto& job : list(filter, 2)) found.insert(job.id());
    EXPECT_EQ(found, wanted) << v1::JobState_Name(state);
  }
}

TEST_F(RpcJobTest, PageTokenBelongsToItsListing) {
  make_queue("q");
  make_queue("r");
  for (int i = 0; i < 3; ++i) enqueue("q");
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue("q");
  request.set_page_size(1);
  const auto token = ok(jobs(), &Jobs::ListJobs, request).next_page_token();
  ASSERT_FALSE(token.empty());
  request.set_page_token(token);
  request.mutable_filter()->set_queue("r");
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::ListJobs, request)), "INVALID_PAGE_TOKEN");
  v1::ListQueuesRequest other;
  other.set_page_token(token);
  EXPECT_EQ(reason_of(refused(queues(), &Queues::ListQueues, other)), "INVALID_PAGE_TOKEN");
}

// A token can be made by anybody. Where it would lead into rows of another kind, what stands there
// must not be taken for damage, which ends the server.
TEST_F(RpcJobTest, PageTokenOfAnotherRangeIsRefused) {
  make_queue("q");
  make_queue("r");
  const auto id = enqueue("q");
  v1::CancelJobRequest cancel;
  cancel.set_job_id(id);
  ok(jobs(), &Jobs::CancelJob, cancel);
  enqueue("q");
  const auto from = [&](int section, std::string_view key) {
    model::Writer position;
    position.u8(static_cast<std::uint8_t>(section));
    position.u8(2);  // CANCELLED, the third of the final states
    position.str(key);
    position.u32(0);
    v1::ListJobsRequest request;
    request.mutable_filter()->set_queue("q");
    const auto fingerprint = rpc::request_fingerprint("ListJobs", request);
    request.set_page_token(rpc::make_page_token(fingerprint, position.take()));
    return request;
  };
  namespace keys = model::keys;
  constexpr int kRunning = 1, kWaiting = 2, kFinal = 3;
  const auto state = model::JobState::kCancelled;
  for (const auto& request :
       {from(kFinal, "j"), from(kFinal, keys::final_index_begin(2, state, 0)),
        from(kFinal, keys::final_index_begin(1, model::JobState::kExpired, 0)),
        from(kWaiting, keys::queue_begin(2)), from(kWaiting, std::string(1, '\0')),
        from(kRunning, keys::queue_begin(2)), from(kRunning, "short")}) {
    EXPECT_EQ(reason_of(refused(jobs(), &Jobs::ListJobs, request)), "INVALID_PAGE_TOKEN");
  }
  const auto right = from(kFinal, keys::final_index_begin(1, state, 0));
  const auto page = ok(jobs(), &Jobs::ListJobs, right);
  ASSERT_EQ(page.jobs_size(), 1);
  EXPECT_EQ(page.jobs(0).id(), id);
}

TEST_F(RpcJobTest, ExplainSaysWhatHoldsIt) {
  make_queue("q", 1);
  const auto first = enqueue("q");
  const auto second = enqueue("q");
  v1::ExplainJobRequest request;
  request.set_job_id(first);
  EXPECT_EQ(ok(jobs(), &Jobs::ExplainJob, request).explanation().reason(),
            v1::Explanation::REASON_NO_WORKER_ASKS);
  lease("q");
  request.set_job_id(second);
  auto why = ok(jobs(), &Jobs::ExplainJob, request).explanation();
  EXPECT_EQ(why.reason(), v1::Explanation::REASON_CONCURRENCY_LIMIT);
  EXPECT_EQ(why.concurrency_limit(), 1);
  ASSERT_EQ(why.holders_size(), 1);
  EXPECT_EQ(why.holders(0).job_id(), first);
  EXPECT_GT(why.holders(0).lease_remaining().seconds(), 20);
  v1::PauseQueueRequest pause;
  pause.set_queue("q");
  pause.set_note("year-end");
  ok(queues(), &Queues::PauseQueue, pause);
  why = ok(jobs(), &Jobs::ExplainJob, request).explanation();
  EXPECT_EQ(why.reason(), v1::Explanation::REASON_PAUSED);
  EXPECT_EQ(why.pause().note(), "year-end");
  EXPECT_NE(why.text().find("year-end"), std::string::npos);
}

}  // namespace
}  // namespace rota::testing
