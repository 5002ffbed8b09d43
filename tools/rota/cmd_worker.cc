// SPDX-License-Identifier: Apache-2.0
// `rota worker`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "base/utf8.h"
#include "rota/command_line.h"
#include "rota/pages.h"
#include "rota/worker_view.h"

namespace rota::cli {
namespace {

using internal::RawClient;

struct ListArguments {
  std::string queue, page_token;
  std::int64_t limit = 1'000;
};

int run_list(Context& context, const ListArguments& arguments) {
  using Page = v1::ListWorkersResponse;
  Listing<Page> listing;
  listing.limit = arguments.limit;
  listing.page_token = arguments.page_token;
  listing.fetch = [&](std::int32_t size, const std::string& token) {
    v1::ListWorkersRequest request;
    request.set_queue(arguments.queue);
    request.set_page_size(size);
    request.set_page_token(token);
    return call(context, std::move(request), &RawClient::list_workers);
  };
  listing.count = [](const Page& page) { return page.workers_size(); };
  listing.item = [](const Page& page, int i) -> const google::protobuf::Message& {
    return page.workers(i);
  };
  listing.name = [](const Page& page, int i) { return page.workers(i).info().worker_id(); };
  listing.header = worker_header();
  listing.cells = [&](const Page& page, int i) {
    View view = context.out.view;  // times are the server's: this machine's clock may differ
    if (page.has_server_time()) view.now_ms = to_ms(page.server_time());
    return worker_cells(page.workers(i), view);
  };
  listing.nothing = arguments.queue.empty()
                        ? "no worker has asked since the server's start"
                        : fmt::format("no worker has asked for queue {} since the server's start",
                                      base::quoted(arguments.queue));
  return show_list(context, listing);
}

Action define_list(CLI::App& app, Context& context) {
  auto arguments = std::make_shared<ListArguments>();
  app.add_option("-q,--queue", arguments->queue, "Only workers that asked for this queue");
  add_paging(app, *arguments, "Workers at most; 0: all");
  return [arguments, &context] { return run_list(context, *arguments); };
}

constexpr Verb kVerbs[] = {
    {"list",
     "List the workers heard of within the hour, with the jobs they hold of the slots they have",
     "  rota worker list\n"
     "  rota worker list --queue invoices -o json\n",
     define_list},
};

}  // namespace

std::span<const Verb> worker_verbs() { return kVerbs; }

}  // namespace rota::cli
