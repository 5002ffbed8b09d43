// SPDX-License-Identifier: Apache-2.0
// rota-worker: runs a command for each job of some queues.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "base/duration.h"
#include "bin/exec_handler.h"
#include "internal/raw_client.h"
#include "rota/version.h"
#include "rota/worker.h"
#include "src/lease_clock.h"

namespace {

constexpr int kExitOk = 0, kExitOther = 1, kExitUsage = 2, kExitUnavailable = 6;

constexpr const char* kExamples = R"(Examples:
  rota-worker exec --queue mail -- ./send-mail
  rota-worker exec --queue invoices --queue reports --concurrency 8 -- python3 run.py

Each job runs COMMAND once. Its payload is on standard input; ROTA_JOB_ID, ROTA_ATTEMPT,
ROTA_FENCING_TOKEN, ROTA_QUEUE, ROTA_KIND, ROTA_BUSINESS_KEY, ROTA_SCHEDULER_ID, ROTA_NOMINAL_TIME,
ROTA_BUSINESS_DATE and ROTA_IDEMPOTENCY_KEY are in its environment. Exit code 0: succeeded, the first
256 KiB of standard output are the result. 75: comes again after the back-off, uses no attempt.
Anything else, or a signal: failed, retried by the queue's policy. On cancel, timeout and loss of the
lease COMMAND and all of its process group get TERM, then KILL; what the command leaves running in its
group when it ends gets KILL too. SIGTERM and SIGINT end the worker: running commands may finish within
--drain, the rest is given back.
)";

struct Arguments {
  std::vector<std::string> queues, command;
  int concurrency = 1;
  std::string server, id, name_space;
  std::string lease_ttl = "30s", drain = "60s", wait_for_server;
};

rota::Worker* g_worker = nullptr;

extern "C" void on_interrupt(int) { g_worker->stop(); }

void print_log(int level, std::string_view line) {
  static constexpr const char* kLevels[] = {"debug", "info", "warning", "error"};
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char time[32];
  std::strftime(time, sizeof(time), "%Y-%m-%dT%H:%M:%SZ", &parts);
  std::fprintf(stderr, "%s %s %.*s\n", time, kLevels[level & 3], static_cast<int>(line.size()),
               line.data());
}

int exit_code(const rota::Error& error) {
  switch (error.code) {
    case rota::Code::kInvalid:
      return kExitUsage;
    case rota::Code::kNotFound:
      return 3;
    case rota::Code::kConflict:
    case rota::Code::kPrecondition:
      return 4;
    case rota::Code::kDenied:
      return 5;
    case rota::Code::kUnavailable:
    case rota::Code::kTimeout:
    case rota::Code::kExhausted:
      return kExitUnavailable;
    default:
      return kExitOther;
  }
}

int fail(const rota::Error& error) {
  std::fprintf(stderr, "error: %s%s%s: %s\n", error.reason.c_str(), error.field.empty() ? "" : ": ",
               error.field.c_str(), error.message.c_str());
  return exit_code(error);
}

// False, with a message, when the text is no duration.
bool read_duration(const char* option, const std::string& text, rota::Millis& out) {
  auto parsed = rota::base::parse_duration(text);
  if (!parsed) {
    std::fprintf(stderr, "error: %s: %s\n", option, parsed.error().message.c_str());
    return false;
  }
  out = rota::Millis(*parsed);
  return true;
}

int run_exec(const Arguments& arguments) {
  rota::Millis ttl{0}, drain{0}, wait{0};
  if (!read_duration("--lease-ttl", arguments.lease_ttl, ttl) ||
      !read_duration("--drain", arguments.drain, drain) ||
      (!arguments.wait_for_server.empty() &&
       !read_duration("--wait-for-server", arguments.wait_for_server, wait))) {
    return kExitUsage;
  }
  const rota::ClientOptions options = {
      .address = arguments.server, .name_space = arguments.name_space, .log = print_log};
  {
    auto raw = rota::internal::RawClient::create(options);
    if (!raw) return fail(raw.error());
    if (auto up = raw->wait_for_server(wait); !up) return fail(up.error());
  }
  auto client = rota::Client::create(options);
  if (!client) return fail(client.error());
  auto exec = std::make_shared<rota::worker::ExecHandler>(arguments.command,
                                                          rota::internal::stop_grace(ttl));
  rota::Worker worker(*client, {.queues = arguments.queues,
                                .concurrency = arguments.concurrency,
                                .lease_ttl = ttl,
                                .drain = drain,
                                .id = arguments.id});
  worker.handle_any([exec](rota::Context& context) { return (*exec)(context); });
  g_worker = &worker;
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  sigaction(SIGINT, &interrupt, nullptr);
  auto ended = worker.run();
  signal(SIGINT, SIG_DFL);
  return ended ? kExitOk : fail(ended.error());
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  CLI::App app("Runs a command for each job that a Rota server gives out.", "rota-worker");
  app.set_version_flag("--version", "rota-worker " ROTA_VERSION);
  app.require_subcommand(1);
  CLI::App* exec = app.add_subcommand("exec", "Run COMMAND for each job of the queues");
  exec->footer(kExamples);
  exec->add_option("--queue", arguments.queues, "Queue to take jobs from; may be repeated")
      ->required()
      ->take_all()
      ->allow_extra_args(false);
  exec->add_option("--concurrency", arguments.concurrency, "Commands at once")
      ->capture_default_str();
  exec->add_option("--lease-ttl", arguments.lease_ttl,
                   "How long the server waits for a sign of life, 5s to 1h")
      ->capture_default_str();
  exec->add_option("--drain", arguments.drain, "How long commands may go on after SIGTERM")
      ->capture_default_str();
  exec->add_option("--server", arguments.server,
                   "HOST:PORT (default: ROTA_ADDRESS, else 127.0.0.1:7500)");
  exec->add_option("--namespace", arguments.name_space, "Namespace (default: default)");
  exec->add_option("--wait-for-server", arguments.wait_for_server,
                   "How long to wait for the server at the start (default: not at all)");
  exec->add_option("--id", arguments.id, "Name shown to people (default: HOST-PID)");
  exec->add_option("COMMAND", arguments.command, "Command and its arguments, after --")->required();
  exec->positionals_at_end();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kExitOk : kExitUsage;
  }
  return run_exec(arguments);
}
