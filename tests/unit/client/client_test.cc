// SPDX-License-Identifier: Apache-2.0
#include "rota/client.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <set>
#include <thread>

#include "support/fake_server/fake_server.h"

namespace rota {
namespace {

using namespace std::chrono_literals;
using test::FakeServer;
using test::Trouble;

Client make_client(const std::string& address, Millis timeout = 10s, bool coalesce = false) {
  auto client = Client::create({.address = address, .timeout = timeout, .coalesce = coalesce});
  EXPECT_TRUE(client);
  return *std::move(client);
}

JobSpec job(std::string kind = "k") {
  return {.queue = "q", .kind = std::move(kind), .payload = "{}"};
}

TEST(ClientTest, EnqueueSendsTheWholeSpec) {
  FakeServer server;
  Client client = make_client(server.address());
  const Time run_at{Millis(1'900'000'000'123)};
  auto ref = client.enqueue({.queue = "invoices",
                             .kind = "make-invoice",
                             .payload = std::string("\0\xff", 2),
                             .content_type = "application/octet-stream",
                             .priority = 0,
                             .run_at = run_at,
                             .attempt_timeout = 90s,
                             .retry = Retry{.max_attempts = 8, .give_up_after = 20h},
                             .business_key = "invoice/42",
                             .labels = {{"a", "b"}}});
  ASSERT_TRUE(ref) << ref.error().message;
  EXPECT_EQ(ref->id, "j1");
  EXPECT_FALSE(ref->existed);
  EXPECT_EQ(ref->state, JobState::kReady);
  ASSERT_EQ(server.enqueues.size(), 1u);
  EXPECT_FALSE(server.enqueues[0].request_id().empty());
  const auto& sent = server.enqueues[0].job();
  EXPECT_EQ(sent.queue(), "invoices");
  EXPECT_EQ(sent.payload().data(), std::string("\0\xff", 2));
  EXPECT_TRUE(sent.has_priority());
  EXPECT_EQ(sent.priority(), 0);
  EXPECT_EQ(sent.run_at().seconds(), 1'900'000'000);
  EXPECT_EQ(sent.run_at().nanos(), 123'000'000);
  EXPECT_EQ(sent.attempt_timeout().seconds(), 90);
  EXPECT_EQ(sent.retry().max_attempts(), 8);
  EXPECT_EQ(sent.retry().give_up_after().seconds(), 72'000);
  EXPECT_EQ(sent.business_key(), "invoice/42");
  EXPECT_EQ(sent.labels().at("a"), "b");
}

TEST(ClientTest, LostAnswerIsRepeatedWithTheSameRequestId) {
  FakeServer server;
  Client client = make_client(server.address());
  server.next("EnqueueJob", Trouble::kLoseAnswer);
  server.next("EnqueueJob", Trouble::kLoseAnswer);
  auto ref = client.enqueue(job());
  ASSERT_TRUE(ref) << ref.error().message;
  EXPECT_EQ(server.enqueues.size(), 3u);
  EXPECT_EQ(server.enqueues[0].request_id(), server.enqueues[2].request_id());
  EXPECT_EQ(server.accepted.size(), 1u);
}

TEST(ClientTest, DrainingServerIsAskedAgain) {
  FakeServer server;
  Client client = make_client(server.address());
  server.next("EnqueueJob", Trouble::kRefuse);
  EXPECT_TRUE(client.enqueue(job()));
  EXPECT_EQ(server.enqueues.size(), 2u);
}

TEST(ClientTest, ABusyServerIsAskedAgainWhenItSaid) {
  FakeServer server;
  Client client = make_client(server.address());
  server.next("EnqueueJob", Trouble::kBusy);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(client.enqueue(job()));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, 1'500ms);
  EXPECT_EQ(server.enqueues.size(), 2u);
}

TEST(ClientTest, WhatTheServerRefusesIsNotRepeated) {
  FakeServer server;
  Client client = make_client(server.address(), 1'000ms);
  server.next("EnqueueJob", Trouble::kBusy);
  auto busy = client.enqueue(job());
  ASSERT_FALSE(busy) << "the time that the server asks for is more than there is";
  EXPECT_EQ(busy.error().code, Code::kExhausted);
  EXPECT_EQ(busy.error().reason, "OVERLOADED");
  EXPECT_EQ(busy.error().retry_after, 1'500ms);
  EXPECT_FALSE(busy.error().may_have_happened);

  // Enough for the pause, but hardly for an answer: what the server said stays what is known.
  server.next("EnqueueJob", Trouble::kBusy);
  auto late = make_client(server.address(), 1'650ms).enqueue(job());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "OVERLOADED");
  EXPECT_FALSE(late.error().may_have_happened);

  server.next("EnqueueJob", Trouble::kInvalid);
  auto bad = client.enqueue(job());
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::kInvalid);
  EXPECT_EQ(bad.error().reason, "INVALID_FIELD");
  EXPECT_EQ(bad.error().field, "job.kind");
  EXPECT_EQ(server.enqueues.size(), 3u);
}

TEST(ClientTest, UnknownAnswerCanBeSettledWithTheRequestId) {
  FakeServer server;
  Client client = make_client(server.address(), 300ms);
  server.always("EnqueueJob", Trouble::kLoseAnswer);
  auto lost = client.enqueue(job());
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, Code::kUnavailable);
  EXPECT_TRUE(lost.error().may_have_happened);
  ASSERT_FALSE(lost.error().request_id.empty());

  server.always("EnqueueJob", Trouble::kNone);
  JobSpec again = job();
  again.request_id = lost.error().request_id;
  ASSERT_TRUE(client.enqueue(again));
  EXPECT_EQ(server.accepted.size(), 1u);
}

TEST(ClientTest, RefusedConnectionDidNotHappen) {
  std::string address;
  {
    FakeServer server;
    address = server.address();
  }
  Client client = make_client(address, 300ms);
  auto result = client.enqueue(job());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_FALSE(result.error().may_have_happened) << result.error().message;
}

TEST(ClientTest, SilentServerIsATimeout) {
  FakeServer server;
  Client client = make_client(server.address(), 200ms);
  server.next("EnqueueJob", Trouble::kHang);
  auto result = client.enqueue(job());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kTimeout);
  EXPECT_TRUE(result.error().may_have_happened);
}

TEST(ClientTest, RestartOfTheServerIsWaitedFor) {
  FakeServer server;
  Client client = make_client(server.address());
  ASSERT_TRUE(client.enqueue(job()));
  server.stop();
  auto later = std::async(std::launch::async, [&] { return client.enqueue(job()); });
  server.start();
  auto ref = later.get();
  ASSERT_TRUE(ref) << ref.error().message;
  EXPECT_EQ(server.accepted.size(), 2u);
}

TEST(ClientTest, WhatCannotBeSentIsRefusedWithItsField) {
  FakeServer server;
  Client client = make_client(server.address());
  JobSpec bad_key = job();
  bad_key.business_key = "\xc3(";
  auto result = client.enqueue(bad_key);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kInvalid);
  EXPECT_EQ(result.error().field, "business_key");
  JobSpec no_attempts = job();
  no_attempts.retry = Retry{.max_attempts = 0};
  EXPECT_EQ(client.enqueue(no_attempts).error().field, "retry.max_attempts");
  EXPECT_TRUE(server.enqueues.empty());
  EXPECT_EQ(Client::create({.address = "nowhere"}).error().field, "address");
  EXPECT_EQ(Client::create({.address = "host:99999"}).error().field, "address");
  EXPECT_EQ(Client::create({.timeout = 0ms}).error().field, "timeout");
}

TEST(ClientTest, AsyncIsAnsweredOnceAndRepeats) {
  FakeServer server;
  Client client = make_client(server.address());
  server.next("EnqueueJob", Trouble::kLoseAnswer);
  server.next("EnqueueJob", Trouble::kRefuse);
  std::promise<Result<JobRef>> answer;
  client.enqueue_async(job(), [&](Result<JobRef> ref) { answer.set_value(std::move(ref)); });
  auto ref = answer.get_future().get();
  ASSERT_TRUE(ref) << ref.error().message;
  EXPECT_EQ(server.accepted.size(), 1u);
}

TEST(ClientTest, BulkIsCutIntoCallsAndKeepsTheOrder) {
  FakeServer server;
  Client client = make_client(server.address());
  server.next("BulkEnqueueJobs", Trouble::kLoseAnswer);
  server.bad_kinds = {"k1500"};
  std::vector<JobSpec> specs;
  for (int i = 0; i < 2'500; ++i) specs.push_back(job("k" + std::to_string(i)));
  specs[7].request_id = "mine";
  specs[8].business_key = "\xff";
  auto results = client.enqueue_bulk(specs, "bulk-1");
  ASSERT_EQ(results.size(), specs.size());
  for (std::size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(results[i].has_value(), i != 7 && i != 8 && i != 1500) << i;
  }
  EXPECT_EQ(results[7].error().field, "request_id");
  EXPECT_EQ(results[8].error().field, "business_key");
  EXPECT_EQ(results[1500].error().field, "kind");
  ASSERT_EQ(server.bulks.size(), 4u);  // three calls, the first twice
  EXPECT_EQ(server.bulks[0].request_id(), "bulk-1:0");
  EXPECT_EQ(server.bulks[1].request_id(), "bulk-1:0");
  EXPECT_EQ(server.bulks[2].request_id(), "bulk-1:1");
  EXPECT_EQ(server.bulks[3].request_id(), "bulk-1:2");
  EXPECT_EQ(server.bulks[3].jobs_size(), 498);
  EXPECT_EQ(server.accepted.size(), 2'497u);
  EXPECT_EQ(server.accepted[0].kind(), "k0");
  EXPECT_EQ(server.accepted.back().kind(), "k2499");

  // The whole list again with its request id: the same calls, and nothing new.
  auto again = client.enqueue_bulk(specs, "bulk-1");
  EXPECT_EQ(server.accepted.size(), 2'497u);
  EXPECT_EQ(again[2'499]->id, results[2'499]->id);
}

TEST(ClientTest, BulkIsCutBySize) {
  FakeServer server;
  Client client = make_client(server.address());
  std::vector<JobSpec> specs(10, job());
  for (auto& spec : specs) spec.payload.assign(1 << 20, 'x');
  for (const auto& result : client.enqueue_bulk(std::move(specs))) EXPECT_TRUE(result);
  ASSERT_EQ(server.bulks.size(), 2u);
  EXPECT_LE(server.bulks[0].ByteSizeLong(), 8u << 20);
}

TEST(ClientTest, BulkStopsAtAServerThatIsAway) {
  FakeServer server;
  Client client = make_client(server.address(), 200ms);
  server.always("BulkEnqueueJobs", Trouble::kHang);
  auto results = client.enqueue_bulk(std::vector<JobSpec>(2'001, job()), "b");
  EXPECT_TRUE(results[0].error().may_have_happened);
  EXPECT_FALSE(results[2'000].error().may_have_happened);
  EXPECT_EQ(results[2'000].error().request_id, "b");
  EXPECT_EQ(server.bulks.size(), 1u);
}

TEST(ClientTest, CoalescedCallersShareCallsOneAtATime) {
  FakeServer server;
  Client client = make_client(server.address(), 10s, true);
  constexpr int kThreads = 16, kEach = 100;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::set<std::string> ids;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        auto ref = client.enqueue(job("t" + std::to_string(t) + "." + std::to_string(i)));
        ASSERT_TRUE(ref) << ref.error().message;
        std::lock_guard lock(mutex);
        ids.insert(ref->id);
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(ids.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(server.accepted.size(), std::size_t{kThreads * kEach});
  EXPECT_EQ(server.most_bulks_at_once, 1);
  EXPECT_LT(server.bulks.size(), std::size_t{kThreads * kEach});
  EXPECT_TRUE(server.enqueues.empty());
  std::map<std::string, int> next;  // each caller's jobs are in its order
  for (const auto& spec : server.accepted) {
    const auto dot = spec.kind().find('.');
    EXPECT_EQ(std::stoi(spec.kind().substr(dot + 1)), next[spec.kind().substr(0, dot)]++);
  }
}

TEST(ClientTest, CoalescedAsyncKeepsTheOrderOverLostAnswers) {
  FakeServer server;
  Client client = make_client(server.address(), 10s, true);
  server.bad_kinds = {"77"};
  for (int i = 0; i < 3; ++i) server.next("BulkEnqueueJobs", Trouble::kLoseAnswer);
  constexpr int kJobs = 3'000;
  std::atomic<int> good{0}, bad{0};
  std::promise<void> all;
  for (int i = 0; i < kJobs; ++i) {
    client.enqueue_async(job(std::to_string(i)), [&](Result<JobRef> ref) {
      (ref ? good : bad)++;
      if (good + bad == kJobs) all.set_value();
    });
  }
  all.get_future().wait();
  EXPECT_EQ(bad, 1);
  ASSERT_EQ(server.accepted.size(), std::size_t{kJobs - 1});
  for (std::size_t i = 1; i < server.accepted.size(); ++i) {
    EXPECT_LT(std::stoi(server.accepted[i - 1].kind()), std::stoi(server.accepted[i].kind()));
  }
  for (const auto& call : server.bulks) EXPECT_LE(call.jobs_size(), 1'000);
}

TEST(ClientTest, EachCoalescedCallerHasItsOwnDeadline) {
  // The first call hangs for its whole timeout. What comes at its begin and at its end goes
  // together in the next, which hangs too: each caller is answered after its own timeout, and none
  // has to wait for the time of those who came later.
  FakeServer server;
  constexpr Millis kTimeout{1'500};
  Client client = make_client(server.address(), kTimeout, true);
  server.always("BulkEnqueueJobs", Trouble::kHang);
  struct Waiter {
    std::chrono::steady_clock::time_point begin, end;
    std::promise<Result<JobRef>> answer;
  };
  Waiter first, early, late;
  const auto send = [&](Waiter& waiter) {
    waiter.begin = std::chrono::steady_clock::now();
    client.enqueue_async(job(), [&waiter](Result<JobRef> ref) {
      waiter.end = std::chrono::steady_clock::now();
      waiter.answer.set_value(std::move(ref));
    });
  };
  send(first);
  ASSERT_TRUE(server.wait_until([&] { return server.bulks.size() == 1; }));
  send(early);
  auto first_answer = first.answer.get_future();
  EXPECT_EQ(first_answer.wait_for(kTimeout - 200ms), std::future_status::timeout);
  send(late);
  for (Waiter* waiter : {&first, &early, &late}) {
    auto future = waiter == &first ? std::move(first_answer) : waiter->answer.get_future();
    const auto result = future.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Code::kTimeout);
    EXPECT_EQ(result.error().reason, "DEADLINE_EXCEEDED");
    EXPECT_GE(waiter->end - waiter->begin, kTimeout - 1ms);
    EXPECT_LT(waiter->end - waiter->begin, kTimeout + 1s);
  }
  // The one whose time ended on the way to the second call was not sent; the last one was.
  EXPECT_TRUE(server.wait_until([&] { return server.bulks.size() == 2; }));
}

TEST(ClientTest, BulkRefusesARequestIdThatLeavesNoRoomForItsCalls) {
  FakeServer server;
  Client client = make_client(server.address());
  for (const std::string& id : {std::string(57, 'x'), std::string(64, 'x'), std::string(65, 'x'),
                                std::string("a\nb"), std::string(" a")}) {
    const auto results = client.enqueue_bulk(std::vector<JobSpec>(3, job()), id);
    ASSERT_EQ(results.size(), 3u);
    for (const auto& result : results) {
      ASSERT_FALSE(result);
      EXPECT_EQ(result.error().code, Code::kInvalid);
      EXPECT_EQ(result.error().field, "request_id");
      EXPECT_FALSE(result.error().may_have_happened);
    }
  }
  EXPECT_NE(client.enqueue_bulk({job()}, std::string(57, 'x'))[0].error().message.find(
                "57 bytes, limit 56"),
            std::string::npos);
  JobSpec one = job();
  one.request_id = std::string(65, 'x');
  EXPECT_EQ(client.enqueue(one).error().field, "request_id");
  EXPECT_TRUE(server.bulks.empty());
  EXPECT_TRUE(server.enqueues.empty());
  // The longest ones are carried.
  EXPECT_TRUE(client.enqueue_bulk({job()}, std::string(56, 'x'))[0]);
  EXPECT_EQ(server.bulks.at(0).request_id(), std::string(56, 'x') + ":0");
  one.request_id = std::string(64, 'x');
  EXPECT_TRUE(client.enqueue(one));
}

TEST(ClientTest, OwnRequestIdIsNeverCoalesced) {
  FakeServer server;
  Client client = make_client(server.address(), 10s, true);
  JobSpec spec = job();
  spec.request_id = "mine";
  ASSERT_TRUE(client.enqueue(spec));
  ASSERT_EQ(server.enqueues.size(), 1u);
  EXPECT_EQ(server.enqueues[0].request_id(), "mine");
  EXPECT_TRUE(server.bulks.empty());
}

TEST(ClientTest, CloseFlushesWhatWasCoalesced) {
  FakeServer server;
  Client client = make_client(server.address(), 10s, true);
  std::atomic<int> good{0};
  for (int i = 0; i < 1'500; ++i) {
    client.enqueue_async(job(), [&](const Result<JobRef>& ref) { good += ref ? 1 : 0; });
  }
  EXPECT_TRUE(client.close(10s));
  EXPECT_EQ(good, 1'500);
  auto late = client.enqueue(job());
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().reason, "CLIENT_CLOSED");
}

TEST(ClientTest, CloseAnswersWhatItCannotFlush) {
  FakeServer server;
  Client client = make_client(server.address(), 30s, true);
  server.always("BulkEnqueueJobs", Trouble::kHang);
  std::atomic<int> unavailable{0};
  const auto count = [&](const Result<JobRef>& ref) {
    unavailable += !ref && ref.error().code == Code::kUnavailable ? 1 : 0;
  };
  client.enqueue_async(job(), count);
  ASSERT_TRUE(server.wait_until([&] { return server.bulks.size() == 1; }));
  client.enqueue_async(job(), count);
  EXPECT_FALSE(client.close(50ms));
  EXPECT_EQ(unavailable, 2);
}

TEST(ClientTest, CloseEndsACallInFlight) {
  FakeServer server;
  Client client = make_client(server.address(), 30s);
  server.always("EnqueueJob", Trouble::kHang);
  auto blocked = std::async(std::launch::async, [&] { return client.enqueue(job()); });
  ASSERT_TRUE(server.wait_until([&] { return server.enqueues.size() == 1; }));
  client.close(0ms);
  auto result = blocked.get();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, Code::kUnavailable);
  EXPECT_TRUE(result.error().may_have_happened);
}

TEST(ClientTest, MovedClientGoesOnWorking) {
  FakeServer server;
  Client first = make_client(server.address());
  Client second = std::move(first);
  EXPECT_TRUE(second.enqueue(job()));
}

}  // namespace
}  // namespace rota
