// SPDX-License-Identifier: Apache-2.0
#include "rota/queue_view.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <string>

namespace rota::cli {
namespace {

template <class Message>
Message message(const std::string& text) {
  Message parsed;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(text, &parsed)) << text;
  return parsed;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

const View kView = {.now_ms = 1'796'000'000'000};

TEST(QueueView, AChangedLimitSaysWhatItMeansNow) {
  EXPECT_EQ(queue_set_text(message<v1::SetQueueResponse>(R"(
              queue { name: "invoices" settings { concurrency_limit: 1 } counters { running: 3 } }
              changes { field: "concurrency_limit" before: "4" after: "1" })"),
                           kView),
            "invoices: concurrency 4 -> 1   3 running now; nothing is granted until none is "
            "running\n");
  EXPECT_EQ(queue_set_text(message<v1::SetQueueResponse>(R"(
              queue { name: "invoices" settings { concurrency_limit: 4 } counters { running: 1 } }
              changes { field: "concurrency_limit" before: "1" after: "4" })"),
                           kView),
            "invoices: concurrency 1 -> 4   1 running now\n");
  EXPECT_EQ(queue_set_text(message<v1::SetQueueResponse>(R"(
              queue { name: "q" }
              changes { field: "concurrency_limit" before: "1" }
              changes { field: "attempt_timeout" before: "1h" after: "none" })"),
                           kView),
            "q: concurrency 1 -> unlimited\nq: attempt timeout 1h -> none\n");
  EXPECT_EQ(queue_set_text(message<v1::SetQueueResponse>(R"(queue { name: "q" })"), kView),
            "q: unchanged\n");
}

TEST(QueueView, ANewQueueShowsWhatHolds) {
  const std::string text = queue_set_text(message<v1::SetQueueResponse>(R"(
    created: true queue { name: "q" settings {
      concurrency_limit: 2 attempt_timeout { seconds: 3600 }
      retry { max_attempts: 5 backoff { mode: MODE_EXPONENTIAL first { seconds: 1 } factor: 2
                                        cap { seconds: 3600 } jitter: 0.2 } }
      retention { succeeded_age { seconds: 86400 } succeeded_count: 100000
                  cancelled_age { seconds: 86400 } dead_age { seconds: 7776000 }
                  ledger_forever: true } } })"),
                                          kView);
  EXPECT_TRUE(contains(text, "created q\n")) << text;
  EXPECT_TRUE(contains(text, "concurrency      2\n"));
  EXPECT_TRUE(contains(text, "max waiting      unlimited\n"));
  EXPECT_TRUE(contains(text, "5 attempts, pause from 1 s, factor 2, cap 1 h, jitter 0.2"));
  EXPECT_TRUE(contains(text, "DEAD 90 d, ledger for ever"));
}

TEST(QueueView, APauseIsInSight) {
  const auto queue = message<v1::Queue>(R"(name: "q" counters { ready: 2 dead: 1 }
    pause { note: "year-end" principal: "ops" pause_time { seconds: 1795999700 } })");
  EXPECT_TRUE(contains(queue_text(queue, kView), "paused by ops, since 5 min ago: year-end"));
  EXPECT_EQ(queue_cells(queue, kView).size(), queue_header().size());
  EXPECT_TRUE(contains(queue_cells(queue, kView).back(), "year-end"));
}

TEST(QueueView, RetryPoliciesHaveThreeShapes) {
  EXPECT_EQ(retry_text(message<v1::RetryPolicy>(R"(max_attempts: 1
              backoff { mode: MODE_FIXED first { seconds: 5 } })")),
            "1 attempt, pause 5 s");
  EXPECT_EQ(retry_text(message<v1::RetryPolicy>(R"(max_attempts: 3 give_up_after { seconds: 7200 }
              backoff { mode: MODE_LISTED delays { seconds: 1 } delays { seconds: 60 } })")),
            "3 attempts, pauses 1 s, 1 min, given up after 2 h");
}

}  // namespace
}  // namespace rota::cli
