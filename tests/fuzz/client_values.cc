// SPDX-License-Identifier: Apache-2.0
//
// What the client makes of a server's messages, and of values that go back. Input: one byte that
// says which message, then its bytes.
#include "base/limits.h"
#include "fuzz/fuzz.h"
#include "src/convert.h"

namespace {

using namespace rota;

template <class Message>
bool read(std::string_view bytes, Message* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

// A duration or an instant that a clock can be moved by, whatever the message says.
void check_span(Millis span) {
  FUZZ_CHECK(span >= -Millis(base::limits::kRetentionAgeMsMax) &&
                 span <= Millis(base::limits::kRetentionAgeMsMax),
             "a span that overflows a clock: " + std::to_string(span.count()) + " ms");
}

void check_job(v1::Job&& message) {
  const std::size_t attempts = static_cast<std::size_t>(message.attempts_size());
  JobInfo info = internal::to_info(std::move(message));
  FUZZ_CHECK(info.attempts.size() == attempts, "attempts were lost");
  if (info.spec.attempt_timeout) check_span(*info.spec.attempt_timeout);
  if (info.spec.retry) check_span(info.spec.retry->first);
  // What was read can be sent, unless the server could not have meant it.
  v1::JobSpec again;
  const auto sent = internal::to_message(std::move(info.spec), again);
  FUZZ_CHECK(sent || !sent.error().field.empty(), "refused without a field");
  FUZZ_CHECK(!sent || !again.SerializeAsString().empty() || again.ByteSizeLong() == 0,
             "a message that cannot be sent");
}

void check_declared(v1::UpsertSchedulerResponse&& message) {
  const bool known = message.result() >= v1::UpsertSchedulerResponse::RESULT_CREATED &&
                     message.result() <= v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION;
  const auto declared = internal::to_declared(std::move(message));
  FUZZ_CHECK(declared.has_value() == known, "an answer that this version does not know");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 4) {
    case 0:
      if (v1::Job job; read(input.rest(), &job)) check_job(std::move(job));
      break;
    case 1:
      if (v1::EnqueuedJob job; read(input.rest(), &job)) internal::to_ref(std::move(job));
      break;
    case 2:
      if (v1::UpsertSchedulerResponse response; read(input.rest(), &response)) {
        check_declared(std::move(response));
      }
      break;
    default:
      if (google::protobuf::Duration span; read(input.rest(), &span)) {
        check_span(internal::to_millis(span));
      }
      break;
  }
  return 0;
}
