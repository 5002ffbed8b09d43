// SPDX-License-Identifier: Apache-2.0
#include "rota/context.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>

#include "base/utf8.h"
#include "rota/fields.h"

namespace rota::cli {
namespace {

Result<std::optional<Millis>> read_optional_span(const char* option, const std::string& text) {
  if (text.empty()) return std::optional<Millis>();
  auto span = read_span(option, text);
  if (!span) return std::move(span).error();
  return std::optional<Millis>(Millis(*span));
}

// "queue" of "queue: no queue "mail""; empty when the text does not begin so.
std::string leading_field(std::string_view message) {
  const std::size_t end = message.find_first_not_of("abcdefghijklmnopqrstuvwxyz_.");
  if (end == 0 || end == std::string_view::npos || message.substr(end, 2) != ": ") return {};
  return std::string(message.substr(0, end));
}

bool wants_color(const std::string& choice, std::FILE* file) {
  if (choice == "always") return true;
  if (choice == "never") return false;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  if (no_color != nullptr && *no_color != '\0') return false;
  if (terminal == nullptr || std::string_view(terminal) == "dumb") return false;
  return isatty(fileno(file)) == 1;
}

}  // namespace

std::int64_t wall_now_ms() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1000 + now.tv_nsec / 1'000'000;
}

Result<Ok> Context::prepare() {
  auto form = parse_form(globals.output);
  if (!form) return std::move(form).error();
  out.form = *form;
  if (globals.color != "auto" && globals.color != "always" && globals.color != "never") {
    return usage_error("--color", base::quoted(globals.color) + " is none of auto, always, never");
  }
  out.view = {.now_ms = wall_now_ms(), .color = wants_color(globals.color, out.out())};
  out.err_color = wants_color(globals.color, out.err());
  auto timeout = read_optional_span("--timeout", globals.timeout);
  if (!timeout) return std::move(timeout).error();
  timeout_ = *timeout;
  auto wait = read_optional_span("--wait-for-server", globals.wait_for_server);
  if (!wait) return std::move(wait).error();
  wait_ = wait->value_or(Millis(0));
  return Ok{};
}

Result<internal::RawClient*> Context::client() {
  if (client_) return &*client_;
  ClientOptions options;
  options.address = globals.server;
  options.name_space = globals.name_space;
  if (timeout_) options.timeout = *timeout_;
  auto made = internal::RawClient::create(options);
  if (!made) {
    Error error = std::move(made).error();
    if (error.field == "address")
      error.field = globals.server.empty() ? "ROTA_ADDRESS" : "--server";
    if (error.field == "timeout") error.field = "--timeout";
    return error;
  }
  if (wait_ > Millis(0)) {
    if (auto up = made->wait_for_server(wait_); !up) return std::move(up).error();
  }
  client_.emplace(*std::move(made));
  return &*client_;
}

internal::CallOptions Context::call(Millis extra) const {
  internal::CallOptions options;
  options.timeout = timeout_.value_or(Millis(10'000)) + extra;
  if (wait_ > *options.timeout) options.timeout = wait_ + extra;
  options.repeat_refused = wait_ > Millis(0);
  return options;
}

Error Context::in_words_of_command(const Error& error) const {
  Error shown = error;
  drop_repeated_field(&shown);
  if (flag_of) {
    // Messages about things that are not there, or in the wrong state, begin with their field.
    const bool named = !shown.field.empty();
    const std::string field = named ? shown.field : leading_field(shown.message);
    const std::string flag = flag_of(field);
    if (!named && flag != field) shown.message.erase(0, field.size() + 2);
    if (named || flag != field) shown.field = flag;
    shown.message = rename_fields(shown.message, flag_of);
    if (flag_of("request_id") == "request_id") shown.request_id.clear();  // no way to give it
  }
  return shown;
}

int Context::fail(const Error& error) {
  out.error(in_words_of_command(error));
  return exit_code(error);
}

Result<Ok> Context::confirm(const std::string& what) {
  if (yes) return Ok{};
  if (isatty(STDIN_FILENO) != 1 || isatty(fileno(out.err())) != 1) {
    return usage_error("--yes", "must be given where nobody can be asked: " + what);
  }
  std::fflush(out.out());
  std::fprintf(out.err(), "%s. Go on? [y/N] ", what.c_str());
  std::fflush(out.err());
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return Ok{};
  Error error;
  error.code = Code::kInternal;
  error.reason = "NOT_CONFIRMED";
  error.message = "nothing was changed";
  return error;
}

}  // namespace rota::cli
