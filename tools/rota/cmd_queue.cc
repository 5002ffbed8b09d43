// SPDX-License-Identifier: Apache-2.0
// `rota queue`.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdint>
#include <memory>

#include "base/utf8.h"
#include "rota/command_line.h"
#include "rota/fields.h"
#include "rota/pages.h"
#include "rota/queue_view.h"

namespace rota::cli {
namespace {

using internal::RawClient;

struct NameArguments {
  std::string queue, note, request_id;
  bool no_wait = false;
};

void add_queue(CLI::App& app, std::string& queue) {
  app.add_option("QUEUE", queue, "Queue")->required();
}

void add_yes(CLI::App& app, Context& context) {
  app.add_flag("-y,--yes", context.yes, "Do not ask; must be given where nobody can be asked");
}

// --- list, get
// ------------------------------------------------------------------------------------

struct ListArguments {
  std::string prefix, page_token;
  std::int64_t limit = 1'000;
};

int run_list(Context& context, const ListArguments& arguments) {
  using Page = v1::ListQueuesResponse;
  Listing<Page> listing;
  listing.limit = arguments.limit;
  listing.page_token = arguments.page_token;
  listing.fetch = [&](std::int32_t size, const std::string& token) {
    v1::ListQueuesRequest request;
    request.set_name_prefix(arguments.prefix);
    request.set_page_size(size);
    request.set_page_token(token);
    return call(context, std::move(request), &RawClient::list_queues);
  };
  listing.count = [](const Page& page) { return page.queues_size(); };
  listing.item = [](const Page& page, int i) -> const google::protobuf::Message& {
    return page.queues(i);
  };
  listing.name = [](const Page& page, int i) { return page.queues(i).name(); };
  listing.header = queue_header();
  listing.cells = [&](const Page& page, int i) {
    return queue_cells(page.queues(i), context.out.view);
  };
  listing.nothing = arguments.prefix.empty() ? "no queues; rota queue set NAME makes one"
                                             : fmt::format("no queue's name begins with {}",
                                                           base::quoted(arguments.prefix));
  return show_list(context, listing);
}

Action define_list(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ListArguments>();
  app.add_option("--prefix", arguments->prefix, "Only names that begin so");
  add_paging(app, *arguments, "Queues at most; 0: all");
  return [arguments, &context] { return run_list(context, *arguments); };
}

Result<v1::GetQueueResponse> get_queue(Context& context, const std::string& name) {
  v1::GetQueueRequest request;
  request.set_queue(name);
  return call(context, std::move(request), &RawClient::get_queue);
}

Action define_get(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<NameArguments>();
  add_queue(app, arguments->queue);
  return [arguments, &context]() -> int {
    auto answer = get_queue(context, arguments->queue);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, answer->queue().name(),
                     [&] { return queue_text(answer->queue(), context.out.view); });
    return kExitOk;
  };
}

// --- set
// ------------------------------------------------------------------------------------------

struct SetArguments {
  std::string queue, concurrency, attempt_timeout, max_waiting, etag;
  std::string succeeded_age, cancelled_age, dead_age, ledger_age;
  std::optional<std::int64_t> succeeded_count;
  RetryFlags retry;

  bool sets_retention() const {
    return !succeeded_age.empty() || !cancelled_age.empty() || !dead_age.empty() ||
           !ledger_age.empty() || succeeded_count;
  }
};

// A number, or nothing for the word "unlimited". Whether it is within `bounds` is the server's to
// say, unless no number of 64 bits is as large.
Result<std::optional<std::int64_t>> read_limit(const char* option, const std::string& text,
                                               const char* bounds) {
  if (text == "unlimited") return std::optional<std::int64_t>();
  std::int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error == std::errc::result_out_of_range && stop == end) {
    return usage_error(option, std::string("must be ") + bounds);
  }
  if (error != std::errc() || stop != end) {
    return usage_error(option, base::quoted(text) + " is no number, nor unlimited");
  }
  return std::optional<std::int64_t>(value);
}

Result<Ok> put_age(const char* option, const std::string& text, google::protobuf::Duration* out) {
  auto ms = read_span(option, text);
  if (!ms) return std::move(ms).error();
  put_span(*ms, out);
  return Ok{};
}

Result<Ok> apply_retention(const SetArguments& arguments, v1::RetentionPolicy* kept) {
  struct Age {
    const char* option;
    const std::string& text;
    google::protobuf::Duration* (*field)(v1::RetentionPolicy*);
  };
  const Age ages[] = {
      {"--succeeded-age", arguments.succeeded_age,
       [](v1::RetentionPolicy* policy) { return policy->mutable_succeeded_age(); }},
      {"--cancelled-age", arguments.cancelled_age,
       [](v1::RetentionPolicy* policy) { return policy->mutable_cancelled_age(); }},
      {"--dead-age", arguments.dead_age,
       [](v1::RetentionPolicy* policy) { return policy->mutable_dead_age(); }},
  };
  for (const Age& age : ages) {
    if (age.text.empty()) continue;
    if (auto ok = put_age(age.option, age.text, age.field(kept)); !ok) return ok;
  }
  if (arguments.succeeded_count) kept->set_succeeded_count(*arguments.succeeded_count);
  if (arguments.ledger_age == "forever") {
    kept->set_ledger_forever(true);
    kept->clear_ledger_age();
  } else if (!arguments.ledger_age.empty()) {
    kept->set_ledger_forever(false);
    auto ok = put_age("--ledger-age", arguments.ledger_age, kept->mutable_ledger_age());
    if (!ok) return ok;
  }
  return Ok{};
}

Result<Ok> apply_limits(const SetArguments& arguments, v1::SetQueueRequest* request) {
  v1::QueueSettings* settings = request->mutable_settings();
  auto* mask = request->mutable_update_mask();
  if (!arguments.concurrency.empty()) {
    constexpr const char* kBounds = "1 to 1000000, or unlimited";
    auto limit = read_limit("--concurrency", arguments.concurrency, kBounds);
    if (!limit) return std::move(limit).error();
    if (*limit && (**limit < INT32_MIN || **limit > INT32_MAX)) {
      return usage_error("--concurrency", std::string("must be ") + kBounds);
    }
    mask->add_paths("concurrency_limit");
    if (*limit) settings->set_concurrency_limit(static_cast<std::int32_t>(**limit));
  }
  if (!arguments.max_waiting.empty()) {
    auto limit = read_limit("--max-waiting", arguments.max_waiting,
                            "1 to 9223372036854775807, or unlimited");
    if (!limit) return std::move(limit).error();
    mask->add_paths("max_waiting");
    if (*limit) settings->set_max_waiting(**limit);
  }
  if (!arguments.attempt_timeout.empty()) {
    mask->add_paths("attempt_timeout");
    if (arguments.attempt_timeout == "none") {
      settings->set_no_attempt_timeout(true);
    } else {
      auto ms = read_span("--attempt-timeout", arguments.attempt_timeout);
      if (!ms) return std::move(ms).error();
      put_span(*ms, settings->mutable_attempt_timeout());
    }
  }
  return Ok{};
}

// Retry policy and retention are set as a whole: what was not given is taken from the queue as it
// stands, and the etag sees to it that it still stands so.
Result<Ok> apply_policies(Context& context, const SetArguments& arguments,
                          v1::SetQueueRequest* request) {
  if (!arguments.retry.any() && !arguments.sets_retention()) return Ok{};
  v1::QueueSettings now;
  auto queue = get_queue(context, arguments.queue);
  if (queue) {
    now = queue->queue().settings();
    if (request->etag().empty()) request->set_etag(queue->queue().etag());
  } else if (queue.error().code != Code::kNotFound) {
    return std::move(queue).error();
  }
  if (arguments.retry.any()) {
    if (auto ok = arguments.retry.apply(now.mutable_retry()); !ok) return ok;
    *request->mutable_settings()->mutable_retry() = now.retry();
    request->mutable_update_mask()->add_paths("retry");
  }
  if (arguments.sets_retention()) {
    if (auto ok = apply_retention(arguments, now.mutable_retention()); !ok) return ok;
    *request->mutable_settings()->mutable_retention() = now.retention();
    request->mutable_update_mask()->add_paths("retention");
  }
  return Ok{};
}

int run_set(Context& context, const SetArguments& arguments) {
  v1::SetQueueRequest request;
  request.set_queue(arguments.queue);
  request.set_etag(arguments.etag);
  if (auto ok = apply_limits(arguments, &request); !ok) return context.fail(ok.error());
  if (auto ok = apply_policies(context, arguments, &request); !ok) return context.fail(ok.error());
  auto answer = call(context, std::move(request), &RawClient::set_queue);
  if (!answer) return context.fail(answer.error());
  context.out.show(*answer, answer->queue().name(),
                   [&] { return queue_set_text(*answer, context.out.view); });
  return kExitOk;
}

Action define_set(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<SetArguments>();
  add_queue(app, arguments->queue);
  app.add_option("--concurrency", arguments->concurrency,
                 "Jobs running at once over all workers, 1-1000000, or unlimited");
  app.add_option("--max-waiting", arguments->max_waiting, "Jobs waiting at most, or unlimited");
  app.add_option("--attempt-timeout", arguments->attempt_timeout,
                 "Limit of one attempt of jobs that give none, 1s-30d, or none (default 1h)");
  arguments->retry.add_to(app);
  app.add_option("--succeeded-age", arguments->succeeded_age,
                 "How long SUCCEEDED jobs are kept, 10m at least or 0s (default 24h)");
  app.add_option("--succeeded-count", arguments->succeeded_count,
                 "SUCCEEDED jobs kept at most (default 100000)");
  app.add_option("--cancelled-age", arguments->cancelled_age,
                 "The same for CANCELLED and EXPIRED jobs (default 24h)");
  app.add_option("--dead-age", arguments->dead_age, "The same for DEAD jobs (default 90d)");
  app.add_option("--ledger-age", arguments->ledger_age,
                 "How long business keys of done effects are kept, or forever (default 400d)");
  app.add_option("--etag", arguments->etag, "Refused if the queue changed since `queue get`");
  app.footer(R"(
An option that is left out keeps its setting as it is (rota scheduler upsert puts it back to the
default); the defaults are those of a new queue.)");
  return [arguments, &context] { return run_set(context, *arguments); };
}

// --- pause, resume
// --------------------------------------------------------------------------------

Action define_pause(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<NameArguments>();
  add_queue(app, arguments->queue);
  app.add_option("--note", arguments->note, "Shown to everybody who asks why nothing runs");
  return [arguments, &context]() -> int {
    v1::PauseQueueRequest request;
    request.set_queue(arguments->queue);
    request.set_note(arguments->note);
    auto answer = call(context, std::move(request), &RawClient::pause_queue);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, answer->queue().name(), [&] {
      return fmt::format("{}: paused; {} running go on, {} ready wait, enqueue goes on\n",
                         answer->queue().name(), answer->queue().counters().running(),
                         answer->queue().counters().ready());
    });
    return kExitOk;
  };
}

Action define_resume(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<NameArguments>();
  add_queue(app, arguments->queue);
  return [arguments, &context]() -> int {
    v1::ResumeQueueRequest request;
    request.set_queue(arguments->queue);
    auto answer = call(context, std::move(request), &RawClient::resume_queue);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, answer->queue().name(), [&] {
      return fmt::format("{}: resumed; {} ready\n", answer->queue().name(),
                         answer->queue().counters().ready());
    });
    return kExitOk;
  };
}

// --- purge, delete
// --------------------------------------------------------------------------------

// Until the operation has ended; asks ever more rarely.
Result<v1::GetOperationResponse> follow(Context& context, const std::string& id) {
  Millis pause{20};
  while (true) {
    v1::GetOperationRequest request;
    request.set_operation_id(id);
    auto answer = call(context, std::move(request), &RawClient::get_operation);
    if (!answer || answer->operation().state() != v1::Operation::STATE_RUNNING) return answer;
    const timespec span = {.tv_sec = pause.count() / 1000,
                           .tv_nsec = pause.count() % 1000 * 1'000'000};
    nanosleep(&span, nullptr);
    pause = std::min(pause * 2, Millis(1'000));
  }
}

int run_purge(Context& context, const NameArguments& arguments) {
  auto queue = get_queue(context, arguments.queue);
  if (!queue) return context.fail(queue.error());
  const v1::QueueCounters& count = queue->queue().counters();
  auto sure = context.confirm(
      fmt::format("remove {} waiting in queue {}",
                  count_of(count.ready() + count.scheduled() + count.blocked(), "job"),
                  base::quoted(arguments.queue)));
  if (!sure) return context.fail(sure.error());
  v1::PurgeQueueRequest request;
  request.set_request_id(arguments.request_id);
  request.set_queue(arguments.queue);
  auto answer = call(context, std::move(request), &RawClient::purge_queue);
  if (!answer) return context.fail(answer.error());
  const std::string id = answer->operation().id();
  if (arguments.no_wait) {
    context.out.show(*answer, id, [&] {
      return fmt::format("{}: purge {} goes on in the background\n", arguments.queue, id);
    });
    return kExitOk;
  }
  auto ended = follow(context, id);
  if (!ended) return context.fail(ended.error());
  context.out.show(*ended, id, [&] {
    return fmt::format("{}: {} removed{}\n", arguments.queue,
                       count_of(ended->operation().removed_count(), "job"),
                       ended->operation().state() == v1::Operation::STATE_CANCELLED
                           ? ", then the purge was cancelled"
                           : "");
  });
  return kExitOk;
}

Action define_purge(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<NameArguments>();
  add_queue(app, arguments->queue);
  app.add_option("--request-id", arguments->request_id,
                 "The same id again purges nothing that came later");
  app.add_flag("--no-wait", arguments->no_wait, "Do not wait until all is removed");
  add_yes(app, context);
  return [arguments, &context] { return run_purge(context, *arguments); };
}

Action define_delete(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<NameArguments>();
  add_queue(app, arguments->queue);
  add_yes(app, context);
  return [arguments, &context]() -> int {
    auto sure = context.confirm(
        fmt::format("delete queue {} with its final jobs", base::quoted(arguments->queue)));
    if (!sure) return context.fail(sure.error());
    v1::DeleteQueueRequest request;
    request.set_queue(arguments->queue);
    auto answer = call(context, std::move(request), &RawClient::delete_queue);
    if (!answer) return context.fail(answer.error());
    context.out.show(*answer, arguments->queue,
                     [&] { return fmt::format("deleted {}\n", arguments->queue); });
    return kExitOk;
  };
}

constexpr Verb kVerbs[] = {
    {"list", "List queues with their counters",
     "  rota queue list\n"
     "  rota queue list --prefix billing/ -o json\n",
     define_list},
    {"get", "Show a queue with its settings and counters", "  rota queue get invoices\n",
     define_get},
    {"set", "Make a queue, or change settings while jobs wait and run",
     "  rota queue set invoices --concurrency 1\n"
     "  rota queue set mail --max-attempts 8 --backoff-first 5s --dead-age 30d\n",
     define_set},
    {"pause", "Grant nothing more until it is resumed; running jobs go on",
     "  rota queue pause invoices --note 'year-end, ops'\n", define_pause},
    {"resume", "End a pause", "  rota queue resume invoices\n", define_resume},
    {"purge", "Remove the jobs that wait now; running and later ones stay",
     "  rota queue purge mail --yes\n", define_purge},
    {"delete", "Remove an empty queue with its final jobs", "  rota queue delete mail --yes\n",
     define_delete},
};

}  // namespace

std::span<const Verb> queue_verbs() { return kVerbs; }

}  // namespace rota::cli
