// SPDX-License-Identifier: Apache-2.0
//
// Page tokens: where a listing goes on. Opaque to callers; a checksum finds damage, and a
// fingerprint of the listing with all its other arguments finds a token used elsewhere.
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

}  // namespace rota::rpc
