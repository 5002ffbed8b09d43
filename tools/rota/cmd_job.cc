// SPDX-License-Identifier: Apache-2.0
// `rota job`: everything but enqueue, which has a file of its own.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>

#include "base/limits.h"
#include "base/utf8.h"
#include "rota/cmd_enqueue.h"
#include "rota/command_line.h"
#include "rota/fields.h"
#include "rota/ids.h"
#include "rota/job_view.h"
#include "rota/pages.h"

namespace rota::cli {
namespace {

using internal::RawClient;

struct IdArguments {
  std::vector<std::string> ids;
  std::string reason, request_id;
  bool payload = false;
  std::string at_most;
};

void add_ids(CLI::App& app, std::vector<std::string>& ids) {
  app.add_option("JOB", ids,
                 "Job ids; - reads them from standard input, one a line. In json several, or -, "
                 "are a list with an element each: \"id\" and the answer or \"error\"")
      ->required();
}

void add_yes(CLI::App& app, Context& context, const char* when) {
  app.add_flag("-y,--yes", context.yes,
               std::string("Do not ask") + when + "; must be given where nobody can be asked");
}

// --- get, list
// ------------------------------------------------------------------------------------

constexpr const char* kNoPayload =
    "the server has no payload any more: only jobs that wait, run or are DEAD keep it";

Action define_get(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  app.add_flag("--payload", arguments->payload, "With the payload, if the server still keeps it");
  return [arguments, &context] {
    return call_for_each_id<v1::GetJobRequest, v1::GetJobResponse>(
        context, expand_ids(arguments->ids),
        {.request =
             [&](const std::string& id) {
               v1::GetJobRequest request;
               request.set_job_id(id);
               request.set_include_payload(arguments->payload);
               return request;
             },
         .send = &RawClient::get_job_async,
         .show =
             [&](const std::string& id, const v1::GetJobResponse& answer) {
               context.out.show(
                   answer, answer.job().id(),
                   [&] { return job_text(answer.job(), context.out.view); }, id);
               if (arguments->payload && !answer.job().has_payload()) {
                 context.out.note(answer.job().id() + ": " + kNoPayload);
               }
             }});
  };
}

struct ListArguments {
  std::string queue, queue_option, kind, business_key, scheduler, page_token;
  std::vector<std::string> states;
  std::int64_t limit = 100;
};

int run_list(Context& context, const ListArguments& arguments) {
  if (!arguments.queue.empty() && !arguments.queue_option.empty()) {
    return context.fail(usage_error("--queue", "give QUEUE or --queue, not both"));
  }
  const std::string& queue = arguments.queue.empty() ? arguments.queue_option : arguments.queue;
  if (queue.empty()) return context.fail(usage_error("QUEUE", "is missing: rota job list QUEUE"));
  v1::ListJobsRequest request;
  v1::JobFilter* filter = request.mutable_filter();
  filter->set_queue(queue);
  filter->set_kind(arguments.kind);
  filter->set_business_key(arguments.business_key);
  filter->set_scheduler_id(arguments.scheduler);
  for (const std::string& list : arguments.states) {
    for (const std::string& text : split(list, ',')) {
      auto state = read_state(text);
      if (!state) return context.fail(state.error());
      filter->add_states(*state);
    }
  }
  using Page = v1::ListJobsResponse;
  Listing<Page> listing;
  listing.limit = arguments.limit;
  listing.page_token = arguments.page_token;
  listing.fetch = [&](std::int32_t size, const std::string& token) {
    request.set_page_size(size);
    request.set_page_token(token);
    return call(context, request, &RawClient::list_jobs);
  };
  listing.count = [](const Page& page) { return page.jobs_size(); };
  listing.item = [](const Page& page, int i) -> const google::protobuf::Message& {
    return page.jobs(i);
  };
  listing.name = [](const Page& page, int i) { return page.jobs(i).id(); };
  listing.header = job_header();
  listing.cells = [&](const Page& page, int i) {
    return job_cells(page.jobs(i), context.out.view);
  };
  listing.nothing = fmt::format("no such jobs in queue {}", base::quoted(queue));
  return show_list(context, listing);
}

Action define_list(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ListArguments>();
  app.add_option("QUEUE", arguments->queue, "Queue");
  app.add_option("-q,--queue", arguments->queue_option, "The same as QUEUE");
  add_repeated(app, "--state", arguments->states,
               "Only this state: ready, scheduled, blocked, running, succeeded, dead, cancelled, "
               "expired; a list or repeated");
  app.add_option("--kind", arguments->kind, "Only this kind");
  app.add_option("--business-key", arguments->business_key, "Only this business key");
  app.add_option("--scheduler", arguments->scheduler, "Only jobs of this scheduler");
  add_paging(app, *arguments, "Jobs at most; 0: all");
  return [arguments, &context] { return run_list(context, *arguments); };
}

// --- wait
// -----------------------------------------------------------------------------------------

// `deadline_ms` 0: for ever.
int wait_for_one(Context& context, const JobIds& ids, const std::string& id,
                 std::int64_t deadline_ms) {
  while (true) {
    std::int64_t wait_ms = base::limits::kPollWaitMsDefault;
    if (deadline_ms != 0) {
      wait_ms = std::clamp<std::int64_t>(deadline_ms - wall_now_ms(), 0, wait_ms);
    }
    v1::WaitJobRequest request;
    request.set_job_id(id);
    put_span(wait_ms, request.mutable_wait_duration());
    auto answer = call(context, std::move(request), &RawClient::wait_job, Millis(wait_ms));
    if (!answer) {
      const int code = fail_one(context, ids, id, answer.error());
      if (code == kExitUnavailable && context.wait_for_server() == Millis(0)) {
        context.out.note(
            "  the wait has ended, the job goes on; with --wait-for-server 1m a restart of the "
            "server does not end it");
      }
      return code;
    }
    if (answer->finished()) {
      context.out.show(
          *answer, answer->job().id(), [&] { return ended_text(answer->job(), context.out.view); },
          id);
      return answer->job().state() == v1::JOB_STATE_SUCCEEDED ? kExitOk : kExitNotSucceeded;
    }
    if (deadline_ms != 0 && wall_now_ms() >= deadline_ms) {
      context.out.show(
          *answer, "", [] { return std::string(); }, id);
      Error error;
      error.code = Code::kTimeout;
      error.reason = "NOT_ENDED_YET";
      error.message = fmt::format("{} is still {}; rota job explain {} says why", id,
                                  state_name(answer->job().state()), id);
      return context.fail(error);
    }
  }
}

Action define_wait(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  app.add_option("--at-most", arguments->at_most,
                 "Wait so long in all, then exit 6 (default: until it has ended)");
  app.footer(R"(
A server that is away or restarts ends the wait at once, also with exit code 6; the job goes on.
--wait-for-server 1m waits for the server to be back, and goes on waiting for the job. --timeout is
the limit of one call to the server, never of the wait.)");
  return [arguments, &context]() -> int {
    std::int64_t deadline_ms = 0;
    if (!arguments->at_most.empty()) {
      auto span = read_span("--at-most", arguments->at_most);
      if (!span) return context.fail(span.error());
      deadline_ms = wall_now_ms() + *span;
    }
    const auto ids = expand_ids(arguments->ids);
    return for_each_id(context, ids, [&](const std::string& id) {
      return wait_for_one(context, *ids, id, deadline_ms);
    });
  };
}

// --- update
// ---------------------------------------------------------------------------------------

struct UpdateArguments {
  std::string id, run_at, start_deadline;
  std::optional<int> priority;
};

// `none` is the word for no time at all: the field stays absent, and the mask names it.
Result<Ok> add_time_change(const char* option, const std::string& text, const char* none,
                           const char* path,
                           const std::function<google::protobuf::Timestamp*()>& field,
                           google::protobuf::FieldMask* mask) {
  if (text.empty()) return Ok{};
  mask->add_paths(path);
  if (text == none) return Ok{};
  auto at = read_instant(option, text);
  if (!at) return std::move(at).error();
  put_time(*at, field());
  return Ok{};
}

int run_update(Context& context, const UpdateArguments& arguments) {
  v1::UpdateJobRequest request;
  request.set_job_id(arguments.id);
  v1::JobChanges* changes = request.mutable_changes();
  if (arguments.priority) {
    changes->set_priority(*arguments.priority);
    request.mutable_update_mask()->add_paths("priority");
  }
  auto* mask = request.mutable_update_mask();
  auto run_at = add_time_change(
      "--run-at", arguments.run_at, "now", "run_at",
      [changes] { return changes->mutable_run_at(); }, mask);
  if (!run_at) return context.fail(run_at.error());
  auto deadline = add_time_change(
      "--start-deadline", arguments.start_deadline, "none", "start_deadline",
      [changes] { return changes->mutable_start_deadline(); }, mask);
  if (!deadline) return context.fail(deadline.error());
  if (request.update_mask().paths().empty()) {
    return context.fail(usage_error("", "give --priority, --run-at or --start-deadline"));
  }
  std::string what = fmt::format("{}", fmt::join(request.update_mask().paths(), ", "));
  std::replace(what.begin(), what.end(), '_', ' ');
  auto answer = call(context, std::move(request), &RawClient::update_job);
  if (!answer) return context.fail(answer.error());
  context.out.show(*answer, answer->job().id(), [&] {
    return fmt::format("changed {} of {}\n", what, answer->job().id()) +
           job_text(answer->job(), context.out.view);
  });
  return kExitOk;
}

Action define_update(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<UpdateArguments>();
  app.add_option("JOB", arguments->id, "Job id")->required();
  app.add_option("--priority", arguments->priority, "0-255, higher first");
  app.add_option("--run-at", arguments->run_at,
                 "Not before this time (a date begins in UTC), or now");
  app.add_option("--start-deadline", arguments->start_deadline,
                 "Not started later than this (a date begins in UTC), or none");
  return [arguments, &context] { return run_update(context, *arguments); };
}

// --- cancel, redrive, delete
// ----------------------------------------------------------------------

std::string cancelled_text(const std::string& id, v1::JobState state) {
  if (state != v1::JOB_STATE_RUNNING) return fmt::format("{} {}\n", id, state_name(state));
  return fmt::format(
      "{} is running: its worker is told, and unless it succeeds the job ends CANCELLED\n", id);
}

Action define_cancel(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  app.add_option("--reason", arguments->reason, "Kept with the job and shown to its worker");
  add_yes(app, context, " about two jobs or more");
  return [arguments, &context]() -> int {
    const auto ids = expand_ids(arguments->ids);
    if (ids && ids->all.size() > 1) {
      auto sure = context.confirm(fmt::format("cancel {} jobs", ids->all.size()));
      if (!sure) return context.fail(sure.error());
    }
    return call_for_each_id<v1::CancelJobRequest, v1::CancelJobResponse>(
        context, ids,
        {.request =
             [&](const std::string& id) {
               v1::CancelJobRequest request;
               request.set_job_id(id);
               request.set_reason(arguments->reason);
               return request;
             },
         .send = &RawClient::cancel_job_async,
         .show =
             [&](const std::string& id, const v1::CancelJobResponse& answer) {
               context.out.show(
                   answer, id, [&] { return cancelled_text(id, answer.state()); }, id);
             }});
  };
}

Action define_redrive(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  app.add_option("--request-id", arguments->request_id,
                 "Of one job: the same id again redrives it no second time");
  return [arguments, &context]() -> int {
    const auto ids = expand_ids(arguments->ids);
    if (ids && ids->all.size() > 1 && !arguments->request_id.empty()) {
      return context.fail(usage_error("--request-id", "goes with one job only"));
    }
    return call_for_each_id<v1::RedriveJobRequest, v1::RedriveJobResponse>(
        context, ids,
        {.request =
             [&](const std::string& id) {
               v1::RedriveJobRequest request;
               request.set_request_id(arguments->request_id);
               request.set_job_id(id);
               return request;
             },
         .send = &RawClient::redrive_job_async,
         .show =
             [&](const std::string& id, const v1::RedriveJobResponse& answer) {
               context.out.show(
                   answer, id,
                   [&] {
                     return fmt::format("{} DEAD -> {}, with all its attempts again\n", id,
                                        state_name(answer.state()));
                   },
                   id);
             }});
  };
}

Action define_delete(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  add_yes(app, context, "");
  return [arguments, &context]() -> int {
    const auto ids = expand_ids(arguments->ids);
    if (ids && !ids->all.empty()) {
      auto sure = context.confirm(
          fmt::format("delete {}", count_of(static_cast<std::int64_t>(ids->all.size()), "job")));
      if (!sure) return context.fail(sure.error());
    }
    return call_for_each_id<v1::DeleteJobRequest, v1::DeleteJobResponse>(
        context, ids,
        {.request =
             [](const std::string& id) {
               v1::DeleteJobRequest request;
               request.set_job_id(id);
               return request;
             },
         .send = &RawClient::delete_job_async,
         .show =
             [&](const std::string& id, const v1::DeleteJobResponse& answer) {
               context.out.show(
                   answer, id, [&] { return fmt::format("deleted {}\n", id); }, id);
             }});
  };
}

// --- explain
// --------------------------------------------------------------------------------------

// The job itself, when it has ended; what the answer says of that is its state alone.
std::optional<v1::Job> ended_job(Context& context, const v1::Explanation& explanation) {
  if (explanation.reason() != v1::Explanation::REASON_FINAL) return std::nullopt;
  v1::GetJobRequest request;
  request.set_job_id(explanation.job_id());
  auto answer = call(context, std::move(request), &RawClient::get_job);
  if (!answer) return std::nullopt;  // it has left by retention meanwhile
  return std::move(*answer->mutable_job());
}

Action define_explain(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<IdArguments>();
  add_ids(app, arguments->ids);
  return [arguments, &context] {
    const auto ids = expand_ids(arguments->ids);
    const bool many = ids && ids->all.size() > 1;
    return call_for_each_id<v1::ExplainJobRequest, v1::ExplainJobResponse>(
        context, ids,
        {.request =
             [](const std::string& id) {
               v1::ExplainJobRequest request;
               request.set_job_id(id);
               return request;
             },
         .send = &RawClient::explain_job_async,
         .show =
             [&](const std::string& id, const v1::ExplainJobResponse& answer) {
               context.out.show(
                   answer, id,
                   [&] {
                     const auto ended = ended_job(context, answer.explanation());
                     return (many ? id + " " : "") + explanation_text(answer.explanation(),
                                                                      context.out.view,
                                                                      ended ? &*ended : nullptr);
                   },
                   id);
             }});
  };
}

constexpr Verb kVerbs[] = {
    {"enqueue", "Submit one job, or one a line of JSON from standard input",
     "  rota job enqueue mail welcome --payload '{\"user\":42}' --business-key welcome/42\n"
     "  rota job enqueue invoices make-invoice --payload @order.json --delay 10m\n"
     "  rota job enqueue - < jobs.jsonl > outcomes.jsonl\n",
     define_enqueue},
    {"get", "Show a job with its attempts",
     "  rota job get 0g7k9 --payload\n"
     "  rota job get 0g7k9 -o json\n",
     define_get},
    {"list", "List the jobs of a queue",
     "  rota job list mail --state dead\n"
     "  rota job list mail --state ready,running --kind welcome -o jsonl --limit 0\n",
     define_list},
    {"wait", "Wait until a job has ended; exit code 0 only if it SUCCEEDED",
     "  rota job wait 0g7k9 --at-most 10m\n", define_wait},
    {"update", "Change priority, run time or start deadline of a job that is not running",
     "  rota job update 0g7k9 --priority 200 --run-at now\n", define_update},
    {"cancel", "Cancel waiting jobs at once, and ask the workers of running ones",
     "  rota job cancel 0g7k9 --reason 'wrong customer'\n"
     "  rota job list mail --state ready --limit 0 -o name | rota job cancel - --yes\n",
     define_cancel},
    {"redrive", "Make DEAD jobs ready again, same id and all their attempts",
     "  rota job redrive 0g7k9\n"
     "  rota job list mail --state dead -o name | rota job redrive -\n",
     define_redrive},
    {"delete", "Remove jobs in a final state", "  rota job delete 0g7k9 --yes\n", define_delete},
    {"explain", "Say why a job is not running", "  rota job explain 0g7p4\n", define_explain},
};

}  // namespace

std::span<const Verb> job_verbs() { return kVerbs; }

}  // namespace rota::cli
