// SPDX-License-Identifier: Apache-2.0
#include "rota/queue_view.h"

#include <fmt/format.h>

namespace rota::cli {
namespace {

std::string limit_text(const v1::QueueSettings& settings) {
  return settings.has_concurrency_limit() ? std::to_string(settings.concurrency_limit())
                                          : "unlimited";
}

std::string age_text(const google::protobuf::Duration& age) {
  const std::int64_t ms = to_ms(age);
  return ms == 0 ? "not kept" : span_text(ms);
}

constexpr int kNameWidth = 16;

void add_line(std::string* out, std::string_view name, const std::string& value) {
  add_named(out, name, value, kNameWidth);
}

std::string settings_text(const v1::QueueSettings& settings) {
  std::string out;
  add_line(&out, "concurrency", limit_text(settings));
  add_line(&out, "max waiting",
           settings.has_max_waiting() ? std::to_string(settings.max_waiting()) : "unlimited");
  add_line(&out, "attempt timeout",
           settings.no_attempt_timeout() ? "none" : span_text(to_ms(settings.attempt_timeout())));
  add_line(&out, "retry", retry_text(settings.retry()));
  const v1::RetentionPolicy& kept = settings.retention();
  add_line(&out, "kept",
           fmt::format("SUCCEEDED {} and {} at most, CANCELLED and EXPIRED {}, DEAD {}, ledger {}",
                       age_text(kept.succeeded_age()), kept.succeeded_count(),
                       age_text(kept.cancelled_age()), age_text(kept.dead_age()),
                       kept.ledger_forever() ? "for ever" : age_text(kept.ledger_age())));
  return out;
}

// How a field is called in the options of `queue set`.
std::string option_word(const std::string& field) {
  if (field == "concurrency_limit") return "concurrency";
  std::string word = field;
  for (char& c : word) {
    if (c == '_') c = ' ';
  }
  return word;
}

std::string value_or_unlimited(const std::string& field, const std::string& value) {
  if (!value.empty()) return printable(value);
  return field == "concurrency_limit" || field == "max_waiting" ? "unlimited" : "default";
}

// What a new limit means for what runs now.
std::string limit_note(const v1::Queue& queue) {
  const std::int64_t running = queue.counters().running();
  if (running == 0) return {};
  std::string note = fmt::format("   {} running now", running);
  if (!queue.settings().has_concurrency_limit()) return note;
  const std::int64_t over = running - queue.settings().concurrency_limit();
  if (over >= 0) {
    note +=
        fmt::format("; nothing is granted until {} running",
                    queue.settings().concurrency_limit() == 1
                        ? "none is"
                        : fmt::format("fewer than {} are", queue.settings().concurrency_limit()));
  }
  return note;
}

}  // namespace

std::string retry_text(const v1::RetryPolicy& retry) {
  std::string text = count_of(retry.max_attempts(), "attempt");
  const v1::Backoff& backoff = retry.backoff();
  switch (backoff.mode()) {
    case v1::Backoff::MODE_LISTED: {
      std::vector<std::string> delays;
      for (const auto& delay : backoff.delays()) delays.push_back(span_text(to_ms(delay)));
      text += fmt::format(", pauses {}", fmt::join(delays, ", "));
      break;
    }
    case v1::Backoff::MODE_FIXED:
      text += fmt::format(", pause {}", span_text(to_ms(backoff.first())));
      break;
    default:
      if (backoff.has_first()) {
        text += fmt::format(", pause from {}, factor {}, cap {}", span_text(to_ms(backoff.first())),
                            backoff.factor() == 0 ? 2.0 : backoff.factor(),
                            span_text(to_ms(backoff.cap())));
      }
  }
  if (backoff.has_jitter()) text += fmt::format(", jitter {}", backoff.jitter());
  if (retry.has_give_up_after()) {
    text += fmt::format(", given up after {}", span_text(to_ms(retry.give_up_after())));
  }
  return text;
}

std::string queue_text(const v1::Queue& queue, const View& view) {
  const v1::QueueCounters& count = queue.counters();
  std::string out = paint(view, Paint::kBold, queue.name());
  if (queue.has_pause()) out += "  " + pause_text(queue.pause(), view);
  out += fmt::format(
      "\n  {:<16} {} running, {} ready, {} scheduled, {} blocked\n"
      "  {:<16} {} succeeded, {} dead, {} cancelled, {} expired; {} created, {} removed\n",
      "now", count.running(), count.ready(), count.scheduled(), count.blocked(), "kept jobs",
      count.succeeded(), count.dead(), count.cancelled(), count.expired(), count.created(),
      count.removed());
  out += settings_text(queue.settings());
  add_line(&out, "etag", queue.etag());
  return out;
}

std::vector<std::string> queue_header() {
  return {"QUEUE", "LIMIT", "RUNNING", "READY", "SCHEDULED", "BLOCKED", "DEAD", "NOTE"};
}

std::vector<std::string> queue_cells(const v1::Queue& queue, const View& view) {
  const v1::QueueCounters& count = queue.counters();
  const auto number = [](std::int64_t value) { return std::to_string(value); };
  return {queue.name(),
          limit_text(queue.settings()),
          number(count.running()),
          number(count.ready()),
          number(count.scheduled()),
          number(count.blocked()),
          paint(view, count.dead() > 0 ? Paint::kBad : Paint::kPlain, number(count.dead())),
          queue.has_pause() ? pause_text(queue.pause(), view) : ""};
}

std::string queue_set_text(const v1::SetQueueResponse& response, const View& view) {
  const v1::Queue& queue = response.queue();
  const std::string name = paint(view, Paint::kBold, queue.name());
  if (response.created()) {
    return fmt::format("created {}\n{}", name, settings_text(queue.settings()));
  }
  if (response.changes().empty()) return fmt::format("{}: unchanged\n", name);
  std::string out;
  for (const v1::FieldChange& change : response.changes()) {
    out += fmt::format("{}: {} {} -> {}", name, option_word(change.field()),
                       value_or_unlimited(change.field(), change.before()),
                       value_or_unlimited(change.field(), change.after()));
    if (change.field() == "concurrency_limit") out += limit_note(queue);
    out += "\n";
  }
  return out;
}

}  // namespace rota::cli
