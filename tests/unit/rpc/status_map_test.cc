// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_map.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"

namespace rota::rpc {
namespace {

using base::Reason;

// The details of a status by the name of their type.
std::map<std::string, std::string> details_of(const grpc::Status& status) {
  google::rpc::Status parsed;
  EXPECT_TRUE(parsed.ParseFromString(status.error_details()));
  EXPECT_EQ(parsed.code(), static_cast<int>(status.error_code()));
  EXPECT_EQ(parsed.message().empty(), false);
  std::map<std::string, std::string> details;
  for (const auto& any : parsed.details()) {
    const auto slash = any.type_url().rfind('.');
    EXPECT_TRUE(details.emplace(any.type_url().substr(slash + 1), any.value()).second)
        << any.type_url() << " stands twice";
  }
  return details;
}

google::rpc::ErrorInfo info_of(const grpc::Status& status) {
  google::rpc::ErrorInfo info;
  EXPECT_TRUE(info.ParseFromString(details_of(status).at("ErrorInfo")));
  return info;
}

TEST(StatusMap, EveryReasonHasOneErrorInfoAndTheTablesCode) {
  for (const auto& line : base::reason_table()) {
    const auto status = to_status(base::make_error(line.reason, "text"));
    EXPECT_EQ(static_cast<int>(status.error_code()), static_cast<int>(line.code)) << line.name;
    const auto info = info_of(status);
    EXPECT_EQ(info.reason(), line.name);
    EXPECT_LE(info.reason().size(), 63U);
    EXPECT_EQ(info.domain(), "rota");
    EXPECT_EQ(details_of(status).contains("RetryInfo"), line.retryable) << line.name;
  }
}

TEST(StatusMap, BadRequestNamesFieldAndFault) {
  const auto status = to_status(base::invalid_field("retry.max_attempts", "0, limit 1 to 1000"));
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(status.error_message(), "retry.max_attempts: 0, limit 1 to 1000");
  google::rpc::BadRequest bad;
  ASSERT_TRUE(bad.ParseFromString(details_of(status).at("BadRequest")));
  ASSERT_EQ(bad.field_violations_size(), 1);
  EXPECT_EQ(bad.field_violations(0).field(), "retry.max_attempts");
  EXPECT_EQ(bad.field_violations(0).description(), "0, limit 1 to 1000");
}

TEST(StatusMap, NotFoundNamesTheResource) {
  auto error = base::make_error(Reason::kQueueNotFound, "no queue 'mail'", "queue");
  error.meta["queue"] = "mail";
  const auto status = to_status(error);
  google::rpc::ResourceInfo info;
  ASSERT_TRUE(info.ParseFromString(details_of(status).at("ResourceInfo")));
  EXPECT_EQ(info.resource_type(), "queue");
  EXPECT_EQ(info.resource_name(), "mail");
  EXPECT_EQ(info_of(status).metadata().at("queue"), "mail");
}

TEST(StatusMap, RetryDelayIsTheErrorsOwn) {
  auto error = base::make_error(Reason::kQueueFull, "full", "queue");
  error.retry_after_ms = 1'500;
  const auto status = to_status(error);
  google::rpc::RetryInfo retry;
  ASSERT_TRUE(retry.ParseFromString(details_of(status).at("RetryInfo")));
  EXPECT_EQ(retry.retry_delay().seconds(), 1);
  EXPECT_EQ(retry.retry_delay().nanos(), 500'000'000);
  EXPECT_TRUE(details_of(status).contains("QuotaFailure"));
}

TEST(StatusMap, InternalTextIsNobodysBusiness) {
  auto error = base::make_error(Reason::kInternal, "record at /var/lib/x is damaged");
  error.meta["path"] = "/var/lib/x";
  const auto status = to_status(error);
  EXPECT_EQ(status.error_message().find("/var/lib"), std::string::npos);
  EXPECT_EQ(status.error_details().find("/var/lib"), std::string::npos);
  v1::ItemError item;
  put_item_error(error, &item);
  EXPECT_EQ(item.SerializeAsString().find("/var/lib"), std::string::npos);
}

TEST(StatusMap, ItemErrorSaysTheSame) {
  auto error = base::make_error(Reason::kPayloadTooLarge, "312 KiB, limit 256 KiB", "payload");
  error.meta["bytes"] = "319488";
  v1::ItemError item;
  put_item_error(error, &item);
  EXPECT_EQ(item.code(), 3);
  EXPECT_EQ(item.reason(), "PAYLOAD_TOO_LARGE");
  EXPECT_EQ(item.field(), "payload");
  EXPECT_EQ(item.message(), "312 KiB, limit 256 KiB");
  EXPECT_EQ(item.metadata().at("bytes"), "319488");
  EXPECT_FALSE(item.has_retry_after());
}

}  // namespace
}  // namespace rota::rpc
