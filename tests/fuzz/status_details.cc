// SPDX-License-Identifier: Apache-2.0
//
// What the client makes of a refused call. Input: a status code, the message with its length, and
// the rest as serialised google.rpc.Status or, with the highest bit of the code, rota.v1.ItemError.
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "google/rpc/status.pb.h"
#include "src/status.h"

namespace {

using namespace rota;

void check_error(const Error& error) {
  if (!error.retry_after) return;
  FUZZ_CHECK(error.retry_after->count() >= 0, "an advice to come again in the past");
  FUZZ_CHECK(error.retry_after->count() <= base::limits::kRequestIdKeptMs,
             "an advice that no caller could follow");
}

void check_status(int code, std::string message, std::string details) {
  const bool readable = google::rpc::Status().ParseFromString(details);
  const grpc::Status status(static_cast<grpc::StatusCode>(code), std::move(message),
                            std::move(details));
  const internal::Fault fault = internal::to_fault(status);
  check_error(fault.error);
  FUZZ_CHECK(fault.error.message == status.error_message(), "another message");
  FUZZ_CHECK(readable || !fault.from_server, "details that cannot be read are the server's word");
  FUZZ_CHECK(fault.from_server || !fault.error.reason.empty(), "no reason");
  FUZZ_CHECK(!(fault.never_sent && fault.unknown), "never sent, and perhaps carried out");
  FUZZ_CHECK(!fault.from_server || !fault.never_sent, "answered, and never sent");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::uint8_t code = input.byte();
  if ((code & 0x80U) != 0) {
    v1::ItemError item;
    const std::string_view bytes = input.rest();
    if (item.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
      check_error(internal::to_error(item));
    }
  } else {
    const std::string message(input.text());
    // The transport makes one of its own codes of every number on the wire.
    check_status(1 + code % grpc::StatusCode::UNAUTHENTICATED, message, std::string(input.rest()));
  }
  return 0;
}
