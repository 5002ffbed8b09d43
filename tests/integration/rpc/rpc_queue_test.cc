// SPDX-License-Identifier: Apache-2.0
//
// Queues and operations over the wire.
#include <set>

#include "rpc/convert_time.h"
#include "rpc_fixture.h"
#include "support/eventually.h"

namespace rota::testing {
namespace {

class RpcQueueTest : public RpcTest {
 protected:
  v1::Queue get_queue(const std::string& name) {
    v1::GetQueueRequest request;
    request.set_queue(name);
    return ok(queues(), &Queues::GetQueue, request).queue();
  }
};

TEST_F(RpcQueueTest, SetIsIdempotentAndSaysWhatItChanged) {
  v1::SetQueueRequest request;
  request.set_queue("q");
  request.mutable_settings()->set_concurrency_limit(4);
  auto response = ok(queues(), &Queues::SetQueue, request);
  EXPECT_TRUE(response.created());
  response = ok(queues(), &Queues::SetQueue, request);
  EXPECT_FALSE(response.created());
  EXPECT_EQ(response.changes_size(), 0);
  request.mutable_settings()->set_concurrency_limit(1);
  response = ok(queues(), &Queues::SetQueue, request);
  ASSERT_EQ(response.changes_size(), 1);
  EXPECT_EQ(response.changes(0).field(), "concurrency_limit");
  EXPECT_EQ(response.changes(0).before(), "4");
  EXPECT_EQ(response.changes(0).after(), "1");
  request.set_etag("0");
  EXPECT_EQ(reason_of(refused(queues(), &Queues::SetQueue, request)), "ETAG_MISMATCH");
  request.set_etag(response.queue().etag());
  EXPECT_EQ(ok(queues(), &Queues::SetQueue, request).changes_size(), 0);
}

TEST_F(RpcQueueTest, CountersFollowTheJobs) {
  make_queue("q");
  for (int i = 0; i < 3; ++i) enqueue("q");
  succeed(lease("q").jobs(0));
  lease("q");
  const auto counters = get_queue("q").counters();
  EXPECT_EQ(counters.created(), 3);
  EXPECT_EQ(counters.ready(), 1);
  EXPECT_EQ(counters.running(), 1);
  EXPECT_EQ(counters.succeeded(), 1);
}

TEST_F(RpcQueueTest, ListingIsPagedAndFiltered) {
  std::set<std::string> wanted;
  for (int i = 0; i < 7; ++i) {
    wanted.insert("mail/" + std::to_string(i));
    make_queue("mail/" + std::to_string(i));
    make_queue("other/" + std::to_string(i));
  }
  v1::ListQueuesRequest request;
  request.set_name_prefix("mail/");
  request.set_page_size(3);
  std::multiset<std::string> found;
  for (;;) {
    const auto page = ok(queues(), &Queues::ListQueues, request);
    for (const auto& queue : page.queues()) found.insert(queue.name());
    if (page.next_page_token().empty()) break;
    request.set_page_token(page.next_page_token());
  }
  EXPECT_EQ(found, std::multiset<std::string>(wanted.begin(), wanted.end()));
}

TEST_F(RpcQueueTest, DeletedQueueIsGoneAndItsNameIsFree) {
  make_queue("q");
  EXPECT_EQ(get_queue("q").name(), "q");
  v1::DeleteQueueRequest request;
  request.set_queue("q");
  const auto id = enqueue("q");
  EXPECT_EQ(reason_of(refused(queues(), &Queues::DeleteQueue, request)), "QUEUE_NOT_EMPTY");
  succeed(lease("q").jobs(0));
  ok(queues(), &Queues::DeleteQueue, request);
  v1::GetQueueRequest gone;
  gone.set_queue("q");
  EXPECT_EQ(reason_of(refused(queues(), &Queues::GetQueue, gone)), "QUEUE_NOT_FOUND");
  v1::GetJobRequest job;
  job.set_job_id(id);
  EXPECT_EQ(reason_of(refused(jobs(), &Jobs::GetJob, job)), "JOB_NOT_FOUND");
  make_queue("q");
  EXPECT_EQ(get_queue("q").counters().created(), 0);
}

TEST_F(RpcQueueTest, PauseHoldsAndResumeReleases) {
  make_queue("q");
  v1::PauseQueueRequest pause;
  pause.set_queue("q");
  pause.set_note("why");
  EXPECT_EQ(ok(queues(), &Queues::PauseQueue, pause).queue().pause().note(), "why");
  enqueue("q");
  EXPECT_EQ(lease("q", 1, 0).jobs_size(), 0);
  v1::ResumeQueueRequest resume;
  resume.set_queue("q");
  EXPECT_FALSE(ok(queues(), &Queues::ResumeQueue, resume).queue().has_pause());
  EXPECT_EQ(lease("q").jobs_size(), 1);
}

TEST_F(RpcQueueTest, PurgeIsAnOperation) {
  make_queue("q");
  for (int i = 0; i < 20; ++i) enqueue("q");
  v1::PurgeQueueRequest purge;
  purge.set_queue("q");
  const auto started = ok(queues(), &Queues::PurgeQueue, purge).operation();
  EXPECT_EQ(started.type(), v1::Operation::TYPE_PURGE_QUEUE);
  v1::GetOperationRequest request;
  request.set_operation_id(started.id());
  auto operation = started;
  ASSERT_TRUE(eventually([&] {
    operation = ok(admin(), &Admin::GetOperation, request).operation();
    return operation.state() != v1::Operation::STATE_RUNNING;
  }));
  EXPECT_EQ(operation.state(), v1::Operation::STATE_SUCCEEDED);
  EXPECT_EQ(operation.removed_count(), 20);
  EXPECT_EQ(get_queue("q").counters().ready(), 0);
  EXPECT_EQ(get_queue("q").counters().removed(), 20);
  v1::CancelOperationRequest cancel;
  cancel.set_operation_id(started.id());
  EXPECT_EQ(reason_of(refused(admin(), &Admin::CancelOperation, cancel)), "OPERATION_DONE");
  request.set_operation_id("op999");
  EXPECT_EQ(reason_of(refused(admin(), &Admin::GetOperation, request)), "OPERATION_NOT_FOUND");
}

}  // namespace
}  // namespace rota::testing
