// SPDX-License-Identifier: Apache-2.0
#include "rota/job_view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/names.h"

namespace rota::cli {
namespace {

bool is_final(v1::JobState state) {
  return state == v1::JOB_STATE_SUCCEEDED || state == v1::JOB_STATE_DEAD ||
         state == v1::JOB_STATE_CANCELLED || state == v1::JOB_STATE_EXPIRED;
}

std::string failure_text(const v1::Failure& failure) {
  std::string text = printable(failure.message(), 300);
  if (text.empty()) text = printable(failure.type());
  return text;
}

// "after 3 of 5 attempts": the policy is on the job only when it was given with it.
std::string attempts_text(const v1::Job& job) {
  if (job.attempt_count() == 0) return {};
  std::string text = fmt::format("after {}", job.attempts_used());
  if (job.state() == v1::JOB_STATE_SUCCEEDED || job.state() == v1::JOB_STATE_RUNNING) {
    text = fmt::format("attempt {}", job.attempt_count());
    if (job.state() == v1::JOB_STATE_SUCCEEDED) text = "in " + text;
    return text;
  }
  if (job.has_retry() && job.retry().max_attempts() > 0) {
    return text + fmt::format(" of {}", count_of(job.retry().max_attempts(), "attempt"));
  }
  return fmt::format("after {}", count_of(job.attempts_used(), "attempt"));
}

std::string headline(const v1::Job& job, const View& view) {
  std::string line = fmt::format("{}  {}/{}  {}", paint(view, Paint::kBold, job.id()), job.queue(),
                                 job.kind(), state_text(view, job.state()));
  if (const std::string attempts = attempts_text(job); !attempts.empty()) line += " " + attempts;
  if (!job.final_reason().empty()) line += fmt::format(" ({})", printable(job.final_reason()));
  if (!job.business_key().empty()) line += "   key " + printable(job.business_key());
  if (job.state() == v1::JOB_STATE_DEAD) {
    line += fmt::format("   redrive: rota job redrive {}", job.id());
  }
  return line + "\n";
}

std::string when(const google::protobuf::Timestamp& time, const View& view) {
  return fmt::format("{}  {}", time_text(time), relative_text(to_ms(time), view.now_ms));
}

std::string details(const v1::Job& job, const View& view) {
  std::string out;
  add_named(
      &out, "enqueued",
      when(job.create_time(), view) + (job.principal().empty() ? "" : "  by " + job.principal()));
  if (job.priority() != 100) add_named(&out, "priority", std::to_string(job.priority()));
  if (job.state() == v1::JOB_STATE_SCHEDULED && job.has_due_time()) {
    add_named(&out, "due", when(job.due_time(), view));
  }
  if (job.has_start_deadline()) add_named(&out, "start by", when(job.start_deadline(), view));
  if (!job.blocked_by().empty()) add_named(&out, "blocked by", job.blocked_by());
  if (!job.scheduler_id().empty()) {
    std::string run = job.scheduler_id();
    if (job.nominal_times_size() > 0) run += ", tick " + time_text(job.nominal_times(0));
    if (!job.business_date().empty()) run += ", business date " + job.business_date();
    add_named(&out, "scheduler", run);
  }
  add_named(&out, "labels", labels_text(job.labels()));
  if (job.has_payload()) add_named(&out, "payload", payload_text(job.payload()));
  if (job.redrive_count() > 0) add_named(&out, "redriven", count_of(job.redrive_count(), "time"));
  if (job.cancel_requested()) {
    add_named(&out, "cancel",
              "requested" + (job.cancel_reason().empty() ? std::string()
                                                         : ": " + printable(job.cancel_reason())));
  }
  if (job.has_finish_time()) add_named(&out, "ended", when(job.finish_time(), view));
  if (job.has_result() && !job.result().data().empty()) {
    add_named(&out, "result", printable(job.result().data(), 400));
  }
  if (job.has_failure() && job.attempts().empty()) {
    add_named(&out, "failure", failure_text(job.failure()));
  }
  return out;
}

std::string took(const v1::Attempt& attempt, const View& view) {
  const std::int64_t end = attempt.has_end_time() ? to_ms(attempt.end_time()) : view.now_ms;
  return span_text(std::max<std::int64_t>(0, end - to_ms(attempt.start_time())));
}

std::string why_ended(const v1::Attempt& attempt) {
  std::string why = attempt.has_failure() ? failure_text(attempt.failure()) : std::string();
  if (!attempt.log_tail().empty() && attempt.outcome() != v1::ATTEMPT_OUTCOME_SUCCEEDED) {
    std::string_view tail = attempt.log_tail();
    while (!tail.empty() && tail.back() == '\n') tail.remove_suffix(1);
    const std::size_t feed = tail.rfind('\n');
    if (feed != std::string_view::npos) tail.remove_prefix(feed + 1);
    if (!tail.empty() && why.find(tail) == std::string::npos) {
      why += (why.empty() ? "" : "; ") + fmt::format("last line: {}", printable(tail));
    }
  }
  if (attempt.result_truncated()) why += why.empty() ? "result cut at 256 KiB" : "; result cut";
  return why;
}

std::string attempts_table(const v1::Job& job, const View& view) {
  if (job.attempts().empty()) return {};
  Table table({"#", "TOKEN", "WORKER", "START", "TOOK", "OUTCOME", "WHY"});
  for (int i = job.attempts_size() - 1; i >= 0; --i) {
    const v1::Attempt& attempt = job.attempts(i);
    const bool good = attempt.outcome() == v1::ATTEMPT_OUTCOME_SUCCEEDED;
    const bool bad = attempt.outcome() == v1::ATTEMPT_OUTCOME_FAILED ||
                     attempt.outcome() == v1::ATTEMPT_OUTCOME_LOST ||
                     attempt.outcome() == v1::ATTEMPT_OUTCOME_TIMED_OUT;
    table.add({std::to_string(attempt.number()), std::to_string(attempt.fencing_token()),
               printable(attempt.worker_id()), time_text(attempt.start_time()), took(attempt, view),
               paint(view,
                     good  ? Paint::kGood
                     : bad ? Paint::kBad
                           : Paint::kPlain,
                     outcome_text(attempt.outcome())),
               why_ended(attempt)});
  }
  return table.text();
}

std::string other_reason(v1::Explanation::Reason reason) {
  switch (reason) {
    case v1::Explanation::REASON_PAUSED:
      return "the queue is paused";
    case v1::Explanation::REASON_CONCURRENCY_LIMIT:
      return "the queue's limit is reached";
    case v1::Explanation::REASON_NO_WORKER_ASKS:
      return "no worker asks for the queue";
    case v1::Explanation::REASON_IN_LINE:
      return "others come first";
    case v1::Explanation::REASON_RUN_TIME:
      return "its run time is not reached";
    case v1::Explanation::REASON_RETRY_WAIT:
      return "it waits for its next attempt";
    case v1::Explanation::REASON_BLOCKED:
      return "it waits for an earlier run";
    case v1::Explanation::REASON_START_DEADLINE:
      return "its start deadline has passed";
    case v1::Explanation::REASON_BEING_PURGED:
      return "a purge is about to remove it";
    default:
      return {};
  }
}

// What can be done about it, in commands.
std::string next_step(const v1::Explanation& explanation) {
  switch (explanation.reason()) {
    case v1::Explanation::REASON_PAUSED:
      return fmt::format("rota queue resume {}", explanation.queue());
    case v1::Explanation::REASON_CONCURRENCY_LIMIT:
      return fmt::format("rota queue set {} --concurrency N raises the limit", explanation.queue());
    case v1::Explanation::REASON_NO_WORKER_ASKS:
      return fmt::format("start a worker: rota-worker exec --queue {} -- COMMAND",
                         explanation.queue());
    case v1::Explanation::REASON_FINAL:
      return fmt::format("rota job get {} shows its attempts", explanation.job_id());
    default:
      return {};
  }
}

// "DEAD: it has ended after 3 of 3 attempts (MAX_ATTEMPTS), 2 min ago." and the last error.
std::string final_text(const v1::Job& job, const View& view) {
  std::string text = state_text(view, job.state()) + ": it has ended";
  if (const std::string attempts = attempts_text(job); !attempts.empty()) text += " " + attempts;
  if (!job.final_reason().empty()) text += fmt::format(" ({})", printable(job.final_reason()));
  if (job.has_finish_time()) text += ", " + relative_text(to_ms(job.finish_time()), view.now_ms);
  text += ".\n";
  if (job.has_failure()) text += fmt::format("  last error: {}\n", failure_text(job.failure()));
  if (job.state() == v1::JOB_STATE_DEAD) text += fmt::format("  rota job redrive {}\n", job.id());
  return text;
}

}  // namespace

std::string payload_text(const v1::Payload& payload) {
  const std::string type =
      payload.content_type().empty() ? "application/json" : payload.content_type();
  return fmt::format("{}  ({}, {})", printable(payload.data(), 400),
                     base::format_bytes(static_cast<std::int64_t>(payload.data().size())), type);
}

std::string labels_text(const google::protobuf::Map<std::string, std::string>& labels) {
  std::vector<std::string> pairs;
  for (const auto& [key, value] : labels) pairs.push_back(key + "=" + printable(value));
  std::sort(pairs.begin(), pairs.end());
  return fmt::format("{}", fmt::join(pairs, " "));
}

std::string job_text(const v1::Job& job, const View& view) {
  return headline(job, view) + details(job, view) + attempts_table(job, view);
}

std::vector<std::string> job_header() {
  return {"JOB", "KIND", "STATE", "PRIORITY", "ATTEMPTS", "AGE", "KEY", "NOTE"};
}

std::vector<std::string> job_cells(const v1::Job& job, const View& view) {
  std::string note;
  if (job.state() == v1::JOB_STATE_SCHEDULED && job.has_due_time()) {
    note = "due " + relative_text(to_ms(job.due_time()), view.now_ms);
  } else if (!job.blocked_by().empty()) {
    note = "waits for " + job.blocked_by();
  } else if (job.cancel_requested() && !is_final(job.state())) {
    note = "cancel requested";
  } else if (job.state() == v1::JOB_STATE_DEAD) {
    note = job.has_failure() ? failure_text(job.failure()) : job.final_reason();
  } else if (!job.final_reason().empty()) {
    note = printable(job.final_reason());
  }
  return {
      job.id(),
      job.kind(),
      state_text(view, job.state()),
      std::to_string(job.priority()),
      std::to_string(job.attempt_count()),
      span_text(std::max<std::int64_t>(0, view.now_ms - to_ms(job.create_time())) / 1000 * 1000),
      job.business_key().empty() ? "-" : printable(job.business_key()),
      note};
}

std::string enqueued_text(const v1::EnqueuedJob& job, const View& view) {
  if (job.created()) {
    return fmt::format("{} created, {}\n", paint(view, Paint::kBold, job.id()),
                       state_text(view, job.state()));
  }
  std::string text =
      fmt::format("{} existed already for this business key, {}",
                  paint(view, Paint::kBold, job.id()), state_text(view, job.state()));
  if (job.has_result()) text += "; result: " + printable(job.result().data(), 400);
  if (job.state() == v1::JOB_STATE_DEAD) text += fmt::format("; rota job redrive {}", job.id());
  return text + "\n";
}

std::string ended_text(const v1::Job& job, const View& view) {
  std::string text =
      fmt::format("{} {}", paint(view, Paint::kBold, job.id()), state_text(view, job.state()));
  if (const std::string attempts = attempts_text(job); !attempts.empty()) text += " " + attempts;
  if (job.has_result() && !job.result().data().empty()) {
    text += ": " + printable(job.result().data(), 400);
  } else if (job.has_failure()) {
    text += ": " + failure_text(job.failure());
  }
  return text + "\n";
}

std::string explanation_text(const v1::Explanation& explanation, const View& view,
                             const v1::Job* ended) {
  if (ended != nullptr) return final_text(*ended, view) + "  " + next_step(explanation) + "\n";
  const bool waits = !is_final(explanation.state()) && explanation.state() != v1::JOB_STATE_RUNNING;
  std::string text = state_text(view, explanation.state());
  if (waits) text += ", not running";
  text += ": " + printable(explanation.text(), 1'000) + ".";
  if (explanation.position() > 0 && waits) {
    std::string place = ordinal(explanation.position());
    if (place[0] >= 'a' && place[0] <= 'z') place[0] = static_cast<char>(place[0] - 'a' + 'A');
    text += fmt::format(" {} of {} in line.", place, explanation.ready_count());
  }
  if (explanation.cancel_requested()) text += " A cancel was requested.";
  text += "\n";
  std::vector<std::string> others;
  for (const int reason : explanation.other_reasons()) {
    const std::string words = other_reason(static_cast<v1::Explanation::Reason>(reason));
    if (!words.empty()) others.push_back(words);
  }
  if (!others.empty()) text += fmt::format("  also: {}\n", fmt::join(others, "; "));
  if (waits && explanation.has_start_deadline()) {
    text += fmt::format("  start by {}, else it ends EXPIRED\n",
                        when(explanation.start_deadline(), view));
  }
  if (explanation.holders_size() > 1) {
    for (const auto& holder : explanation.holders()) {
      text += fmt::format("  held by {} (attempt {}, {}, token {}, lease for {})\n",
                          holder.job_id(), holder.attempt(), printable(holder.worker_id()),
                          holder.fencing_token(), span_text(to_ms(holder.lease_remaining())));
    }
  }
  const std::string step = next_step(explanation);
  if (!step.empty()) text += "  " + step + "\n";
  return text;
}

}  // namespace rota::cli
