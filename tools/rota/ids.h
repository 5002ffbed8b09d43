// SPDX-License-Identifier: Apache-2.0
// Commands over several ids, given as arguments or on standard input.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/utf8.h"
#include "rota/context.h"

namespace rota::cli {

// The ids that a command is about.
struct JobIds {
  std::vector<std::string> all;
  // Whether the answer is a list: two arguments or more, or standard input, however little it had.
  // Each id has its element in json and jsonl then, one that was refused too.
  bool many = false;
};

// `ids` with "-" replaced by the lines of the descriptor `in`, without blanks around them; of
// empty lines nothing is left. An error when it cannot be read, or a line is longer than any id.
Result<JobIds> expand_ids(const std::vector<std::string>& ids, int in = 0);

// One command over several ids, one after the other. The exit code of the first that failed; all
// are tried.
int for_each_id(Context& context, const Result<JobIds>& ids,
                const std::function<int(const std::string& id)>& run);

// One of `ids` failed: its error on standard error, and as its element where they are many.
// Returns the error's exit code.
int fail_one(Context& context, const JobIds& ids, const std::string& id, const Error& error);

// The elements of the ids from place `from` on, which no server was asked about because of
// `stopped`.
void show_untried(Context& context, const JobIds& ids, std::size_t from, const Error& stopped);

// What was wrong with one of several ids, with the id in the message where that does not have it.
Error with_id(Error error, const std::string& id);

// One call for each of several ids.
template <class Request, class Response>
struct IdCalls {
  std::function<Request(const std::string& id)> request;  // its namespace is filled in
  void (internal::RawClient::*send)(Request, internal::CallOptions,
                                    std::function<void(Result<Response>)>);
  std::function<void(const std::string& id, const Response&)> show;
};

// Sends up to kIdCallsInFlight calls at once and shows the answers in the order of the ids. All are
// tried, unless the server turns out to be away: then nothing more is sent, and how many ids never
// reached it is said in one line. The exit code of the first id that failed.
inline constexpr std::size_t kIdCallsInFlight = 64;

template <class Request, class Response>
int call_for_each_id(Context& context, const Result<JobIds>& ids,
                     const IdCalls<Request, Response>& calls) {
  if (!ids) return context.fail(ids.error());
  const std::vector<std::string>& all = ids->all;
  if (all.empty()) {
    context.out.begin_many();
    context.out.end_many();
    return kExitOk;
  }
  auto client = context.client();
  if (!client) return context.fail(client.error());
  if (ids->many) context.out.begin_many();

  std::deque<std::future<Result<Response>>> in_flight;
  const auto send = [&](const std::string& id) {
    auto answer = std::make_shared<std::promise<Result<Response>>>();
    in_flight.push_back(answer->get_future());
    if (!base::is_utf8(id)) {  // from standard input
      answer->set_value(usage_error("JOB", base::quoted(id) + " is not UTF-8"));
      return;
    }
    Request request = calls.request(id);
    request.set_namespace_(context.name_space());
    ((*client)->*calls.send)(std::move(request), context.call(),
                             [answer](Result<Response> got) { answer->set_value(std::move(got)); });
  };

  FirstFailure code;
  bool away = false;
  Error stopped;  // what it was known by
  std::size_t sent = 0, shown = 0, unreached = 0;
  while (shown < all.size()) {
    while (!away && sent < all.size() && in_flight.size() < kIdCallsInFlight) send(all[sent++]);
    if (in_flight.empty()) break;
    if (in_flight.front().wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      std::fflush(context.out.out());  // what is known is seen while the rest is waited for
    }
    const Result<Response> answer = in_flight.front().get();
    in_flight.pop_front();
    const std::string& id = all[shown++];
    if (answer) {
      calls.show(id, *answer);
      continue;
    }
    const Error& error = answer.error();
    if (away && error.reason == "SERVER_UNREACHABLE" && !error.may_have_happened) {
      ++unreached;  // said once on standard error
      context.out.show_refused(id, context.in_words_of_command(error));
      continue;
    }
    code.add(fail_one(context, *ids, id, error));
    if (error.code == Code::kUnavailable) {
      away = true;
      stopped = error;
    }
  }
  show_untried(context, *ids, shown, stopped);
  if (ids->many) context.out.end_many();
  unreached += all.size() - shown;
  if (unreached > 0) {
    context.out.note(std::to_string(unreached) + " of " + std::to_string(all.size()) +
                     " ids were not tried");
  }
  return code.code();
}

}  // namespace rota::cli
