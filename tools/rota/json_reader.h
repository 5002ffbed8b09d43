// SPDX-License-Identifier: Apache-2.0
// A strict reader of JSON (RFC 8259) that its user pulls values from. It copies nothing but the
// strings that are asked for, and gives any value as the text it had: what a library that builds or
// reports parsed values cannot do, and what a payload needs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rota::cli {

// Reads one text, which must be UTF-8 (see is_json_utf8). Every read returns false at a fault; the
// first one stays, and all later reads fail.
class JsonReader {
 public:
  enum class Kind { kObject, kArray, kString, kNumber, kBool, kNull, kNothing };

  explicit JsonReader(std::string_view text) : text_(text) {}

  // What comes next; kNothing at the end and for what begins no value.
  Kind peek();

  // Objects: begin_object(), then next_member() until it returns false, which is the end of the
  // object or a fault. After each true, exactly one value must be read.
  bool begin_object();
  bool next_member(std::string_view* key);
  // Arrays likewise.
  bool begin_array();
  bool next_element();

  bool read_string(std::string* out);
  bool read_bool(bool* out);
  bool read_null();
  // A number that is whole and fits into 64 bits; "1.0" and "1e3" are whole too.
  bool read_integer(std::int64_t* out);
  bool read_double(double* out);
  // Any value, checked, as its own text.
  bool read_raw(std::string_view* out);

  // Only blanks are left.
  bool at_end();

  bool ok() const { return fault_ == nullptr; }
  // The fault is a number that is well-formed and does not fit what was asked for.
  bool is_number_fault() const { return number_fault_; }
  // A sentence with the position, "expected ':' at byte 12"; "" while ok().
  std::string fault() const;

 private:
  bool fail(const char* what);
  void skip_blanks();
  bool take(char c, const char* otherwise);
  bool scan_string(std::string_view* raw, bool* has_escapes);
  bool scan_number(std::string_view* raw);
  bool scan_word(std::string_view word);
  bool skip_value();
  bool unescape(std::string_view raw, std::string* out);

  std::string_view text_;
  std::size_t at_ = 0;
  bool first_ = false;  // just after an opening bracket
  std::string key_;     // holds a key that had escapes
  const char* fault_ = nullptr;
  bool number_fault_ = false;
};

// Whether a text can be given to a JsonReader: well-formed UTF-8.
bool is_json_utf8(std::string_view text);

}  // namespace rota::cli
