// SPDX-License-Identifier: Apache-2.0
#include "rota/scheduler_view.h"

#include <fmt/format.h>

#include "base/limits.h"
#include "rota/job_view.h"
#include "rota/output.h"

namespace rota::cli {
namespace {

std::string tick_text(const v1::Tick& tick) {
  return tick.local_time().empty() ? time_text(tick.nominal_time()) : local_text(tick.local_time());
}

std::string word_of(v1::UpsertSchedulerResponse::Result result) {
  switch (result) {
    case v1::UpsertSchedulerResponse::RESULT_CREATED:
      return "created";
    case v1::UpsertSchedulerResponse::RESULT_UNCHANGED:
      return "unchanged";
    case v1::UpsertSchedulerResponse::RESULT_CHANGED:
      return "changed";
    case v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION:
      return "older revision";
    default:
      return "declared";
  }
}

std::string first_tick_line(const v1::UpsertSchedulerResponse& response, const View& view) {
  const bool created = response.result() == v1::UpsertSchedulerResponse::RESULT_CREATED;
  // The ticks of a paused one are missed, whatever the answer holds: "-", as in get and list.
  if (response.scheduler().has_pause()) return "  next   -  no tick runs until it is resumed\n";
  if (response.next_ticks().empty()) return "  no tick any more: the schedule has ended\n";
  const v1::Tick& tick = response.next_ticks(0);
  std::string line = fmt::format("  {:<5}  {}  {}", created ? "first" : "next", tick_text(tick),
                                 relative_text(to_ms(tick.nominal_time()), view.now_ms));
  if (!tick.business_date().empty()) line += ", business date " + tick.business_date();
  if (!tick.note().empty()) line += "   " + printable(tick.note());
  if (created) line += "      starts from now, nothing past is run";
  return line + "\n";
}

std::string policy_line(const v1::SchedulerDeclaration& declared,
                        std::optional<std::int64_t> queue_limit) {
  std::string line = "  a run still going: " + overlap_text(declared.overlap());
  if (declared.overlap().mode() == v1::OverlapPolicy::MODE_ALLOW && queue_limit) {
    line += *queue_limit == 0 ? fmt::format(" (queue \"{}\" has no limit)", declared.job().queue())
                              : fmt::format(" (queue \"{}\" runs {} at a time)",
                                            declared.job().queue(), *queue_limit);
  }
  return line + " · missed while down: " + catch_up_text(declared.catch_up()) + "\n";
}

std::string outcome_word(v1::Run::Outcome outcome) {
  switch (outcome) {
    case v1::Run::OUTCOME_FIRED:
      return "fired";
    case v1::Run::OUTCOME_SKIPPED:
      return "skipped";
    case v1::Run::OUTCOME_MISSED:
      return "missed";
    default:
      return "other";
  }
}

std::string nominal_text(const v1::Run& run) {
  std::string text = time_text(run.nominal_time());
  if (run.tick_count() > 1) text += " to " + time_text(run.last_nominal_time());
  return text;
}

std::string workers_text(const v1::Job& job) {
  std::string text;
  for (const auto& attempt : job.attempts()) {
    if (!text.empty()) text += ",";
    text += printable(attempt.worker_id());
  }
  return text.empty() ? "-" : text;
}

std::string run_reason(const v1::Run& run) {
  std::vector<std::string> parts;
  if (run.tick_count() > 1) {
    parts.push_back(
        fmt::format("{}{} ticks", run.tick_count_exact() ? "" : "at least ", run.tick_count()));
  }
  if (!run.reason().empty()) parts.push_back(printable(run.reason()));
  if (run.outcome() == v1::Run::OUTCOME_SKIPPED && !run.job_id().empty()) {
    parts.push_back(fmt::format("job {} in the way", run.job_id()));
  }
  // The job of another outcome is the one in the way.
  const bool fired = run.outcome() == v1::Run::OUTCOME_FIRED;
  for (const auto& attempt : (fired ? run.job() : v1::Job::default_instance()).attempts()) {
    if (attempt.outcome() == v1::ATTEMPT_OUTCOME_UNSPECIFIED ||
        attempt.outcome() == v1::ATTEMPT_OUTCOME_SUCCEEDED) {
      continue;
    }
    std::string text =
        fmt::format("attempt {} {}", attempt.number(), outcome_text(attempt.outcome()));
    if (attempt.has_failure()) text += ": " + printable(attempt.failure().message(), 100);
    parts.push_back(text);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

std::string next_text(const v1::Scheduler& scheduler, const View& view) {
  if (scheduler.has_pause()) return "-";
  if (scheduler.next_times().empty()) return "ended";
  return relative_text(to_ms(scheduler.next_times(0)), view.now_ms);
}

std::string template_text(const v1::JobTemplate& job) {
  std::string text = fmt::format("{}/{}", job.queue(), job.kind());
  if (!job.business_key().empty()) text += ", key " + printable(job.business_key());
  if (job.has_start_deadline_after()) {
    text += ", starts within " + span_text(to_ms(job.start_deadline_after()));
  }
  return text;
}

}  // namespace

std::string spec_text(const v1::SchedulerSpec& spec) {
  std::string text;
  for (const auto& part : spec.parts()) {
    if (!text.empty()) text += "; ";
    if (part.has_interval()) {
      text += "every " + span_text(to_ms(part.interval().every()));
      if (to_ms(part.interval().phase()) > 0) {
        text += " + " + span_text(to_ms(part.interval().phase()));
      }
    } else {
      text += fmt::format("cron {}", printable(part.cron()));
      text += " " + (spec.time_zone().empty() ? "UTC" : printable(spec.time_zone()));
    }
  }
  if (spec.has_start_time()) text += ", from " + time_text(spec.start_time());
  if (spec.has_end_time()) text += ", until " + time_text(spec.end_time());
  return text;
}

std::string overlap_text(const v1::OverlapPolicy& policy) {
  switch (policy.mode()) {
    case v1::OverlapPolicy::MODE_WAIT_ONE:
      return "wait_one";
    case v1::OverlapPolicy::MODE_ALLOW:
      return "allow";
    default:
      return "skip";
  }
}

std::string catch_up_text(const v1::CatchUpPolicy& policy) {
  const std::int64_t window =
      policy.has_window() ? to_ms(policy.window()) : base::limits::kCatchUpWindowMsDefault;
  const int most = policy.max_runs() == 0 ? base::limits::kCatchUpRunsDefault : policy.max_runs();
  switch (policy.mode()) {
    case v1::CatchUpPolicy::MODE_NONE:
      return "none";
    case v1::CatchUpPolicy::MODE_ALL:
      return fmt::format("all, at most {}, not older than {}", most, span_text(window));
    default:
      return "the latest, not older than " + span_text(window);
  }
}

std::string upsert_text(const v1::UpsertSchedulerResponse& response,
                        std::optional<std::int64_t> queue_limit, const View& view,
                        const std::vector<std::string>& reset) {
  const v1::Scheduler& scheduler = response.scheduler();
  const v1::SchedulerDeclaration& declared = scheduler.declaration();
  std::string out = fmt::format("{} {} (generation {}, revision {})", word_of(response.result()),
                                paint(view, Paint::kBold, declared.id()), scheduler.generation(),
                                declared.revision());
  if (!response.changed_fields().empty()) {
    out += fmt::format(": {}", fmt::join(response.changed_fields(), ", "));
  }
  if (response.result() == v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION) {
    out += ": the stored revision is higher, nothing was changed";
  }
  out += "\n";
  if (!reset.empty()) {
    out += fmt::format("  {}  {}   (options left out go back to their defaults)\n",
                       paint(view, Paint::kBad, "reset"), fmt::join(reset, ", "));
  }
  if (scheduler.has_pause()) out += "  " + pause_text(scheduler.pause(), view) + "\n";
  return out + first_tick_line(response, view) + policy_line(declared, queue_limit);
}

std::string scheduler_text(const v1::Scheduler& scheduler, const View& view) {
  const v1::SchedulerDeclaration& declared = scheduler.declaration();
  std::string out =
      fmt::format("{}  generation {}, revision {}\n", paint(view, Paint::kBold, declared.id()),
                  scheduler.generation(), declared.revision());
  if (scheduler.has_pause()) out += "  " + pause_text(scheduler.pause(), view) + "\n";
  add_named(&out, "ticks", spec_text(declared.spec()));
  const v1::JobTemplate& job = declared.job();
  add_named(&out, "job", template_text(job));
  if (job.has_priority() && job.priority() != 100) {
    add_named(&out, "priority", std::to_string(job.priority()));
  }
  if (job.has_payload()) add_named(&out, "payload", payload_text(job.payload()));
  add_named(&out, "labels", labels_text(job.labels()));
  out += policy_line(declared, std::nullopt);
  if (declared.business_day_offset() != 0) {
    add_named(&out, "date", fmt::format("local date {:+} days", declared.business_day_offset()));
  }
  add_named(&out, "owner", printable(declared.owner()));
  if (scheduler.has_last_nominal_time()) {
    add_named(&out, "last tick", time_text(scheduler.last_nominal_time()));
  }
  std::string next;
  for (const auto& time : scheduler.next_times()) {
    if (!next.empty()) next += "  ";
    next += time_text(time);
  }
  add_named(&out, "next", next.empty() ? next_text(scheduler, view) : next);
  add_named(&out, "unfinished", count_of(scheduler.unfinished_count(), "job"));
  add_named(&out, "etag", scheduler.etag());
  return out;
}

std::vector<std::string> scheduler_header() {
  return {"SCHEDULER", "TICKS", "NEXT", "JOB", "UNFINISHED", "OWNER", "NOTE"};
}

std::vector<std::string> scheduler_cells(const v1::Scheduler& scheduler, const View& view) {
  const v1::SchedulerDeclaration& declared = scheduler.declaration();
  return {declared.id(),
          spec_text(declared.spec()),
          next_text(scheduler, view),
          declared.job().queue() + "/" + declared.job().kind(),
          std::to_string(scheduler.unfinished_count()),
          declared.owner().empty() ? "-" : printable(declared.owner()),
          scheduler.has_pause() ? pause_text(scheduler.pause(), view) : ""};
}

std::vector<std::string> run_header() {
  return {"BUSINESS DATE", "TICK",    "OUTCOME", "JOB",   "STATE",
          "ATTEMPTS",      "WORKERS", "LATE",    "REASON"};
}

std::vector<std::string> run_cells(const v1::Run& run, const View& view) {
  const bool fired = run.outcome() == v1::Run::OUTCOME_FIRED;
  const bool own_job = fired && run.has_job();
  std::string late = "-";
  if (fired) {
    const std::int64_t ms = to_ms(run.lateness());
    late = fmt::format("{}.{} s", ms / 1000, ms % 1000 / 100);
    if (ms >= 10'000) late = span_text(ms);
  }
  return {run.business_date(),
          nominal_text(run),
          paint(view, fired ? Paint::kGood : Paint::kBad, outcome_word(run.outcome())),
          fired ? run.job_id() : "-",
          own_job ? state_text(view, run.job().state()) : "-",
          own_job ? std::to_string(run.job().attempt_count()) : "-",
          own_job ? workers_text(run.job()) : "-",
          late,
          run_reason(run)};
}

std::string preview_text(const v1::PreviewSchedulerResponse& response, bool with_business_date) {
  std::string out;
  for (const v1::Tick& tick : response.ticks()) {
    out += tick_text(tick);
    if (with_business_date) out += "   business date " + tick.business_date();
    if (!tick.note().empty()) out += "   " + printable(tick.note(), 400);
    out += "\n";
  }
  return out;
}

std::string preview_json(const v1::PreviewSchedulerResponse& response) {
  std::string times, ticks;
  for (const v1::Tick& tick : response.ticks()) {
    const std::string time = json_string(time_text(tick.nominal_time()));
    if (!times.empty()) times += ", ";
    times += time;
    if (!ticks.empty()) ticks += ",";
    ticks +=
        fmt::format("\n  {{\"time\": {}, \"localTime\": {}, \"businessDate\": {}, \"note\": {}}}",
                    time, json_string(tick.local_time()), json_string(tick.business_date()),
                    json_string(tick.note()));
  }
  return "{\"times\": [" + times + "],\n \"ticks\": [" + ticks + "]}\n";
}

}  // namespace rota::cli
