// SPDX-License-Identifier: Apache-2.0
#include "rpc/page_token.h"

#include <gtest/gtest.h>

#include <string>

#include "base/limits.h"
#include "rota/v1/job_service.pb.h"
#include "rota/v1/queue_service.pb.h"

namespace rota::rpc {
namespace {

v1::ListJobsRequest listing(const std::string& queue) {
  v1::ListJobsRequest request;
  request.mutable_filter()->set_queue(queue);
  return request;
}

void expect_refused(const std::string& fingerprint, const std::string& token) {
  const auto position = read_page_token(fingerprint, token);
  ASSERT_FALSE(position) << token;
  EXPECT_EQ(position.error().reason, base::Reason::kInvalidPageToken);
  EXPECT_EQ(position.error().field, "page_token");
}

TEST(PageToken, GivesThePositionBack) {
  const auto fingerprint = request_fingerprint("ListJobs", listing("mail"));
  for (std::size_t size = 1; size < 60; ++size) {
    std::string position;
    for (std::size_t i = 0; i < size; ++i) position.push_back(static_cast<char>(i * 37));
    const auto token = make_page_token(fingerprint, position);
    EXPECT_EQ(
        token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"),
        std::string::npos);
    const auto read = read_page_token(fingerprint, token);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, position);
  }
}

TEST(PageToken, EmptyIsTheFirstPage) {
  const auto position = read_page_token("any", "");
  ASSERT_TRUE(position);
  EXPECT_TRUE(position->empty());
}

TEST(PageToken, EveryChangedCharacterIsFound) {
  const auto fingerprint = request_fingerprint("ListJobs", listing("mail"));
  const auto token = make_page_token(fingerprint, "position");
  for (std::size_t i = 0; i < token.size(); ++i) {
    auto changed = token;
    changed[i] = changed[i] == 'A' ? 'B' : 'A';
    expect_refused(fingerprint, changed);
    expect_refused(fingerprint, token.substr(0, i) + "!" + token.substr(i + 1));
    if (i > 0) expect_refused(fingerprint, token.substr(0, i));
  }
  expect_refused(fingerprint, std::string(10'000, 'A'));
  // Whatever the length: a character more may hold no byte more.
  for (const char* position : {"a", "ab", "abc", "abcd"}) {
    expect_refused(fingerprint, make_page_token(fingerprint, position) + "A");
  }
}

TEST(PageToken, BelongsToOneListingWithItsArguments) {
  const auto mail = request_fingerprint("ListJobs", listing("mail"));
  const auto token = make_page_token(mail, "position");
  expect_refused(request_fingerprint("ListJobs", listing("other")), token);
  expect_refused(request_fingerprint("ListQueues", v1::ListQueuesRequest()), token);
  auto narrower = listing("mail");
  narrower.mutable_filter()->add_states(v1::JOB_STATE_READY);
  expect_refused(request_fingerprint("ListJobs", narrower), token);
}

TEST(PageToken, PageSizeTokenAndSpelledOutNamespaceDoNotMatter) {
  const auto fingerprint = request_fingerprint("ListJobs", listing("mail"));
  auto other = listing("mail");
  other.set_page_size(7);
  other.set_page_token("before");
  other.set_namespace_("default");
  EXPECT_EQ(request_fingerprint("ListJobs", other), fingerprint);
}

TEST(PageSize, DefaultMostAndNegative) {
  EXPECT_EQ(*page_size(0), base::limits::kPageSizeDefault);
  EXPECT_EQ(*page_size(1), 1);
  EXPECT_EQ(*page_size(1'000'000), base::limits::kPageSizeMax);
  const auto negative = page_size(-1);
  ASSERT_FALSE(negative);
  EXPECT_EQ(negative.error().field, "page_size");
}

}  // namespace
}  // namespace rota::rpc
