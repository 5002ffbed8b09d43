// SPDX-License-Identifier: Apache-2.0
#include "src/status.h"

#include <google/protobuf/any.pb.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/limits.h"
#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "src/convert.h"
#include "src/reply_limit.h"

namespace rota::internal {
namespace {

// Of any number: an item's error comes from the wire, and may name a code that gRPC does not have.
Code to_code(int grpc_code) {
  switch (grpc_code) {
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::OUT_OF_RANGE:
      return Code::kInvalid;
    case grpc::StatusCode::NOT_FOUND:
      return Code::kNotFound;
    case grpc::StatusCode::ALREADY_EXISTS:
    case grpc::StatusCode::ABORTED:
      return Code::kConflict;
    case grpc::StatusCode::FAILED_PRECONDITION:
      return Code::kPrecondition;
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
      return Code::kDenied;
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return Code::kExhausted;
    case grpc::StatusCode::UNAVAILABLE:
    case grpc::StatusCode::CANCELLED:
      return Code::kUnavailable;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return Code::kTimeout;
    default:
      return Code::kInternal;
  }
}

// What the transport reports has no reason of the server's table.
const char* transport_reason(grpc::StatusCode code) {
  switch (code) {
    case grpc::StatusCode::UNAVAILABLE:
      return "SERVER_UNREACHABLE";
    case grpc::StatusCode::DEADLINE_EXCEEDED:
      return "DEADLINE_EXCEEDED";
    case grpc::StatusCode::CANCELLED:
      return "CANCELLED";
    case grpc::StatusCode::UNIMPLEMENTED:
      return "NOT_SUPPORTED_BY_SERVER";
    default:
      return "TRANSPORT_FAILURE";
  }
}

// When to come again. A server that says "next year" is not right about that; the pause is used as
// it stands, so it is bounded here.
Millis to_advice(const google::protobuf::Duration& delay) {
  return std::clamp(to_millis(delay), Millis(0), Millis(base::limits::kRequestIdKeptMs));
}

template <class Message>
bool read(const google::protobuf::Any& any, std::string_view name, Message& message) {
  const std::string_view url(any.type_url());
  return url.size() > name.size() && url.substr(url.size() - name.size()) == name &&
         url[url.size() - name.size() - 1] == '/' && message.ParseFromString(any.value());
}

// True when an ErrorInfo was among the details: the server itself spoke.
bool read_details(const std::string& bytes, Fault& fault) {
  Error& error = fault.error;
  google::rpc::Status details;
  if (bytes.empty() || !details.ParseFromString(bytes)) return false;
  bool spoke = false;
  for (const auto& any : details.details()) {
    google::rpc::ErrorInfo info;
    google::rpc::BadRequest bad;
    google::rpc::RetryInfo retry;
    if (read(any, "google.rpc.ErrorInfo", info)) {
      error.reason = info.reason();
      if (const auto state = info.metadata().find("state"); state != info.metadata().end()) {
        fault.state = state->second;
      }
      spoke = true;
    } else if (read(any, "google.rpc.BadRequest", bad)) {
      if (bad.field_violations_size() > 0) error.field = bad.field_violations(0).field();
    } else if (read(any, "google.rpc.RetryInfo", retry)) {
      error.retry_after = to_advice(retry.retry_delay());
    }
  }
  return spoke;
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// A message over a limit, by gRPC's own text, which ends in the limit: "(SIZE vs. LIMIT)". It was
// the answer when the server would not send it or this client not take it; what was asked for may
// then be done. Else it was the request, and the server did not take it.
void take_size_fault(Fault& fault) {
  const std::string& text = fault.error.message;
  const bool answer = contains(text, "Sent message larger than max") ||
                      contains(text, "vs. " + std::to_string(kReplyBytesMax) + ")");
  fault.error.code = answer ? Code::kInternal : Code::kInvalid;
  fault.error.reason = answer ? "ANSWER_TOO_LARGE" : "MESSAGE_TOO_LARGE";
  fault.unknown = answer;
}

}  // namespace

Fault to_fault(const grpc::Status& status) {
  const grpc::StatusCode code = status.error_code();
  Fault fault;
  fault.error.code = to_code(code);
  fault.error.message = status.error_message();
  fault.from_server = read_details(status.error_details(), fault);
  if (fault.from_server) {
    // Both say that nothing was done and that it may be otherwise in a moment.
    fault.may_repeat = code == grpc::StatusCode::UNAVAILABLE || fault.error.reason == "OVERLOADED";
    // The one answer of the server that leaves it open: the disk failed under the commit.
    fault.unknown = fault.error.reason == "STORE_FAILED";
    return fault;
  }
  fault.error.reason = transport_reason(code);
  switch (code) {
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      // Sent again it is as large as before. Any other shortage may pass.
      if (contains(fault.error.message, "larger than max")) take_size_fault(fault);
      break;
    case grpc::StatusCode::UNAVAILABLE:
      // Only the text tells a connection that was never made from one that broke; any other text
      // counts as sent, which is the safe side.
      fault.never_sent = contains(fault.error.message, "failed to connect to all addresses") ||
                         contains(fault.error.message, "DNS resolution failed");
      fault.unknown = !fault.never_sent;
      fault.may_repeat = true;
      break;
    case grpc::StatusCode::CANCELLED:  // a server that goes down cancels its calls
      fault.unknown = true;
      fault.may_repeat = true;
      break;
    case grpc::StatusCode::UNKNOWN:  // how gRPC reports some connections that break under a call
      fault.unknown = true;
      fault.may_repeat = contains(fault.error.message, "Stream removed");
      if (fault.may_repeat) fault.error.code = Code::kUnavailable;
      break;
    case grpc::StatusCode::DEADLINE_EXCEEDED:
    case grpc::StatusCode::INTERNAL:
      fault.unknown = true;
      break;
    default:
      break;
  }
  return fault;
}

Error to_error(const v1::ItemError& item) {
  Error error;
  error.code = to_code(item.code());
  error.reason = item.reason();
  error.field = item.field();
  error.message = item.message();
  if (item.has_retry_after()) error.retry_after = to_advice(item.retry_after());
  return error;
}

Error unknown_answer() {
  Error error;
  error.reason = "UNKNOWN_ANSWER";
  error.message = "the server answered another number of jobs than were sent";
  error.may_have_happened = true;
  return error;
}

Error invalid(std::string field, std::string message) {
  Error error;
  error.code = Code::kInvalid;
  error.reason = "INVALID_FIELD";
  error.field = std::move(field);
  error.message = std::move(message);
  return error;
}

Error closed_error() {
  Error error;
  error.code = Code::kUnavailable;
  error.reason = "CLIENT_CLOSED";
  error.message = "the client is closed";
  return error;
}

}  // namespace rota::internal
