// SPDX-License-Identifier: Apache-2.0
#include "core/command_log.h"

#include <concepts>
#include <limits>
#include <map>
#include <optional>
#include <type_traits>
#include <utility>

#include "core/command_log_fields.h"
#include "model/bytes.h"
#include "model/fields.h"

namespace rota::core {
namespace {

using model::Reader;
using model::Writer;

// Writes and reads any value that fields() can take apart. Classes, so that their functions see
// each other whatever their order.
class Out {
 public:
  explicit Out(Writer& w) : w_(w) {}

  void put(bool v) { w_.boolean(v); }
  void put(std::uint8_t v) { w_.u8(v); }
  template <std::unsigned_integral T>
  void put(T v) {
    w_.varint(v);
  }
  template <std::signed_integral T>
  void put(T v) {
    w_.svarint(v);
  }
  void put(double v) { model::put_double(w_, v); }
  void put(Reason v) { w_.str(base::reason_name(v)); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(Enum v) { w_.u8(static_cast<std::uint8_t>(v)); }
  void put(const std::string& v) { w_.str(v); }
  template <class T>
  void put(const std::optional<T>& v) {
    w_.boolean(v.has_value());
    if (v) put(*v);
  }
  template <class T>
  void put(const std::vector<T>& v) {
    w_.varint(v.size());
    for (const T& item : v) put(item);
  }
  template <class Less>
  void put(const std::map<std::string, std::string, Less>& v) {
    w_.varint(v.size());
    for (const auto& [key, value] : v) {
      put(key);
      put(value);
    }
  }
  template <class... Kinds>
  void put(const std::variant<Kinds...>& v) {
    std::visit(
        [&](const auto& kind) {
          w_.u8(NumberOf<std::remove_cvref_t<decltype(kind)>>::value);
          put(kind);
        },
        v);
  }
  void put(const input::Drain&) {}
  template <HasFields T>
  void put(const T& v) {
    std::apply([&](const auto&... field) { (put(field), ...); }, fields(v));
  }

 private:
  Writer& w_;
};

// The first fault is remembered by the reader; what is read after it is worth nothing.
class In {
 public:
  explicit In(Reader& r) : r_(r) {}

  void get(bool& v) {
    const std::uint8_t byte = r_.u8();
    if (byte > 1) r_.fail();
    v = byte == 1;
  }
  void get(std::uint8_t& v) { v = r_.u8(); }
  template <std::unsigned_integral T>
  void get(T& v) {
    const std::uint64_t wide = r_.varint();
    if (wide > std::numeric_limits<T>::max()) r_.fail();
    v = static_cast<T>(wide);
  }
  template <std::signed_integral T>
  void get(T& v) {
    const std::int64_t wide = r_.svarint();
    if (!std::in_range<T>(wide)) r_.fail();
    v = static_cast<T>(wide);
  }
  void get(double& v) { v = model::get_double(r_); }
  void get(Reason& v) {
    const auto reason = base::find_reason(r_.view());
    if (!reason) return r_.fail();
    v = *reason;
  }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void get(Enum& v) {
    const std::uint8_t byte = r_.u8();
    if (byte == 0 || byte > static_cast<std::uint8_t>(LastOf<Enum>::value)) return r_.fail();
    v = static_cast<Enum>(byte);
  }
  void get(std::string& v) { v = r_.str(); }
  template <class T>
  void get(std::optional<T>& v) {
    bool set = false;
    get(set);
    v.reset();
    if (set && r_.ok()) get(v.emplace());
  }
  template <class T>
  void get(std::vector<T>& v) {
    v.clear();
    const std::uint64_t n = r_.count();
    for (std::uint64_t i = 0; i < n && r_.ok(); ++i) get(v.emplace_back());
  }
  template <class Less>
  void get(std::map<std::string, std::string, Less>& v) {
    v.clear();
    const std::uint64_t n = r_.count();
    for (std::uint64_t i = 0; i < n && r_.ok(); ++i) {
      std::string key = r_.str();
      if (!v.emplace(std::move(key), r_.str()).second) r_.fail();
    }
  }
  template <class... Kinds>
  void get(std::variant<Kinds...>& v) {
    const std::uint8_t number = r_.u8();
    const bool known = (get_if_numbered<Kinds>(number, v) || ...);
    if (!known) r_.fail();
  }
  void get(input::Drain&) {}
  template <HasFields T>
  void get(T& v) {
    std::apply([&](auto&... field) { (get(field), ...); }, fields(v));
  }

 private:
  template <class Kind, class Variant>
  bool get_if_numbered(std::uint8_t number, Variant& v) {
    if (number != NumberOf<Kind>::value) return false;
    get(v.template emplace<Kind>());
    return true;
  }
  Reader& r_;
};

}  // namespace

std::string encode(const LogEntry& entry) {
  Writer w(kLogFormat);
  Out(w).put(entry);
  return w.seal();
}

bool decode(std::string_view bytes, LogEntry* entry) {
  Reader r = Reader::open(bytes, kLogFormat);
  if (!r.ok() || r.format() != kLogFormat) return false;
  LogEntry read;
  In(r).get(read);
  if (!r.at_end()) return false;
  *entry = std::move(read);
  return true;
}

}  // namespace rota::core
