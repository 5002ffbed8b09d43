// SPDX-License-Identifier: Apache-2.0
// What every command shares: the global options, the connection, the output.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "internal/raw_client.h"
#include "rota/exit_code.h"
#include "rota/output.h"

namespace rota::cli {

// As given on the command line, unread.
struct GlobalOptions {
  std::string server, name_space, output = "table", color = "auto", timeout, wait_for_server;
};

class Context {
 public:
  Context(std::FILE* data, std::FILE* messages) : out(data, messages) {}

  GlobalOptions globals{};
  Output out;
  bool yes = false;  // --yes of the command that has it
  // The option of the running command that fills a field of the API.
  std::function<std::string(std::string_view field)> flag_of{};

  // Reads the global options. Before anything else.
  Result<Ok> prepare();

  // The connection; made at the first call, when it also waits for the server if that was asked
  // for. The error of an option, or of a server that did not come.
  Result<internal::RawClient*> client();

  // For one call: --timeout, and whether a refused connection is waited for. `extra` is time that
  // the server may take on request (a long poll).
  internal::CallOptions call(Millis extra = Millis(0)) const;
  const std::string& name_space() const { return globals.name_space; }

  // --wait-for-server; 0: a refused connection is reported at once.
  Millis wait_for_server() const { return wait_; }
  // --timeout, or `fallback`.
  Millis timeout_or(Millis fallback) const { return timeout_.value_or(fallback); }

  // The error as the user of the command is told it: with options in place of fields.
  Error in_words_of_command(const Error& error) const;
  // Writes it so on standard error; returns its exit code.
  int fail(const Error& error);

  // Asks on a terminal whether to go on with `what` ("purge queue \"mail\": 12 jobs"). Ok when
  // --yes was given or the answer is yes; refused where nobody can be asked.
  Result<Ok> confirm(const std::string& what);

 private:
  std::optional<Millis> timeout_;
  Millis wait_{0};
  std::optional<internal::RawClient> client_;
};

// The wall clock.
std::int64_t wall_now_ms();

// --- calls ---------------------------------------------------------------------------------------

// Sends `request` by one method of the client, with the namespace filled in:
//   auto answer = call(context, request, &RawClient::get_job);
template <class Request, class Response>
Result<Response> call(Context& context, Request request,
                      Result<Response> (internal::RawClient::*method)(Request,
                                                                      internal::CallOptions),
                      Millis extra = Millis(0)) {
  auto client = context.client();
  if (!client) return std::move(client).error();
  request.set_namespace_(context.name_space());
  return ((*client)->*method)(std::move(request), context.call(extra));
}

}  // namespace rota::cli
