// SPDX-License-Identifier: Apache-2.0
// `rota scheduler`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/limits.h"
#include "base/utf8.h"
#include "rota/command_line.h"
#include "rota/fields.h"
#include "rota/flags.h"
#include "rota/pages.h"
#include "rota/scheduler_reset.h"
#include "rota/scheduler_view.h"

namespace rota::cli {
namespace {

using internal::RawClient;

void add_id(CLI::App& app, std::string& id) {
  app.add_option("SCHEDULER", id, "Scheduler id")->required();
}

Result<v1::GetSchedulerResponse> get_scheduler(Context& context, const std::string& id) {
  v1::GetSchedulerRequest request;
  request.set_scheduler_id(id);
  return call(context, std::move(request), &RawClient::get_scheduler);
}

// --- specification
// --------------------------------------------------------------------------------

struct SpecFlags {
  std::string cron, every, phase, time_zone, start, end;

  void add_to(CLI::App& app) {
    app.add_option("--cron", cron, "5 fields, or 6 with seconds first, or @daily and its like");
    app.add_option("--every", every, "Instead: a fixed interval, 1s or more");
    app.add_option("--phase", phase, "With --every: shift from the multiples of the interval");
    app.add_option("--time-zone", time_zone, "IANA name, UTC or +02:00 (default UTC)");
    app.add_option("--start", start,
                   "No tick before this time; a date is the begin of that day in --time-zone");
    app.add_option("--end", end, "No tick at this time or after; a date as in --start");
  }
  bool any() const { return !cron.empty() || !every.empty(); }

  Result<Ok> apply(v1::SchedulerSpec* spec) const {
    if (cron.empty() == every.empty()) {
      return usage_error(
          "--cron", cron.empty() ? "give --cron or --every" : "give --cron or --every, not both");
    }
    v1::SchedulerSpecPart* part = spec->add_parts();
    if (!cron.empty()) {
      part->set_cron(cron);
    } else {
      auto span = read_span("--every", every);
      if (!span) return std::move(span).error();
      put_span(*span, part->mutable_interval()->mutable_every());
    }
    if (!phase.empty()) {
      if (every.empty()) return usage_error("--phase", "goes with --every only");
      auto span = read_span("--phase", phase);
      if (!span) return std::move(span).error();
      put_span(*span, part->mutable_interval()->mutable_phase());
    }
    spec->set_time_zone(time_zone);
    if (!start.empty()) {
      auto at = read_instant("--start", start, time_zone);
      if (!at) return std::move(at).error();
      put_time(*at, spec->mutable_start_time());
    }
    if (!end.empty()) {
      auto at = read_instant("--end", end, time_zone);
      if (!at) return std::move(at).error();
      put_time(*at, spec->mutable_end_time());
    }
    return Ok{};
  }
};

// --- upsert
// ---------------------------------------------------------------------------------------

struct UpsertArguments {
  std::string id, queue, kind, overlap, catch_up, window, start_deadline_after, owner, etag;
  std::optional<int> max_runs;
  int business_day_offset = 0;
  std::int64_t revision = 0;
  SpecFlags spec;
  JobFlags job;
};

Result<Ok> apply_policies(const UpsertArguments& arguments, v1::SchedulerDeclaration* out) {
  if (arguments.overlap == "skip") {
    out->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_SKIP);
  } else if (arguments.overlap == "wait-one" || arguments.overlap == "wait_one") {
    out->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_WAIT_ONE);
  } else if (arguments.overlap == "allow") {
    out->mutable_overlap()->set_mode(v1::OverlapPolicy::MODE_ALLOW);
  } else if (!arguments.overlap.empty()) {
    return usage_error("--overlap",
                       base::quoted(arguments.overlap) + " is none of skip, wait-one, allow");
  }
  if (arguments.catch_up == "none") {
    out->mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_NONE);
  } else if (arguments.catch_up == "latest") {
    out->mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_LATEST);
  } else if (arguments.catch_up == "all") {
    out->mutable_catch_up()->set_mode(v1::CatchUpPolicy::MODE_ALL);
  } else if (!arguments.catch_up.empty()) {
    return usage_error("--catch-up",
                       base::quoted(arguments.catch_up) + " is none of none, latest, all");
  }
  if (!arguments.window.empty() && arguments.catch_up == "none") {
    return usage_error("--catch-up-window", "does not go with --catch-up none");
  }
  if (arguments.max_runs && arguments.catch_up != "all") {
    return usage_error("--catch-up-max-runs", "goes with --catch-up all only");
  }
  if (!arguments.window.empty()) {
    auto span = read_span("--catch-up-window", arguments.window);
    if (!span) return std::move(span).error();
    put_span(*span, out->mutable_catch_up()->mutable_window());
  }
  if (arguments.max_runs && *arguments.max_runs < 1) {
    return usage_error("--catch-up-max-runs",
                       fmt::format("{}, must be from 1 to {}; --catch-up none runs none",
                                   *arguments.max_runs, base::limits::kCatchUpRunsMax));
  }
  if (arguments.max_runs) out->mutable_catch_up()->set_max_runs(*arguments.max_runs);
  return Ok{};
}

Result<v1::SchedulerDeclaration> to_declaration(const UpsertArguments& arguments) {
  v1::SchedulerDeclaration out;
  out.set_id(arguments.id);
  if (auto ok = arguments.spec.apply(out.mutable_spec()); !ok) return std::move(ok).error();
  if (auto ok = apply_policies(arguments, &out); !ok) return std::move(ok).error();
  out.set_business_day_offset(arguments.business_day_offset);
  v1::JobTemplate* job = out.mutable_job();
  job->set_queue(arguments.queue);
  job->set_kind(arguments.kind);
  if (auto ok = arguments.job.apply(job); !ok) return std::move(ok).error();
  if (!arguments.start_deadline_after.empty()) {
    auto span = read_span("--start-deadline-after", arguments.start_deadline_after);
    if (!span) return std::move(span).error();
    put_span(*span, job->mutable_start_deadline_after());
  }
  out.set_owner(arguments.owner);
  out.set_revision(arguments.revision);
  return out;
}

// Of the template's queue, for the line about overlaps; not worth an error.
std::optional<std::int64_t> queue_limit(Context& context,
                                        const v1::SchedulerDeclaration& declared) {
  if (declared.overlap().mode() != v1::OverlapPolicy::MODE_ALLOW) return std::nullopt;
  v1::GetQueueRequest request;
  request.set_queue(declared.job().queue());
  auto answer = call(context, std::move(request), &RawClient::get_queue);
  if (!answer) return std::nullopt;
  const auto& settings = answer->queue().settings();
  return settings.has_concurrency_limit() ? settings.concurrency_limit() : 0;
}

// The declaration as it stands before an upsert, for the line about what that resets; that people
// read, so only for them, and not worth an error. Without an etag somebody else may change it in
// between: the line is then about both changes.
std::optional<v1::SchedulerDeclaration> declared_before(Context& context, const std::string& id) {
  if (context.out.form != Form::kTable) return std::nullopt;
  auto answer = get_scheduler(context, id);
  if (!answer) return std::nullopt;
  return std::move(*answer->mutable_scheduler()->mutable_declaration());
}

int run_upsert(const CLI::App& app, Context& context, const UpsertArguments& arguments) {
  auto declaration = to_declaration(arguments);
  if (!declaration) return context.fail(declaration.error());
  const auto before = declared_before(context, arguments.id);
  v1::UpsertSchedulerRequest request;
  *request.mutable_scheduler() = *std::move(declaration);
  request.set_etag(arguments.etag);
  auto answer = call(context, std::move(request), &RawClient::upsert_scheduler);
  if (!answer) return context.fail(answer.error());
  const v1::SchedulerDeclaration& declared = answer->scheduler().declaration();
  context.out.show(*answer, declared.id(), [&] {
    std::vector<std::string> reset;
    if (before) {
      reset = reset_options(*before, *answer, [&app](std::string_view option) {
        return app.get_option(std::string(option))->count() > 0;
      });
    }
    return upsert_text(*answer, queue_limit(context, declared), context.out.view, reset);
  });
  if (answer->result() == v1::UpsertSchedulerResponse::RESULT_OLDER_REVISION) {
    // Not an error's three lines: nodes of an old release meet this at each start, and the result
    // itself stands on standard output.
    context.out.note(fmt::format("--revision {} is lower than the stored {}: exit code {}",
                                 arguments.revision, declared.revision(),
                                 static_cast<int>(kExitConflict)));
    return kExitConflict;
  }
  return kExitOk;
}

Action define_upsert(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<UpsertArguments>();
  add_id(app, arguments->id);
  arguments->spec.add_to(app);
  app.add_option("--overlap", arguments->overlap,
                 "A tick while a run still goes: skip (default), wait-one or allow");
  app.add_option("--catch-up", arguments->catch_up,
                 "Ticks missed while the server was down: latest (default), all or none");
  app.add_option("--catch-up-window", arguments->window,
                 fmt::format("Older ones are never caught up, 1s-{}d (default {}d)",
                             base::limits::kCatchUpWindowMsMax / base::kDayMs,
                             base::limits::kCatchUpWindowMsDefault / base::kDayMs));
  app.add_option("--catch-up-max-runs", arguments->max_runs,
                 "Caught up at most, the latest ones (default 1000)");
  app.add_option("--business-day-offset", arguments->business_day_offset,
                 "Business date = local date of the tick + this many days");
  app.add_option("--queue", arguments->queue, "Queue of its jobs")->required();
  app.add_option("--kind", arguments->kind, "Kind of its jobs")->required();
  arguments->job.add_to(app);
  app.add_option("--start-deadline-after", arguments->start_deadline_after,
                 "Jobs not started so long after their tick are EXPIRED");
  app.add_option("--owner", arguments->owner, "Who looks after it");
  app.add_option("--revision", arguments->revision,
                 "Of the declaration; a lower one never replaces a higher one: exit code 4");
  app.add_option("--etag", arguments->etag, "Refused if the scheduler changed meanwhile");
  app.footer(R"(
It declares the whole scheduler: an option that is left out puts its setting back to the default
(rota queue set keeps it). When that changes a scheduler that is there, the answer says so: reset.

In --payload and --business-key, and nowhere else, {{nominal_time}} becomes the tick in UTC
(2026-11-29T22:00:00Z) and {{business_date}} its business date (2026-11-29). A business key must hold one of
them and no other {{...}}; in a payload any other text in braces, a misspelt name too, stays as it is.)");
  return [arguments, &app, &context] { return run_upsert(app, context, *arguments); };
}

// --- get, list
// ------------------------------------------------------------------------------------

Action define_get(CLI::App& app, Context& context) {
  auto id = std::make_shared<std::string>();
  add_id(app, *id);
  return [id, &context]() -> int {
    auto answer = get_scheduler(context, *id);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, *id,
                     [&] { return scheduler_text(answer->scheduler(), context.out.view); });
    return kExitOk;
  };
}

struct ListArguments {
  std::string prefix, page_token;
  std::int64_t limit = 1'000;
};

int run_list(Context& context, const ListArguments& arguments) {
  using Page = v1::ListSchedulersResponse;
  Listing<Page> listing;
  listing.limit = arguments.limit;
  listing.page_token = arguments.page_token;
  listing.fetch = [&](std::int32_t size, const std::string& token) {
    v1::ListSchedulersRequest request;
    request.set_id_prefix(arguments.prefix);
    request.set_page_size(size);
    request.set_page_token(token);
    return call(context, std::move(request), &RawClient::list_schedulers);
  };
  listing.count = [](const Page& page) { return page.schedulers_size(); };
  listing.item = [](const Page& page, int i) -> const google::protobuf::Message& {
    return page.schedulers(i);
  };
  listing.name = [](const Page& page, int i) { return page.schedulers(i).declaration().id(); };
  listing.header = scheduler_header();
  listing.cells = [&](const Page& page, int i) {
    return scheduler_cells(page.schedulers(i), context.out.view);
  };
  listing.nothing = arguments.prefix.empty() ? "no schedulers; rota scheduler upsert declares one"
                                             : fmt::format("no scheduler id begins with {}",
                                                           base::quoted(arguments.prefix));
  return show_list(context, listing);
}

Action define_list(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ListArguments>();
  app.add_option("--prefix", arguments->prefix, "Only ids that begin so");
  add_paging(app, *arguments, "Schedulers at most; 0: all");
  return [arguments, &context] { return run_list(context, *arguments); };
}

// The zone that a date without a time is meant in.
Result<std::string> zone_of(Context& context, const std::string& id) {
  auto scheduler = get_scheduler(context, id);
  if (!scheduler) return std::move(scheduler).error();
  return scheduler->scheduler().declaration().spec().time_zone();
}

// Or one gone wrong, which needs no zone to be refused.
bool is_date(const std::string& text) { return text.size() == 10; }

// --- runs
// -----------------------------------------------------------------------------------------

struct RunsArguments {
  std::string id, from, to, business_date, page_token;
  std::vector<std::string> outcomes;
  std::int64_t limit = 100;

  bool filters() const {
    return !from.empty() || !to.empty() || !business_date.empty() || !outcomes.empty();
  }
};

Result<v1::Run::Outcome> read_outcome(const std::string& text) {
  if (text == "fired") return v1::Run::OUTCOME_FIRED;
  if (text == "skipped") return v1::Run::OUTCOME_SKIPPED;
  if (text == "missed") return v1::Run::OUTCOME_MISSED;
  return usage_error("--outcome", base::quoted(text) + " is none of fired, skipped, missed");
}

Result<v1::ListRunsRequest> to_request(Context& context, const RunsArguments& arguments) {
  v1::ListRunsRequest request;
  request.set_scheduler_id(arguments.id);
  request.set_business_date(arguments.business_date);
  request.set_include_jobs(true);
  for (const std::string& list : arguments.outcomes) {
    for (const std::string& text : split(list, ',')) {
      auto outcome = read_outcome(text);
      if (!outcome) return std::move(outcome).error();
      request.add_outcomes(*outcome);
    }
  }
  std::string zone = "UTC";
  if (is_date(arguments.from) || is_date(arguments.to)) {
    // Runs of a deleted scheduler are still listed; its dates are then those of UTC.
    if (auto own = zone_of(context, arguments.id)) zone = *own;
  }
  if (!arguments.from.empty()) {
    auto at = read_instant("--from", arguments.from, zone);
    if (!at) return std::move(at).error();
    put_time(*at, request.mutable_from_time());
  }
  if (!arguments.to.empty()) {
    auto at = read_instant("--to", arguments.to, zone);
    if (!at) return std::move(at).error();
    put_time(*at, request.mutable_to_time());
  }
  if (request.has_from_time() && request.has_to_time() &&
      to_ms(request.from_time()) > to_ms(request.to_time())) {
    return usage_error("--to", fmt::format("{} lies before --from {}", time_text(request.to_time()),
                                           time_text(request.from_time())));
  }
  return request;
}

int run_runs(Context& context, const RunsArguments& arguments) {
  auto request = to_request(context, arguments);
  if (!request) return context.fail(request.error());
  using Page = v1::ListRunsResponse;
  Listing<Page> listing;
  listing.limit = arguments.limit;
  listing.page_token = arguments.page_token;
  listing.fetch = [&](std::int32_t size, const std::string& token) {
    request->set_page_size(size);
    request->set_page_token(token);
    return call(context, *request, &RawClient::list_runs);
  };
  listing.count = [](const Page& page) { return page.runs_size(); };
  listing.item = [](const Page& page, int i) -> const google::protobuf::Message& {
    return page.runs(i);
  };
  listing.name = [](const Page& page, int i) {
    return time_text(page.runs(i).nominal_time()) + " " + page.runs(i).job_id();
  };
  listing.header = run_header();
  listing.cells = [&](const Page& page, int i) {
    return run_cells(page.runs(i), context.out.view);
  };
  listing.nothing = arguments.filters()
                        ? fmt::format("no run of {} matches the filter", base::quoted(arguments.id))
                        : fmt::format("no runs of {} yet", base::quoted(arguments.id));
  return show_list(context, listing);
}

Action define_runs(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<RunsArguments>();
  add_id(app, arguments->id);
  app.add_option("--from", arguments->from,
                 "Only ticks at this time or later; a date is one of the scheduler's zone");
  app.add_option("--to", arguments->to, "Only ticks before this time; a date as in --from");
  app.add_option("--business-date", arguments->business_date, "Only this date, YYYY-MM-DD");
  add_repeated(app, "--outcome", arguments->outcomes,
               "Only fired, skipped or missed; a list or repeated");
  add_paging(app, *arguments, "Runs at most, the newest; 0: all");
  return [arguments, &context] { return run_runs(context, *arguments); };
}

// --- preview
// --------------------------------------------------------------------------------------

struct PreviewArguments {
  std::string id, after;
  int count = 10, business_day_offset = 0;
  SpecFlags spec;
};

// What is to be shown besides the ticks.
struct PreviewExtras {
  std::string time_zone;
  bool business_date = false, paused = false;
};

Result<PreviewExtras> set_target(const CLI::App& app, Context& context,
                                 const PreviewArguments& arguments,
                                 v1::PreviewSchedulerRequest* request) {
  PreviewExtras extras;
  if (arguments.id.empty()) {
    if (!arguments.spec.any()) {
      return usage_error("SCHEDULER", "give a saved SCHEDULER, or --cron or --every");
    }
    auto ok = arguments.spec.apply(request->mutable_spec());
    if (!ok) return std::move(ok).error();
    request->set_business_day_offset(arguments.business_day_offset);
    extras.time_zone = arguments.spec.time_zone;
    extras.business_date = app.get_option("--business-day-offset")->count() > 0;
    return extras;
  }
  if (auto ok = refuse_others(app, {"after", "count"}, "does not go with a saved scheduler"); !ok) {
    return std::move(ok).error();
  }
  auto saved = get_scheduler(context, arguments.id);
  if (!saved) return std::move(saved).error();
  const v1::Scheduler& scheduler = saved->scheduler();
  request->set_scheduler_id(arguments.id);
  extras.time_zone = scheduler.declaration().spec().time_zone();
  extras.business_date = scheduler.declaration().business_day_offset() != 0;
  extras.paused = scheduler.has_pause();
  return extras;
}

int run_preview(const CLI::App& app, Context& context, const PreviewArguments& arguments) {
  v1::PreviewSchedulerRequest request;
  auto extras = set_target(app, context, arguments, &request);
  if (!extras) return context.fail(extras.error());
  if (!arguments.after.empty()) {
    auto at = read_instant("--after", arguments.after, extras->time_zone);
    if (!at) return context.fail(at.error());
    put_time(*at, request.mutable_after());
  }
  if (arguments.count < 1 || arguments.count > base::limits::kPreviewTimesMax) {
    return context.fail(usage_error(
        "--count",
        fmt::format("{}, must be from 1 to {}", arguments.count, base::limits::kPreviewTimesMax)));
  }
  request.set_count(arguments.count);
  auto answer = call(context, std::move(request), &RawClient::preview_scheduler);
  if (!answer) return context.fail(answer.error());
  Output& out = context.out;
  switch (out.form) {
    case Form::kTable:
      out.write(preview_text(*answer, extras->business_date));
      if (answer->ticks_size() < arguments.count) out.note("the schedule ends there");
      break;
    case Form::kJson:
      out.write(preview_json(*answer));
      break;
    case Form::kJsonl:
      for (const auto& tick : answer->ticks()) out.write(to_json(tick, false) + "\n");
      break;
    case Form::kName:
      for (const auto& tick : answer->ticks()) out.write(time_text(tick.nominal_time()) + "\n");
      break;
  }
  if (extras->paused) {
    out.note(fmt::format("{} is paused: none of these ticks runs until rota scheduler resume {}",
                         arguments.id, arguments.id));
  }
  return kExitOk;
}

Action define_preview(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<PreviewArguments>();
  app.add_option("SCHEDULER", arguments->id, "A saved scheduler; or --cron, --every");
  arguments->spec.add_to(app);
  app.add_option("--after", arguments->after,
                 "Strictly after this time (default: now); a date is one of the scheduler's zone");
  app.add_option("--count", arguments->count, "Ticks to show, 1-1000")->capture_default_str();
  app.add_option("--business-day-offset", arguments->business_day_offset,
                 "With --cron or --every: as in upsert");
  return [arguments, &app, &context] { return run_preview(app, context, *arguments); };
}

// --- pause, resume, delete
// ------------------------------------------------------------------------

struct PauseArguments {
  std::string id, note;
};

Action define_pause(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<PauseArguments>();
  add_id(app, arguments->id);
  app.add_option("--note", arguments->note, "Shown to everybody who asks why nothing runs");
  return [arguments, &context]() -> int {
    v1::PauseSchedulerRequest request;
    request.set_scheduler_id(arguments->id);
    request.set_note(arguments->note);
    auto answer = call(context, std::move(request), &RawClient::pause_scheduler);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, arguments->id, [&] {
      return fmt::format("{}: paused; its ticks are missed until it is resumed\n", arguments->id);
    });
    return kExitOk;
  };
}

Action define_resume(CLI::App& app, Context& context) {
  auto id = std::make_shared<std::string>();
  add_id(app, *id);
  return [id, &context]() -> int {
    v1::ResumeSchedulerRequest request;
    request.set_scheduler_id(*id);
    auto answer = call(context, std::move(request), &RawClient::resume_scheduler);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, *id, [&] {
      const auto& next = answer->scheduler().next_times();
      return fmt::format("{}: resumed; {}\n", *id,
                         next.empty()
                             ? std::string("no further tick")
                             : fmt::format("next tick {} {}", time_text(next[0]),
                                           relative_text(to_ms(next[0]), context.out.view.now_ms)));
    });
    return kExitOk;
  };
}

Action define_delete(CLI::App& app, Context& context) {
  auto id = std::make_shared<std::string>();
  add_id(app, *id);
  app.add_flag("-y,--yes", context.yes, "Do not ask; must be given where nobody can be asked");
  return [id, &context]() -> int {
    auto sure = context.confirm(
        fmt::format("delete scheduler {}; its jobs and run records stay", base::quoted(*id)));
    if (!sure) return context.fail(sure.error());
    v1::DeleteSchedulerRequest request;
    request.set_scheduler_id(*id);
    auto answer = call(context, std::move(request), &RawClient::delete_scheduler);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, *id, [&] {
      return fmt::format("deleted {}; its jobs and run records stay\n", *id);
    });
    return kExitOk;
  };
}

constexpr Verb kVerbs[] = {
    {"upsert", "Declare a scheduler; the same again changes nothing",
     "  rota scheduler upsert invoices/daily --cron '0 0 * * *' --time-zone Europe/Helsinki \\\n"
     "       --overlap allow --catch-up all --business-day-offset -1 --queue invoices \\\n"
     "       --kind daily-invoice --business-key 'run/{{business_date}}' --revision 412\n"
     "  rota scheduler upsert cache/warm --every 5m --queue cache --kind warm\n",
     define_upsert},
    {"get", "Show a scheduler", "  rota scheduler get invoices/daily\n", define_get},
    {"list", "List schedulers", "  rota scheduler list --prefix invoices/\n", define_list},
    {"runs", "Show what became of its ticks, newest first",
     "  rota scheduler runs invoices/daily --from 2026-11-26\n"
     "  rota scheduler runs invoices/daily --outcome missed,skipped -o jsonl\n",
     define_runs},
    {"preview", "Show the next ticks of a scheduler, or of one that is not saved",
     "  rota scheduler preview --cron '30 3 * * *' --time-zone Europe/Helsinki "
     "--after 2027-03-27\n"
     "  rota scheduler preview invoices/daily --count 5\n",
     define_preview},
    {"pause", "Let its ticks be missed until it is resumed",
     "  rota scheduler pause invoices/daily --note year-end\n", define_pause},
    {"resume", "Go on with the first tick after now", "  rota scheduler resume invoices/daily\n",
     define_resume},
    {"delete", "Remove a scheduler; its jobs and run records stay",
     "  rota scheduler delete invoices/daily --yes\n", define_delete},
};

}  // namespace

std::span<const Verb> scheduler_verbs() { return kVerbs; }

}  // namespace rota::cli
