// SPDX-License-Identifier: Apache-2.0
// rota-worker: runs a command for each job of some queues.
#include <signal.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/duration.h"
#include "base/limits.h"
#include "base/names.h"
#include "base/standard_files.h"
#include "base/suggest.h"
#include "base/utf8.h"
#include "bin/child.h"
#include "bin/exec_handler.h"
#include "internal/raw_client.h"
#include "rota/version.h"
#include "rota/worker.h"
#include "src/lease_clock.h"
#include "src/options.h"

namespace {

constexpr int kExitOk = 0, kExitOther = 1, kExitUsage = 2, kExitUnavailable = 6;

constexpr const char* kExamples = R"(Examples:
  rota-worker exec --queue mail -- ./send-mail
  rota-worker exec --queue invoices --queue reports --concurrency 8 -- python3 run.py

Each job runs COMMAND once. Its payload is on standard input; ROTA_JOB_ID, ROTA_ATTEMPT,
ROTA_FENCING_TOKEN, ROTA_QUEUE, ROTA_KIND, ROTA_BUSINESS_KEY, ROTA_SCHEDULER_ID, ROTA_NOMINAL_TIME,
ROTA_BUSINESS_DATE and ROTA_IDEMPOTENCY_KEY are in its environment, and ROTA_ADDRESS is this worker's
server, so that rota asks the same one. Exit code 0: succeeded, the first 256 KiB of standard output are
the result. 75: comes again after the back-off, uses no attempt. Anything else, or a signal: failed,
retried by the queue's policy; so is a COMMAND that cannot be found or executed. While the machine is
short of processes, memory or descriptors, jobs are put off and use no attempt.

On cancel, timeout and loss of the lease COMMAND and all of its process group get TERM, then KILL; what
the command leaves running in its group when it ends gets KILL too. On TERM, COMMAND should leave
everything so that the job can be done again, and end within the fifth part of --lease-ttl, at most 5s.
Whatever code it then ends with, 0 too, is no success and the job is done again; on cancel 0 still is
one, and anything else makes the job CANCELLED.
SIGTERM, SIGINT and SIGHUP end the worker: running commands may finish, and those that still run when only the
time to end is left of --drain get TERM and are given back, which uses no attempt.

Exit codes: 0 ended by such a signal, 1 other errors, 2 bad arguments, 3 not found, 4 conflict,
5 denied, 6 the server cannot be reached.
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

// "lease_ttl" -> "--lease-ttl"; what is no option of exec stays as it is. An address that was not
// given here came from the environment.
std::string flag_of(const CLI::App& exec, const std::string& field) {
  std::string flag = "--" + (field == "queues" ? "queue" : field);
  std::replace(flag.begin(), flag.end(), '_', '-');
  if (field == "address") {
    if (exec.get_option("--server")->count() == 0) return "ROTA_ADDRESS";
    flag = "--server";
  }
  if (field == "worker.worker_id") flag = "--id";
  return exec.get_option_no_throw(flag) == nullptr ? field : flag;
}

int fail(const CLI::App& exec, rota::Error error) {
  // The server's messages begin with the field.
  if (!error.field.empty() && error.message.rfind(error.field + ": ", 0) == 0) {
    error.message.erase(0, error.field.size() + 2);
  }
  error.field = flag_of(exec, error.field);
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
  if (*parsed > rota::base::limits::kAttemptTimeoutMsMax) {
    std::fprintf(stderr, "error: %s: %s is more than 30 days\n", option, text.c_str());
    return false;
  }
  out = rota::Millis(*parsed);
  return true;
}

int refuse(const std::string& text) {
  std::fprintf(stderr, "error: %s\n  rota-worker exec --help shows the usage\n", text.c_str());
  return kExitUsage;
}

// What stands before COMMAND and is no option.
int refuse_unknown(const CLI::App& exec, const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  std::vector<std::string> known;
  for (const CLI::Option* option : exec.get_options()) {
    for (const std::string& own : option->get_lnames()) known.push_back("--" + own);
  }
  const std::string_view near = rota::base::closest(name, {known.begin(), known.end()});
  std::string text = "unknown option " + rota::base::quoted(name);
  if (!near.empty()) text += "; did you mean " + std::string(near) + "?";
  return refuse(text +
                "\n  options of COMMAND stand after --: rota-worker exec --queue Q -- COMMAND " +
                name);
}

// 0, or the exit code for a value that cannot be meant.
int check_values(const CLI::App& exec) {
  for (const CLI::Option* option : exec.get_options()) {
    if (option->get_lnames().empty()) continue;
    for (const std::string& value : option->results()) {
      if (!value.empty() && rota::base::is_utf8(value)) continue;
      return refuse("--" + option->get_lnames().front() +
                    (value.empty() ? ": must not be empty" : ": is not UTF-8"));
    }
  }
  return kExitOk;
}

// What can be known to be wrong before the server is asked.
rota::Result<rota::Ok> check_early(const Arguments& arguments, const rota::WorkerOptions& options) {
  if (auto ok = rota::internal::check(options); !ok) return ok;
  rota::Error error;
  error.code = rota::Code::kInvalid;
  if (!arguments.name_space.empty()) {
    if (auto fault = rota::base::check_name("namespace", arguments.name_space)) {
      error.reason = "INVALID_FIELD";
      error.field = "namespace";
      error.message = std::move(fault->message);
      return error;
    }
  }
  return rota::Ok{};
}

// It may come; until then each job fails, and the log says so now and not only then.
void warn_of_missing(const std::string& command) {
  const int fault = rota::worker::command_fault(command);
  if (fault == 0) return;
  std::string line = "COMMAND " + rota::base::quoted(command, 400) + ": " + std::strerror(fault);
  if (fault == ENOENT && command.find('/') == std::string::npos) line += " on the PATH";
  print_log(2, line + "; until that changes each attempt fails");
}

void print_start(const std::string& address, const rota::WorkerOptions& options) {
  std::string line = "started: server " + address + ", queues ";
  for (const std::string& queue : options.queues) {
    if (&queue != &options.queues.front()) line += ' ';
    line += queue;
  }
  line += ", concurrency " + std::to_string(options.concurrency) + ", id " + options.id;
  print_log(1, line);
}

int run_exec(const CLI::App& exec_options, const Arguments& arguments) {
  rota::Millis ttl{0}, drain{0}, wait{0};
  if (!read_duration("--lease-ttl", arguments.lease_ttl, ttl) ||
      !read_duration("--drain", arguments.drain, drain) ||
      (!arguments.wait_for_server.empty() &&
       !read_duration("--wait-for-server", arguments.wait_for_server, wait))) {
    return kExitUsage;
  }
  const rota::WorkerOptions worker_options =
      rota::internal::with_defaults({.queues = arguments.queues,
                                     .concurrency = arguments.concurrency,
                                     .lease_ttl = ttl,
                                     .drain = drain,
                                     .id = arguments.id});
  if (auto ok = check_early(arguments, worker_options); !ok) return fail(exec_options, ok.error());
  const rota::ClientOptions options = {
      .address = arguments.server, .name_space = arguments.name_space, .log = print_log};
  // Before the first thread is started.
  const auto guard = rota::worker::GroupGuard::start();
  if (!guard) return fail(exec_options, guard.error());
  std::string address;
  {
    auto raw = rota::internal::RawClient::create(options);
    if (!raw) return fail(exec_options, raw.error());
    address = raw->address();
    if (auto up = raw->wait_for_server(wait); !up) return fail(exec_options, up.error());
  }
  auto client = rota::Client::create(options);
  if (!client) return fail(exec_options, client.error());
  auto exec = std::make_shared<rota::worker::ExecHandler>(
      arguments.command, rota::internal::stop_grace(ttl),
      std::vector<std::string>{"ROTA_ADDRESS=" + address}, print_log, &*guard);
  rota::Worker worker(*client, worker_options);
  worker.handle_any([exec](rota::Context& context) { return (*exec)(context); });
  g_worker = &worker;
  struct sigaction interrupt {};
  interrupt.sa_handler = on_interrupt;
  sigaction(SIGINT, &interrupt, nullptr);
  struct sigaction hangup {};
  sigaction(SIGHUP, nullptr, &hangup);
  const bool hangs_up = hangup.sa_handler != SIG_IGN;  // not under nohup
  if (hangs_up) sigaction(SIGHUP, &interrupt, nullptr);
  print_start(address, worker_options);
  warn_of_missing(arguments.command.front());
  auto ended = worker.run();
  signal(SIGINT, SIG_DFL);
  if (hangs_up) signal(SIGHUP, SIG_DFL);
  return ended ? kExitOk : fail(exec_options, ended.error());
}

}  // namespace

int main(int argc, char** argv) {
  rota::base::occupy_standard_files();
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
  exec->add_option("--drain", arguments.drain,
                   "How long after SIGTERM until all have ended, the time after TERM included")
      ->capture_default_str();
  exec->add_option("--server", arguments.server,
                   "HOST:PORT (default: ROTA_ADDRESS, else 127.0.0.1:7500)");
  exec->add_option("--namespace", arguments.name_space, "Namespace (default: default)");
  exec->add_option("--wait-for-server", arguments.wait_for_server,
                   "How long to wait for the server at the start (default: not at all)");
  exec->add_option("--id", arguments.id, "Name shown to people (default: HOST-PID)");
  exec->add_option("COMMAND", arguments.command, "Command and its arguments, after --");
  exec->positionals_at_end();
  // Kept, so that a suggestion can be made for what is unknown.
  exec->allow_extras();

  // What stands after the first -- is COMMAND, whatever it looks like.
  std::vector<std::string> words(argv + 1, argv + argc);
  const auto dashes = std::find(words.begin(), words.end(), "--");
  const std::vector<std::string> command(dashes == words.end() ? dashes : dashes + 1, words.end());
  words.erase(dashes, words.end());
  if (words.empty() || (words.front() != "exec" && !words.front().starts_with('-'))) {
    return refuse(words.empty()
                      ? "exec is missing: rota-worker exec --queue Q -- COMMAND"
                      : "unknown word " + rota::base::quoted(words.front()) + "; there is exec");
  }
  std::reverse(words.begin(), words.end());  // the order that CLI11 takes them in
  try {
    app.parse(words);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // help, version
    const auto extras = exec->remaining();
    return extras.empty() ? refuse(error.what()) : refuse_unknown(*exec, extras.front());
  }
  if (const auto extras = exec->remaining(); !extras.empty()) {
    return refuse_unknown(*exec, extras.front());
  }
  arguments.command.insert(arguments.command.end(), command.begin(), command.end());
  if (arguments.command.empty()) return refuse("COMMAND is missing; it stands after --");
  if (const int code = check_values(*exec); code != kExitOk) return code;
  return run_exec(*exec, arguments);
}
