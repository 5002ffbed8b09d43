// SPDX-License-Identifier: Apache-2.0
//
// Page tokens. Input: two listings' fingerprints and a position, each with its length, a byte to
// change in the token, and the rest as a token of its own.
#include "rpc/page_token.h"
#include "base/limits.h"
#include "fuzz/fuzz.h"

namespace {

using namespace rota;

void check_refused(std::string_view fingerprint, const std::string& token, const char* why) {
  const auto read = rpc::read_page_token(fingerprint, token);
  FUZZ_CHECK(!read, std::string(why) + ": " + token);
  FUZZ_CHECK(read.error().reason == base::Reason::kInvalidPageToken &&
                 read.error().field == "page_token" && !read.error().message.empty(),
             base::to_string(read.error()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const std::string_view mine = input.text();
  const std::string_view other = input.text();
  const std::string_view position = input.text();
  const std::size_t at = input.byte();
  const char wrong = static_cast<char>(input.byte());

  const std::string token = rpc::make_page_token(mine, position);
  if (position.empty()) {
    check_refused(mine, token, "a token without a position");
  } else {
    const auto read = rpc::read_page_token(mine, token);
    FUZZ_CHECK(read && *read == position, "not read back: " + token);
  }
  if (other != mine) check_refused(other, token, "a token of another listing");
  std::string bad = token;
  bad[at % bad.size()] = wrong;
  if (bad != token) check_refused(mine, bad, "a damaged token");
  if (at % token.size() > 0) check_refused(mine, token.substr(0, at % token.size()), "a cut token");
  check_refused(mine, token + wrong, "a token with something behind it");

  const std::string_view text = input.rest();
  if (const auto read = rpc::read_page_token(mine, text); read && !text.empty()) {
    FUZZ_CHECK(rpc::make_page_token(mine, *read) == text, "two tokens for one position");
  }
  return 0;
}
