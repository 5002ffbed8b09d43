// SPDX-License-Identifier: Apache-2.0
#include "rpc/status_map.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/log.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "rpc/convert_time.h"

namespace rota::rpc {
namespace {

using base::Error;
using base::Reason;
using base::StatusCode;

constexpr std::string_view kDomain = "rota";
constexpr std::string_view kTypePrefix = "type.googleapis.com/google.rpc.";
// Advice for what may be tried again when the server knows no better.
constexpr std::int64_t kRetryDefaultMs = 200;

struct Resource {
  std::string_view type;
  std::string_view meta_key;
};
// What a reason is about, and where its name stands in the error's meta.
Resource resource_of(Reason reason) {
  switch (reason) {
    case Reason::kNamespaceNotFound:
      return {"namespace", "namespace"};
    case Reason::kQueueNotFound:
      return {"queue", "queue"};
    case Reason::kJobNotFound:
      return {"job", "jobId"};
    case Reason::kSchedulerNotFound:
      return {"scheduler", "schedulerId"};
    case Reason::kOperationNotFound:
      return {"operation", "operationId"};
    case Reason::kBusinessKeyConflict:
      return {"job", "jobId"};
    default:
      return {"", ""};
  }
}

std::string meta_value(const Error& error, std::string_view key) {
  const auto found = error.meta.find(std::string(key));
  return found == error.meta.end() ? std::string() : found->second;
}

// What the message is about, for violations: the first value of the meta that names something.
std::string subject_of(const Error& error) {
  static constexpr std::array<std::string_view, 5> kKeys = {"jobId", "queue", "schedulerId",
                                                            "operationId", "namespace"};
  for (const auto key : kKeys) {
    if (auto value = meta_value(error, key); !value.empty()) return value;
  }
  return {};
}

bool is_secret(Reason reason) {
  return reason == Reason::kInternal || reason == Reason::kStoreFailed;
}

std::string public_message(const Error& error) {
  const auto& info = base::reason_info(error.reason);
  if (is_secret(error.reason) || error.message.empty()) return std::string(info.sentence);
  return error.message;
}

std::int64_t retry_delay_ms(const Error& error) {
  if (error.retry_after_ms > 0) return error.retry_after_ms;
  return base::reason_info(error.reason).retryable ? kRetryDefaultMs : 0;
}

template <class Message>
void pack(std::string_view name, const Message& message, google::rpc::Status* status) {
  auto* any = status->add_details();
  any->set_type_url(std::string(kTypePrefix) + std::string(name));
  any->set_value(message.SerializeAsString());
}

void pack_error_info(const Error& error, google::rpc::Status* status) {
  google::rpc::ErrorInfo info;
  info.set_reason(std::string(base::reason_name(error.reason)));
  info.set_domain(std::string(kDomain));
  if (!is_secret(error.reason)) {
    for (const auto& [key, value] : error.meta) (*info.mutable_metadata())[key] = value;
  }
  pack("ErrorInfo", info, status);
}

void pack_by_code(const Error& error, const std::string& message, google::rpc::Status* status) {
  switch (base::reason_info(error.reason).code) {
    case StatusCode::kInvalidArgument: {
      google::rpc::BadRequest bad;
      auto* violation = bad.add_field_violations();
      violation->set_field(error.field);
      violation->set_description(message);
      return pack("BadRequest", bad, status);
    }
    case StatusCode::kNotFound:
    case StatusCode::kAlreadyExists: {
      const auto resource = resource_of(error.reason);
      google::rpc::ResourceInfo info;
      info.set_resource_type(std::string(resource.type));
      info.set_resource_name(meta_value(error, resource.meta_key));
      info.set_description(message);
      return pack("ResourceInfo", info, status);
    }
    case StatusCode::kFailedPrecondition: {
      google::rpc::PreconditionFailure failure;
      auto* violation = failure.add_violations();
      violation->set_type(std::string(base::reason_name(error.reason)));
      violation->set_subject(subject_of(error));
      violation->set_description(message);
      return pack("PreconditionFailure", failure, status);
    }
    case StatusCode::kResourceExhausted: {
      google::rpc::QuotaFailure failure;
      auto* violation = failure.add_violations();
      violation->set_subject(subject_of(error));
      violation->set_description(message);
      return pack("QuotaFailure", failure, status);
    }
    default:
      return;
  }
}

void pack_retry(const Error& error, google::rpc::Status* status) {
  const std::int64_t delay = retry_delay_ms(error);
  if (delay <= 0) return;
  google::rpc::RetryInfo info;
  put_duration(delay, info.mutable_retry_delay());
  pack("RetryInfo", info, status);
}

}  // namespace

grpc::Status to_status(const Error& error) {
  if (is_secret(error.reason)) {
    base::log::error("call failed inside the server", {{"error", base::to_string(error)}});
  }
  const auto code = static_cast<int>(base::reason_info(error.reason).code);
  std::string message = public_message(error);
  google::rpc::Status status;
  status.set_code(code);
  pack_error_info(error, &status);
  pack_by_code(error, message, &status);
  pack_retry(error, &status);
  if (!error.field.empty()) message = error.field + ": " + message;
  status.set_message(message);
  return {static_cast<grpc::StatusCode>(code), std::move(message), status.SerializeAsString()};
}

void put_item_error(const Error& error, v1::ItemError* item) {
  if (is_secret(error.reason)) {
    base::log::error("item failed inside the server", {{"error", base::to_string(error)}});
  }
  item->set_code(static_cast<int>(base::reason_info(error.reason).code));
  item->set_reason(std::string(base::reason_name(error.reason)));
  item->set_field(error.field);
  item->set_message(public_message(error));
  if (!is_secret(error.reason)) {
    for (const auto& [key, value] : error.meta) (*item->mutable_metadata())[key] = value;
  }
  if (const std::int64_t delay = retry_delay_ms(error); delay > 0) {
    put_duration(delay, item->mutable_retry_after());
  }
}

Error internal_error(std::string what) {
  return base::make_error(Reason::kInternal, std::move(what));
}

}  // namespace rota::rpc
