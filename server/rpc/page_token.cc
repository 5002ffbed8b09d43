// SPDX-License-Identifier: Apache-2.0
#include "rpc/page_token.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <algorithm>
#include <array>
#include <optional>

#include "base/hash.h"
#include "base/limits.h"
#include "model/bytes.h"

namespace rota::rpc {
namespace {

constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kFingerprintBytes = 16;
constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

// Base64 with the alphabet for addresses, without padding.
std::string to_text(std::string_view bytes) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : bytes) {
    bits = (bits << 8U) | static_cast<std::uint8_t>(c);
    count += 8;
    while (count >= 6) {
      count -= 6;
      out.push_back(kAlphabet[(bits >> static_cast<unsigned>(count)) & 63U]);
    }
    bits &= (1U << static_cast<unsigned>(count)) - 1U;
  }
  if (count > 0) out.push_back(kAlphabet[(bits << static_cast<unsigned>(6 - count)) & 63U]);
  return out;
}

std::optional<std::string> from_text(std::string_view text) {
  std::string out;
  std::uint32_t bits = 0;
  int count = 0;
  for (const char c : text) {
    const auto digit = kAlphabet.find(c);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = (bits << 6U) | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count >= 8) {
      count -= 8;
      out.push_back(static_cast<char>((bits >> static_cast<unsigned>(count)) & 255U));
      bits &= (1U << static_cast<unsigned>(count)) - 1U;
    }
  }
  if (bits != 0 || count >= 6) return std::nullopt;  // bits and digits that no encoder leaves
  return out;
}

base::Error bad_token() {
  return base::make_error(
      base::Reason::kInvalidPageToken,
      "damaged, or from a listing with other arguments; begin again without one", "page_token");
}

}  // namespace

std::string stable_bytes(const google::protobuf::MessageLite& message) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return out;
}

std::string listing_fingerprint(std::string_view listing,
                                const google::protobuf::MessageLite& arguments) {
  const auto digest = base::hash_parts({listing, stable_bytes(arguments)});
  return std::string(base::as_bytes(digest).substr(0, kFingerprintBytes));
}

std::string make_page_token(std::string_view fingerprint, std::string_view position) {
  model::Writer writer(kFormat);
  writer.str(fingerprint);
  writer.str(position);
  return to_text(writer.seal());
}

base::Error not_of_this_listing() { return bad_token(); }

base::Result<std::string> read_page_token(std::string_view fingerprint, std::string_view token) {
  if (token.empty()) return std::string();
  if (token.size() > base::limits::kPageTokenBytesMax) return bad_token();
  const auto bytes = from_text(token);
  if (!bytes) return bad_token();
  auto reader = model::Reader::open(*bytes, kFormat);
  const std::string found = reader.str();
  std::string position = reader.str();
  if (!reader.at_end() || found != fingerprint || position.empty()) return bad_token();
  return position;
}

base::Result<int> page_size(std::int32_t asked) {
  if (asked < 0) {
    return base::invalid_field(
        "page_size", "negative; 0 means " + std::to_string(base::limits::kPageSizeDefault));
  }
  if (asked == 0) return base::limits::kPageSizeDefault;
  return std::min<int>(asked, base::limits::kPageSizeMax);
}

}  // namespace rota::rpc
