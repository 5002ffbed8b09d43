// SPDX-License-Identifier: Apache-2.0
#include "rota/cmd_enqueue.h"

#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/names.h"
#include "base/utf8.h"
#include "rota/bulk_enqueue.h"
#include "rota/fields.h"
#include "rota/flags.h"
#include "rota/job_view.h"

namespace rota::cli {
namespace {

constexpr int kInFlightMax = 64;

struct Arguments {
  std::string queue, kind, run_at, delay, start_deadline, on_dead, request_id;
  int in_flight = 4;
  JobFlags job;
};

Result<v1::JobSpec> to_spec(const Arguments& arguments) {
  v1::JobSpec spec;
  spec.set_queue(arguments.queue);
  spec.set_kind(arguments.kind);
  if (auto ok = arguments.job.apply(&spec); !ok) return std::move(ok).error();
  if (!arguments.run_at.empty() && !arguments.delay.empty()) {
    return usage_error("--delay", "give --run-at or --delay, not both");
  }
  if (!arguments.run_at.empty()) {
    auto at = read_instant("--run-at", arguments.run_at);
    if (!at) return std::move(at).error();
    put_time(*at, spec.mutable_run_at());
  }
  if (!arguments.delay.empty()) {
    auto span = read_span("--delay", arguments.delay);
    if (!span) return std::move(span).error();
    put_span(*span, spec.mutable_delay());
  }
  if (!arguments.start_deadline.empty()) {
    auto at = read_instant("--start-deadline", arguments.start_deadline);
    if (!at) return std::move(at).error();
    put_time(*at, spec.mutable_start_deadline());
  }
  if (!arguments.on_dead.empty() && arguments.job.business_key.empty()) {
    return usage_error("--on-dead", "goes with --business-key only");
  }
  if (arguments.on_dead == "redrive") {
    spec.mutable_dedup()->set_on_dead(v1::DedupPolicy::ON_DEAD_REDRIVE);
  } else if (!arguments.on_dead.empty() && arguments.on_dead != "return") {
    return usage_error("--on-dead",
                       base::quoted(arguments.on_dead) + " is none of return, redrive");
  }
  return spec;
}

int enqueue_one(Context& context, const Arguments& arguments) {
  auto spec = to_spec(arguments);
  if (!spec) return context.fail(spec.error());
  v1::EnqueueJobRequest request;
  request.set_request_id(arguments.request_id);
  *request.mutable_job() = *std::move(spec);
  auto answer = call(context, std::move(request), &internal::RawClient::enqueue_job);
  if (!answer) return context.fail(answer.error());
  context.out.show(*answer, answer->job().id(),
                   [&] { return enqueued_text(answer->job(), context.out.view); });
  return kExitOk;
}

class StopOnSignal {
 public:
  StopOnSignal() {
    struct sigaction action {};
    action.sa_handler = BulkEnqueue::stop;
    sigaction(SIGINT, &action, &interrupt_);
    sigaction(SIGTERM, &action, &terminate_);
  }
  ~StopOnSignal() {
    sigaction(SIGINT, &interrupt_, nullptr);
    sigaction(SIGTERM, &terminate_, nullptr);
  }

 private:
  struct sigaction interrupt_ {
  }, terminate_{};
};

// What would be passed over in silence.
Result<Ok> check_for_lines(const CLI::App& app, const Context& context,
                           const Arguments& arguments) {
  auto ok = refuse_others(app, {"request-id", "in-flight"},
                          "does not go with -: each line has the fields of its job");
  if (!ok) return ok;
  if (app.get_option("--output")->count() > 0 && context.out.form != Form::kJsonl) {
    return usage_error("--output", "does not go with -: one JSON object a line is all it writes");
  }
  if (arguments.in_flight < 1 || arguments.in_flight > kInFlightMax) {
    return usage_error("--in-flight", std::to_string(arguments.in_flight) + ", must be from 1 to " +
                                          std::to_string(kInFlightMax));
  }
  if (arguments.request_id.empty()) return Ok{};
  if (const auto fault = base::check_bulk_request_id("--request-id", arguments.request_id)) {
    return usage_error(fault->field, fault->message);
  }
  return Ok{};
}

// How to get to know what became of jobs whose answer was lost.
std::string hint_for_unknown(const Arguments& arguments) {
  if (!arguments.request_id.empty()) {
    return "  the same input again with --request-id " + arguments.request_id +
           " is safe for an hour: it creates nothing twice";
  }
  return "  the lines of the unknown jobs say mayHaveHappened; only with --request-id, or business "
         "keys, is the same input again safe";
}

int enqueue_lines(const CLI::App& app, Context& context, const Arguments& arguments) {
  if (auto ok = check_for_lines(app, context, arguments); !ok) return context.fail(ok.error());
  auto client = context.client();
  if (!client) return context.fail(client.error());
  const internal::CallOptions options = context.call();
  const StopOnSignal guard;
  BulkEnqueue bulk(
      [client = *client, options](v1::BulkEnqueueJobsRequest request,
                                  std::function<void(Result<v1::BulkEnqueueJobsResponse>)> done) {
        client->bulk_enqueue_jobs_async(std::move(request), options, std::move(done));
      },
      {.name_space = context.name_space(),
       .in_flight = arguments.in_flight,
       .request_id = arguments.request_id});
  const BulkSummary summary = bulk.run(STDIN_FILENO, context.out.out());
  if (summary.stopped) {
    Error shown = *summary.stopped;
    shown.may_have_happened = false;  // which jobs that concerns is in their lines
    context.fail(shown);
  }
  context.out.note(summary.text());
  if (summary.unknown > 0) context.out.note(hint_for_unknown(arguments));
  return summary.code;
}

int run(const CLI::App& app, Context& context, const Arguments& arguments) {
  if (arguments.queue == "-" && arguments.kind.empty()) {
    return enqueue_lines(app, context, arguments);
  }
  if (arguments.kind.empty()) {
    return context.fail(usage_error("KIND", "is missing: rota job enqueue QUEUE KIND"));
  }
  if (app.get_option("--in-flight")->count() > 0) {
    return context.fail(usage_error("--in-flight", "goes with - only"));
  }
  return enqueue_one(context, arguments);
}

}  // namespace

Action define_enqueue(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<Arguments>();
  app.add_option("QUEUE", arguments->queue, "Queue; - alone reads one JSON object a line instead")
      ->required();
  app.add_option("KIND", arguments->kind, "Kind; workers choose their handler by it");
  arguments->job.add_to(app);
  app.add_option("--run-at", arguments->run_at,
                 "Not before this time; a date begins in UTC (default: at once)");
  app.add_option("--delay", arguments->delay, "Instead: so long from the server's now");
  app.add_option("--start-deadline", arguments->start_deadline,
                 "Not started later than this, the job is then EXPIRED; a date begins in UTC");
  app.add_option("--on-dead", arguments->on_dead,
                 "If the business key's job is DEAD: return (default) or redrive it");
  app.add_option("--request-id", arguments->request_id,
                 "Makes the command repeatable: the same id and input create nothing twice");
  app.add_option("--in-flight", arguments->in_flight,
                 "With -: calls at once, 1-64; 1 keeps the order of all jobs")
      ->capture_default_str();
  app.footer(R"(
JSON lines (rota job enqueue -): the fields of a job are queue, kind, payload, contentType, priority,
runAt, delay, startDeadline, attemptTimeout, noAttemptTimeout, retry {maxAttempts, giveUpAfter,
backoff {mode, first, factor, cap, delays, jitter}}, businessKey, businessKeyScope, labels,
dedup {onDead}. Values are spelled as in the options: times as in --run-at, spans as "1h30m",
attemptTimeout and giveUpAfter also "none", mode fixed, exponential or listed, onDead return or
redrive (small or capital letters). A payload that is no string is sent as its JSON text. Up to
1,000 lines go in one call, and --timeout is the limit of each of these calls. As each call is
acknowledged, one line a job is written in input order: {"id": "...", "created": true}, or
{"line": 7, "error": {"reason": "...", "field": "...", "message": "..."}}. An error with
"mayHaveHappened": true is no refusal: the answer was lost, and the job may have been created. With
--request-id the same input again is then safe.)");
  return [arguments, &app, &context] { return run(app, context, *arguments); };
}

}  // namespace rota::cli
