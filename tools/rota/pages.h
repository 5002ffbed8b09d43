// SPDX-License-Identifier: Apache-2.0
// Listings: page after page until the end or a limit, in the chosen form of output.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>

#include "base/limits.h"
#include "rota/context.h"
#include "rota/text.h"

namespace rota::cli {

// How a listing is fetched and shown. `Response` has `next_page_token` and a repeated field.
template <class Response>
struct Listing {
  std::int64_t limit = 100;  // items at most; 0: all
  std::string page_token{};  // where to begin: that of an earlier answer; empty: at the first item
  // One page.
  std::function<Result<Response>(std::int32_t page_size, const std::string& page_token)> fetch;
  // The items of a page.
  std::function<int(const Response&)> count;
  std::function<const google::protobuf::Message&(const Response&, int)> item;
  std::function<std::string(const Response&, int)> name;
  // The header of the table, and the cells of one item.
  std::vector<std::string> header;
  std::function<std::vector<std::string>(const Response&, int)> cells;
  std::string nothing;  // for people, on standard error, when the list is empty
};

// The options of a listing: --limit, with its default in `limit`, and --page-token.
template <class Arguments>
void add_paging(CLI::App& app, Arguments& arguments, const std::string& limit_help) {
  app.add_option("--limit", arguments.limit, limit_help)->capture_default_str();
  app.add_option("--page-token", arguments.page_token,
                 "Go on where an answer in json ended: its nextPageToken, with the same filters");
}

// The exit code. In json all pages become one response, whose nextPageToken is empty unless the
// limit cut the list; the other forms write each page as it comes.
template <class Response>
int show_list(Context& context, const Listing<Response>& listing) {
  Output& out = context.out;
  if (listing.limit < 0) {
    return context.fail(
        usage_error("--limit", std::to_string(listing.limit) + ", must be 0 (all) or more"));
  }
  Response all;
  std::string token = listing.page_token;
  std::int64_t shown = 0;
  while (true) {
    const std::int64_t left =
        listing.limit == 0 ? base::limits::kPageSizeMax : listing.limit - shown;
    const auto size =
        static_cast<std::int32_t>(std::min<std::int64_t>(left, base::limits::kPageSizeMax));
    auto page = listing.fetch(size, token);
    if (!page) return context.fail(page.error());
    token = page->next_page_token();
    const int count = listing.count(*page);
    Table table(listing.header);
    for (int i = 0; i < count; ++i) {
      if (out.form == Form::kTable) table.add(listing.cells(*page, i));
      if (out.form == Form::kName) out.write(listing.name(*page, i) + "\n");
      if (out.form == Form::kJsonl) out.write(to_json(listing.item(*page, i), false) + "\n");
    }
    if (out.form == Form::kTable && !table.empty()) out.write(table.text(shown == 0));
    shown += count;
    if (out.form == Form::kJson) all.MergeFrom(*page);
    if (token.empty() || (listing.limit != 0 && shown >= listing.limit)) break;
  }
  if (out.form == Form::kJson) {
    all.set_next_page_token(token);
    out.write(to_json(all, true) + "\n");
  } else if (out.form == Form::kTable) {
    if (shown == 0) out.note(listing.page_token.empty() ? listing.nothing : "nothing more");
    if (!token.empty()) {
      out.note("there are more: --limit raises the limit, --limit 0 shows all");
    }
  }
  return kExitOk;
}

}  // namespace rota::cli
