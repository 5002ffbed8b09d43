// SPDX-License-Identifier: Apache-2.0
#include "rota/json_reader.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "base/utf8.h"

namespace rota::cli {
namespace {

constexpr int kDepthMax = 256;  // of brackets in a value that is passed over

// Bytes at which the plain part of a string ends: quote, backslash, controls.
constexpr std::array<bool, 256> make_stops() {
  std::array<bool, 256> stops{};
  for (std::size_t i = 0; i < 0x20; ++i) stops[i] = true;
  stops['"'] = stops['\\'] = true;
  return stops;
}
constexpr std::array<bool, 256> kStops = make_stops();

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool read_hex4(std::string_view text, std::uint32_t* out) {
  if (text.size() < 4) return false;
  const auto [end, error] = std::from_chars(text.data(), text.data() + 4, *out, 16);
  return error == std::errc() && end == text.data() + 4;
}

void append_utf8(std::uint32_t code, std::string* out) {
  const auto put = [out](std::uint32_t byte) { out->push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | code >> 6);
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3F));
    put(0x80 | (code >> 6 & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace

bool is_json_utf8(std::string_view text) {
  // Most texts are ASCII: eight bytes at a time, and the full check only from the first other one.
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, text.data() + i, 8);
    if ((word & 0x8080808080808080U) != 0) break;
  }
  while (i < text.size() && static_cast<unsigned char>(text[i]) < 0x80) ++i;
  return i == text.size() || base::is_utf8(text.substr(i));
}

bool JsonReader::fail(const char* what) {
  if (fault_ == nullptr) fault_ = what;
  return false;
}

std::string JsonReader::fault() const {
  if (fault_ == nullptr) return {};
  return std::string(fault_) + " at byte " + std::to_string(at_ + 1);
}

void JsonReader::skip_blanks() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\t' && c != '\n' && c != '\r') return;
    ++at_;
  }
}

bool JsonReader::take(char c, const char* otherwise) {
  if (fault_ != nullptr) return false;
  skip_blanks();
  if (at_ >= text_.size() || text_[at_] != c) return fail(otherwise);
  ++at_;
  return true;
}

JsonReader::Kind JsonReader::peek() {
  skip_blanks();
  if (fault_ != nullptr || at_ >= text_.size()) return Kind::kNothing;
  const char c = text_[at_];
  switch (c) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    default:
      return c == '-' || is_digit(c) ? Kind::kNumber : Kind::kNothing;
  }
}

bool JsonReader::begin_object() {
  first_ = true;
  return take('{', "expected an object");
}

bool JsonReader::next_member(std::string_view* key) {
  if (fault_ != nullptr) return false;
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == '}') {
    ++at_;
    first_ = false;
    return false;
  }
  if (!first_ && !take(',', "expected ',' or '}'")) return false;
  first_ = false;
  skip_blanks();
  std::string_view raw;
  bool has_escapes = false;
  if (at_ >= text_.size() || text_[at_] != '"') return fail("expected a name in quotes");
  if (!scan_string(&raw, &has_escapes)) return false;
  if (has_escapes) {
    key_.clear();
    if (!unescape(raw, &key_)) return false;
    raw = key_;
  }
  *key = raw;
  return take(':', "expected ':'");
}

bool JsonReader::begin_array() {
  first_ = true;
  return take('[', "expected an array");
}

bool JsonReader::next_element() {
  if (fault_ != nullptr) return false;
  skip_blanks();
  if (at_ < text_.size() && text_[at_] == ']') {
    ++at_;
    first_ = false;
    return false;
  }
  if (!first_ && !take(',', "expected ',' or ']'")) return false;
  first_ = false;
  return true;
}

bool JsonReader::scan_string(std::string_view* raw, bool* has_escapes) {
  if (!take('"', "expected a string")) return false;
  const std::size_t begin = at_;
  *has_escapes = false;
  while (true) {
    while (at_ < text_.size() && !kStops[static_cast<unsigned char>(text_[at_])]) ++at_;
    if (at_ >= text_.size()) return fail("a string without end");
    if (text_[at_] == '"') break;
    if (text_[at_] != '\\') return fail("a control character in a string");
    *has_escapes = true;
    if (at_ + 1 >= text_.size()) return fail("a string without end");
    at_ += 2;
  }
  *raw = text_.substr(begin, at_ - begin);
  ++at_;
  return true;
}

bool JsonReader::unescape(std::string_view raw, std::string* out) {
  while (!raw.empty()) {
    const std::size_t slash = raw.find('\\');
    out->append(raw.substr(0, slash));
    if (slash == std::string_view::npos) return true;
    const char c = raw[slash + 1];
    raw.remove_prefix(slash + 2);
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out->push_back(c);
        break;
      case 'b':
        out->push_back('\b');
        break;
      case 'f':
        out->push_back('\f');
        break;
      case 'n':
        out->push_back('\n');
        break;
      case 'r':
        out->push_back('\r');
        break;
      case 't':
        out->push_back('\t');
        break;
      case 'u': {
        std::uint32_t code = 0, low = 0;
        if (!read_hex4(raw, &code)) return fail("\\u without four hexadecimal digits");
        raw.remove_prefix(4);
        if (code >= 0xDC00 && code <= 0xDFFF) return fail("half of a surrogate pair");
        if (code >= 0xD800 && code <= 0xDBFF) {
          if (raw.size() < 6 || raw[0] != '\\' || raw[1] != 'u' ||
              !read_hex4(raw.substr(2), &low) || low < 0xDC00 || low > 0xDFFF) {
            return fail("half of a surrogate pair");
          }
          raw.remove_prefix(6);
          code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
        append_utf8(code, out);
        break;
      }
      default:
        return fail("an unknown escape in a string");
    }
  }
  return true;
}

bool JsonReader::read_string(std::string* out) {
  std::string_view raw;
  bool has_escapes = false;
  if (!scan_string(&raw, &has_escapes)) return false;
  if (!has_escapes) {
    out->assign(raw);
    return true;
  }
  out->clear();
  return unescape(raw, out);
}

bool JsonReader::scan_word(std::string_view word) {
  if (text_.substr(at_, word.size()) != word) return fail("expected a value");
  at_ += word.size();
  return true;
}

bool JsonReader::read_bool(bool* out) {
  if (peek() != Kind::kBool) return fail("expected true or false");
  *out = text_[at_] == 't';
  return scan_word(*out ? "true" : "false");
}

bool JsonReader::read_null() {
  if (peek() != Kind::kNull) return fail("expected null");
  return scan_word("null");
}

bool JsonReader::scan_number(std::string_view* raw) {
  if (peek() != Kind::kNumber) return fail("expected a number");
  const std::size_t begin = at_;
  const auto here = [this](char c) { return at_ < text_.size() && text_[at_] == c; };
  const auto digits = [this] {
    const std::size_t from = at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return at_ > from;
  };
  if (here('-')) ++at_;
  if (here('0')) {
    ++at_;
    if (at_ < text_.size() && is_digit(text_[at_])) return fail("a number with a leading zero");
  } else if (!digits()) {
    return fail("a number without digits");
  }
  if (here('.')) {
    ++at_;
    if (!digits()) return fail("a number without digits after its point");
  }
  if (here('e') || here('E')) {
    ++at_;
    if (here('+') || here('-')) ++at_;
    if (!digits()) return fail("a number without digits in its exponent");
  }
  *raw = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonReader::read_integer(std::int64_t* out) {
  std::string_view raw;
  if (!scan_number(&raw)) return false;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), *out);
  if (error == std::errc() && end == raw.data() + raw.size()) return true;
  double value = 0;
  const bool fits = std::from_chars(raw.data(), raw.data() + raw.size(), value).ec == std::errc();
  // Beyond 2^53 a number with a point or exponent is no longer certain to be what was meant.
  if (!fits || value != std::floor(value) || std::fabs(value) > 9007199254740992.0) {
    number_fault_ = ok();
    return fail("expected a whole number");
  }
  *out = static_cast<std::int64_t>(value);
  return true;
}

bool JsonReader::read_double(double* out) {
  std::string_view raw;
  if (!scan_number(&raw)) return false;
  const auto [end, error] = std::from_chars(raw.data(), raw.data() + raw.size(), *out);
  if (error == std::errc() && end == raw.data() + raw.size()) return true;
  number_fault_ = ok();
  return fail("a number out of range");
}

bool JsonReader::skip_value() {
  // An explicit stack of brackets, so that a hostile text cannot use up the thread's own.
  std::array<char, kDepthMax> closing{};
  int depth = 0;
  std::string_view raw;
  bool has_escapes = false, flag = false, fresh = false;
  std::string scratch;
  const auto skip_name = [&] {
    skip_blanks();
    if (!scan_string(&raw, &has_escapes)) return false;
    scratch.clear();
    if (has_escapes && !unescape(raw, &scratch)) return false;
    return take(':', "expected ':'");
  };
  while (true) {
    switch (peek()) {
      case Kind::kObject:
      case Kind::kArray:
        if (depth == kDepthMax) return fail("more than 256 brackets in one another");
        closing[static_cast<std::size_t>(depth++)] = text_[at_] == '{' ? '}' : ']';
        ++at_;
        fresh = true;
        break;
      case Kind::kString:
        if (!scan_string(&raw, &has_escapes)) return false;
        if (has_escapes) {
          scratch.clear();
          if (!unescape(raw, &scratch)) return false;
        }
        break;
      case Kind::kNumber:
        if (!scan_number(&raw)) return false;
        break;
      case Kind::kBool:
        if (!read_bool(&flag)) return false;
        break;
      case Kind::kNull:
        if (!read_null()) return false;
        break;
      case Kind::kNothing:
        return fail("expected a value");
    }
    // Close what ends here, then step to the next value inside what is still open.
    while (depth > 0) {
      const char end = closing[static_cast<std::size_t>(depth - 1)];
      skip_blanks();
      if (at_ < text_.size() && text_[at_] == end) {
        ++at_;
        --depth;
        fresh = false;
        continue;
      }
      if (!fresh && !take(',', end == '}' ? "expected ',' or '}'" : "expected ',' or ']'")) {
        return false;
      }
      fresh = false;
      if (end == '}' && !skip_name()) return false;
      break;
    }
    if (depth == 0) return true;
  }
}

bool JsonReader::read_raw(std::string_view* out) {
  skip_blanks();
  const std::size_t begin = at_;
  if (fault_ != nullptr || !skip_value()) return false;
  *out = text_.substr(begin, at_ - begin);
  return true;
}

bool JsonReader::at_end() {
  skip_blanks();
  return at_ == text_.size();
}

}  // namespace rota::cli
