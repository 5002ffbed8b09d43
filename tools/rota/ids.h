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

// `ids` with "-" replaced by the lines of the descriptor `in`, without blanks around them; of
// empty lines nothing is left. An error when it cannot be read, or a line is longer than any id.
Result<std::vector<std::string>> expand_ids(const std::vector<std::string>& ids, int in = 0);

// One command over several ids, one after the other. The exit code of the first that failed; all
// are tried.
int for_each_id(Context& context, const Result<std::vector<std::string>>& ids,
                const std::function<int(const std::string& id)>& run);

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
int call_for_each_id(Context& context, const Result<std::vector<std::string>>& ids,
                     const IdCalls<Request, Response>& calls) {
  if (!ids) return context.fail(ids.error());
  const bool many = ids->size() != 1;
  if (ids->empty()) {
    context.out.begin_many();
    context.out.end_many();
    return kExitOk;
  }
  auto client = context.client();
  if (!client) return context.fail(client.error());
  if (many) context.out.begin_many();

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
  std::size_t sent = 0, shown = 0, unreached = 0;
  while (shown < ids->size()) {
    while (!away && sent < ids->size() && in_flight.size() < kIdCallsInFlight) send((*ids)[sent++]);
    if (in_flight.empty()) break;
    if (in_flight.front().wait_for(std::chrono::seconds(0)) != std::future_status::ready) {
      std::fflush(context.out.out());  // what is known is seen while the rest is waited for
    }
    const Result<Response> answer = in_flight.front().get();
    in_flight.pop_front();
    const std::string& id = (*ids)[shown++];
    if (answer) {
      calls.show(id, *answer);
      continue;
    }
    const Error& error = answer.error();
    if (away && error.reason == "SERVER_UNREACHABLE" && !error.may_have_happened) {
      ++unreached;  // said once
      continue;
    }
    code.add(context.fail(many ? with_id(error, id) : error));
    if (error.code == Code::kUnavailable) away = true;
  }
  if (many) context.out.end_many();
  unreached += ids->size() - shown;
  if (unreached > 0) {
    context.out.note(std::to_string(unreached) + " of " + std::to_string(ids->size()) +
                     " ids were not tried");
  }
  return code.code();
}

}  // namespace rota::cli
