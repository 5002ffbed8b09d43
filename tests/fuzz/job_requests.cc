// SPDX-License-Identifier: Apache-2.0
//
// Jobs from the wire. Input: one byte that says which, then a JobSpec, an UpdateJobRequest, or the
// text of a job id.
#include "fuzz/requests.h"
#include "model/job_id.h"
#include "rpc/convert_job.h"

namespace {

using namespace rota;
namespace limits = base::limits;
using fuzz::kNowMs;

void check_times(std::int64_t run_at_ms, std::int64_t start_deadline_ms) {
  if (run_at_ms != 0) {
    fuzz::check_within(run_at_ms, kNowMs + 1, kNowMs + limits::kAheadMsMax, "run_at");
  }
  if (start_deadline_ms != 0) {
    fuzz::check_within(start_deadline_ms, std::max(kNowMs + 1, run_at_ms),
                       kNowMs + limits::kAheadMsMax, "start_deadline");
  }
}

void check_job(const core::JobRequest& job) {
  FUZZ_CHECK(!job.invalid, "taken, and marked as invalid");
  fuzz::check_named("queue", job.queue);
  fuzz::check_named("kind", job.kind);
  FUZZ_CHECK(!base::check_content_type("content_type", job.content_type), job.content_type);
  FUZZ_CHECK(job.payload.size() <= limits::kPayloadBytesDefault, "a payload over the limit");
  FUZZ_CHECK(!base::check_labels("labels", job.labels), "labels over their limits");
  check_times(job.run_at_ms, job.start_deadline_ms);
  fuzz::check_timeout(job.attempt_timeout_ms);
  if (job.retry) fuzz::check_retry(*job.retry);
  if (job.business_key.empty()) {
    FUZZ_CHECK(job.key_scope.empty() && job.payload_hash.empty(), "parts of a key that is not");
    FUZZ_CHECK(job.on_dead == core::OnDead::kReturn, "a redrive of nothing");
  } else {
    FUZZ_CHECK(!base::check_text_key("business_key", job.business_key), job.business_key);
    FUZZ_CHECK(job.payload_hash.size() == 32, "a key without a fingerprint");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  switch (input.byte() % 3) {
    case 0: {
      v1::JobSpec wire;
      if (!fuzz::read(input.rest(), &wire)) break;
      const auto job = rpc::job_from_wire(&wire, kNowMs, limits::kPayloadBytesDefault);
      job ? check_job(*job) : fuzz::check_refusal(job.error());
      break;
    }
    case 1: {
      v1::UpdateJobRequest wire;
      if (!fuzz::read(input.rest(), &wire)) break;
      const auto update = rpc::update_from_wire(wire, kNowMs);
      if (!update) {
        fuzz::check_refusal(update.error());
        break;
      }
      FUZZ_CHECK(model::job_id(update->key) == wire.job_id(), "another job");
      check_times(update->run_at_ms.value_or(0), update->start_deadline_ms.value_or(0));
      break;
    }
    default: {
      const std::string text(input.rest());
      if (!base::is_utf8(text)) break;  // no message holds it
      const auto key = rpc::job_key_from_wire(text);
      if (!key) {
        fuzz::check_refusal(key.error());
        FUZZ_CHECK(
            (key.error().reason == base::Reason::kJobNotFound) == model::is_job_id_form(text),
            base::to_string(key.error()));
      } else {
        FUZZ_CHECK(model::job_id(*key) == text, "another job");
      }
      break;
    }
  }
  return 0;
}
