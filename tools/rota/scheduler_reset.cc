// SPDX-License-Identifier: Apache-2.0
#include "rota/scheduler_reset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "rota/job_view.h"
#include "rota/scheduler_view.h"
#include "rota/text.h"

namespace rota::cli {
namespace {

using Declaration = v1::SchedulerDeclaration;
using Text = std::optional<std::string>;  // nothing: the option means nothing there

constexpr const char* kOfQueue = "the queue's";

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

bool catches_up(const Declaration& declared) {
  return declared.catch_up().mode() != v1::CatchUpPolicy::MODE_NONE;
}

Text catch_up_mode(const Declaration& declared) {
  switch (declared.catch_up().mode()) {
    case v1::CatchUpPolicy::MODE_NONE:
      return "none";
    case v1::CatchUpPolicy::MODE_ALL:
      return "all";
    default:
      return "latest";
  }
}

Text phase(const Declaration& declared) {
  if (declared.spec().parts().empty() || !declared.spec().parts(0).has_interval()) return {};
  return span_text(to_ms(declared.spec().parts(0).interval().phase()));
}

Text attempt_timeout(const Declaration& declared) {
  const v1::JobTemplate& job = declared.job();
  if (job.no_attempt_timeout()) return "none";
  return job.has_attempt_timeout() ? span_text(to_ms(job.attempt_timeout())) : kOfQueue;
}

// `text` of the policy, if it has one of its own.
template <class Read>
Text of_retry(const Declaration& declared, Read text) {
  if (!declared.job().has_retry()) return kOfQueue;
  return text(declared.job().retry());
}

// `text` of the back-off, if it is one of this mode.
template <class Read>
Text of_backoff(const Declaration& declared, v1::Backoff::Mode mode, Read text) {
  return of_retry(declared, [&](const v1::RetryPolicy& retry) -> Text {
    if (retry.backoff().mode() != mode) return {};
    return text(retry.backoff());
  });
}

std::string first_text(const v1::Backoff& backoff) { return span_text(to_ms(backoff.first())); }

std::string delays_text(const v1::Backoff& backoff) {
  std::vector<std::string> delays;
  for (const auto& delay : backoff.delays()) delays.push_back(span_text(to_ms(delay)));
  return fmt::format("{}", fmt::join(delays, ", "));
}

// An option, and the field that the answer names when it changes.
struct Part {
  std::string_view option, field;
  Text (*text)(const Declaration&);
  bool of_retry = false;
};

constexpr std::array<Part, 26> kParts = {{
    {"--phase", "every", phase},
    {"--time-zone", "time_zone",
     [](const Declaration& d) -> Text {
       return d.spec().time_zone().empty() ? "UTC" : printable(d.spec().time_zone());
     }},
    {"--start", "start_time",
     [](const Declaration& d) -> Text {
       return d.spec().has_start_time() ? time_text(d.spec().start_time()) : "none";
     }},
    {"--end", "end_time",
     [](const Declaration& d) -> Text {
       return d.spec().has_end_time() ? time_text(d.spec().end_time()) : "none";
     }},
    {"--overlap", "overlap",
     [](const Declaration& d) -> Text { return overlap_text(d.overlap()); }},
    {"--catch-up", "catch_up", catch_up_mode},
    {"--catch-up-window", "catch_up",
     [](const Declaration& d) -> Text {
       if (!catches_up(d)) return {};
       return span_text(to_ms(d.catch_up().window()));
     }},
    {"--catch-up-max-runs", "catch_up",
     [](const Declaration& d) -> Text {
       if (d.catch_up().mode() != v1::CatchUpPolicy::MODE_ALL) return {};
       return std::to_string(d.catch_up().max_runs());
     }},
    {"--business-day-offset", "business_day_offset",
     [](const Declaration& d) -> Text { return std::to_string(d.business_day_offset()); }},
    {"--payload", "job",
     [](const Declaration& d) -> Text { return or_none(printable(d.job().payload().data(), 40)); }},
    {"--content-type", "job",
     [](const Declaration& d) -> Text { return printable(d.job().payload().content_type()); }},
    {"--priority", "job",
     [](const Declaration& d) -> Text { return std::to_string(d.job().priority()); }},
    {"--attempt-timeout", "job", attempt_timeout},
    {"--business-key", "job",
     [](const Declaration& d) -> Text { return or_none(printable(d.job().business_key())); }},
    {"--business-key-scope", "job",
     [](const Declaration& d) -> Text {
       if (d.job().business_key().empty()) return {};
       const std::string& scope = d.job().business_key_scope();
       return scope.empty() ? kOfQueue : printable(scope);
     }},
    {"--label", "job",
     [](const Declaration& d) -> Text { return or_none(labels_text(d.job().labels())); }},
    {"--max-attempts", "job",
     [](const Declaration& d) {
       return of_retry(d, [](const v1::RetryPolicy& retry) -> Text {
         return std::to_string(retry.max_attempts());
       });
     },
     true},
    {"--backoff-first", "job",
     [](const Declaration& d) { return of_backoff(d, v1::Backoff::MODE_EXPONENTIAL, first_text); },
     true},
    {"--backoff-factor", "job",
     [](const Declaration& d) {
       return of_backoff(d, v1::Backoff::MODE_EXPONENTIAL, [](const v1::Backoff& backoff) {
         return fmt::format("{}", backoff.factor());
       });
     },
     true},
    {"--backoff-cap", "job",
     [](const Declaration& d) {
       return of_backoff(d, v1::Backoff::MODE_EXPONENTIAL, [](const v1::Backoff& backoff) {
         return span_text(to_ms(backoff.cap()));
       });
     },
     true},
    {"--backoff-jitter", "job",
     [](const Declaration& d) {
       return of_retry(d, [](const v1::RetryPolicy& retry) -> Text {
         return fmt::format("{}", retry.backoff().jitter());
       });
     },
     true},
    {"--backoff-fixed", "job",
     [](const Declaration& d) { return of_backoff(d, v1::Backoff::MODE_FIXED, first_text); }, true},
    {"--backoff-delays", "job",
     [](const Declaration& d) { return of_backoff(d, v1::Backoff::MODE_LISTED, delays_text); },
     true},
    {"--give-up-after", "job",
     [](const Declaration& d) {
       return of_retry(d, [](const v1::RetryPolicy& retry) -> Text {
         return retry.has_give_up_after() ? span_text(to_ms(retry.give_up_after())) : "none";
       });
     },
     true},
    {"--start-deadline-after", "job",
     [](const Declaration& d) -> Text {
       const v1::JobTemplate& job = d.job();
       return job.has_start_deadline_after() ? span_text(to_ms(job.start_deadline_after()))
                                             : "none";
     }},
    {"--owner", "owner",
     [](const Declaration& d) -> Text { return or_none(printable(d.owner())); }},
}};

}  // namespace

std::vector<std::string> reset_options(const v1::SchedulerDeclaration& before,
                                       const v1::UpsertSchedulerResponse& response,
                                       const std::function<bool(std::string_view)>& given) {
  std::vector<std::string> out;
  const auto& changed = response.changed_fields();
  for (const Part& part : kParts) {
    if (given(part.option)) continue;
    if (std::find(changed.begin(), changed.end(), part.field) == changed.end()) continue;
    // Where the queue's policy was in force, nothing that was declared is lost.
    if (part.of_retry && !before.job().has_retry()) continue;
    const Text was = part.text(before), is = part.text(response.scheduler().declaration());
    if (was && is && *was != *is) out.push_back(fmt::format("{} {} -> {}", part.option, *was, *is));
  }
  return out;
}

}  // namespace rota::cli
