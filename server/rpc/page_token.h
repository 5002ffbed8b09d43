// SPDX-License-Identifier: Apache-2.0
//
// Page tokens: where a listing goes on. Opaque to callers; a checksum finds damage, and a
// fingerprint of the listing with all its other arguments finds a token used elsewhere. Neither is
// a secret, so anybody can make a token: a listing checks that its position is one of its own.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <google/protobuf/message_lite.h>

#include "base/error.h"

namespace rota::rpc {

// The fingerprint of a request: the listing's name and all fields. Clear page size and page token
// first.
std::string listing_fingerprint(std::string_view listing,
                                const google::protobuf::MessageLite& arguments);

// The same bytes for the same message, maps included; for fingerprints only.
std::string stable_bytes(const google::protobuf::MessageLite& message);

// `position` is the listing's own; letters, digits, - and _ come out.
std::string make_page_token(std::string_view fingerprint, std::string_view position);

// Of a position that is none of the listing's: INVALID_PAGE_TOKEN.
base::Error not_of_this_listing();

// The position; empty for an empty token (the first page). INVALID_PAGE_TOKEN for anything that
// make_page_token() did not make with this fingerprint.
base::Result<std::string> read_page_token(std::string_view fingerprint, std::string_view token);

// 0 means the default, more than the most means the most, negative: INVALID_FIELD.
base::Result<int> page_size(std::int32_t asked);

// Fingerprint of a listing's request, which has the fields page_size, page_token and namespace.
template <class Request>
std::string request_fingerprint(std::string_view listing, Request request) {
  request.clear_page_size();
  request.clear_page_token();
  if (request.namespace_().empty()) request.set_namespace_("default");
  return listing_fingerprint(listing, request);
}

// The page that a listing's request asks for.
struct Page {
  int size = 0;
  std::string position;  // behind which it begins; empty: at the begin
  std::string fingerprint;

  std::string token(std::string_view next_position) const {
    return make_page_token(fingerprint, next_position);
  }
};

// Every listing begins with it. INVALID_FIELD for the size, INVALID_PAGE_TOKEN for the token.
template <class Request>
base::Result<Page> page_of(std::string_view listing, const Request& request) {
  const auto size = page_size(request.page_size());
  if (!size) return size.error();
  Page page{.size = *size, .position = {}, .fingerprint = request_fingerprint(listing, request)};
  auto position = read_page_token(page.fingerprint, request.page_token());
  if (!position) return position.error();
  page.position = *std::move(position);
  return page;
}

}  // namespace rota::rpc
