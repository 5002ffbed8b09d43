// SPDX-License-Identifier: Apache-2.0
//
// The error value of the server and `Result<T>`, which holds a value or an error.
//
// Nothing throws across a layer: what can be refused returns a Result. A reason (the table is
// error_reasons.inc) says what the caller can do about it; the message is for a person and names
// the fault and the limit; only the reason and `meta` may be read by programs.
//
// The table is turned into gRPC statuses in one place, server/rpc.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace rota::base {

// The subset of gRPC's status codes that the table uses, with gRPC's numbers.
enum class StatusCode : int {
  kInvalidArgument = 3,
  kNotFound = 5,
  kAlreadyExists = 6,
  kPermissionDenied = 7,
  kResourceExhausted = 8,
  kFailedPrecondition = 9,
  kAborted = 10,
  kInternal = 13,
  kUnavailable = 14,
};

enum class Reason : std::uint8_t {
#define ROTA_REASON(enumerator, name, code, retryable, sentence) enumerator,
#include "base/error_reasons.inc"
};

struct ReasonInfo {
  Reason reason;
  std::string_view name;  // "LEASE_LOST"
  StatusCode code;
  bool retryable;  // the same request may succeed later
  std::string_view sentence;
};

// The table's line of a reason; valid for the life of the process.
const ReasonInfo& reason_info(Reason reason);

// "LEASE_LOST".
std::string_view reason_name(Reason reason);

// The reason with this name; nothing when no line of the table has it.
std::optional<Reason> find_reason(std::string_view name);

// All lines of the table in its order, for documentation and tests.
struct ReasonTable {
  const ReasonInfo* first;
  const ReasonInfo* last;  // one past the end
  const ReasonInfo* begin() const { return first; }
  const ReasonInfo* end() const { return last; }
};
ReasonTable reason_table();

// A refusal. Copyable value without identity.
struct Error {
  Reason reason = Reason::kInternal;
  std::string field = {};    // path in the request, "jobs[3].payload"; empty when none is to blame
  std::string message = {};  // "312 KiB, limit 256 KiB"; without the reason and the field
  std::map<std::string, std::string> meta = {};  // lowerCamel keys: what a program may read
  std::int64_t retry_after_ms = 0;               // 0: no advice

  bool operator==(const Error&) const = default;
};

template <class T>
class Result;

// "PAYLOAD_TOO_LARGE: payload: 312 KiB, limit 256 KiB", for logs and tests.
std::string to_string(const Error& error);

inline Error make_error(Reason reason, std::string message, std::string field = {}) {
  return Error{.reason = reason, .field = std::move(field), .message = std::move(message)};
}
inline Error invalid_field(std::string field, std::string message) {
  return make_error(Reason::kInvalidField, std::move(message), std::move(field));
}

// The same error with `prefix` before its field: in_field("jobs[3]", e) turns "payload" into
// "jobs[3].payload".
Error in_field(std::string_view prefix, Error error);

namespace internal {

// Something else than a T, an Error or a Result that becomes a T by itself: a literal for a string.
template <class U, class T>
concept ConvertsTo = std::is_convertible_v<U, T> && !std::is_same_v<std::remove_cvref_t<U>, T> &&
                     !std::is_same_v<std::remove_cvref_t<U>, Error> &&
                     !std::is_same_v<std::remove_cvref_t<U>, Result<T>>;

}  // namespace internal

// A value or an error, in the shape of std::expected (which GCC 12 has only in C++23). Reading the
// value of an error, or the error of a value, ends the process: it is a fault of the program.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;

  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: implicit
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit
  template <internal::ConvertsTo<T> U>
  Result(U&& value)  // NOLINT: implicit like the two above, and no candidate for copy or move
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return *checked_value(); }
  const T& value() const& { return *checked_value(); }
  T&& value() && { return std::move(*checked_value()); }
  T& operator*() & { return *checked_value(); }
  const T& operator*() const& { return *checked_value(); }
  T&& operator*() && { return std::move(*checked_value()); }
  T* operator->() { return checked_value(); }
  const T* operator->() const { return checked_value(); }
  template <class U>
  T value_or(U&& other) const& {
    return has_value() ? value() : static_cast<T>(std::forward<U>(other));
  }

  const Error& error() const& { return *checked_error(); }
  Error&& error() && { return std::move(*const_cast<Error*>(checked_error())); }

 private:
  T* checked_value() {
    if (T* value = std::get_if<0>(&state_)) return value;
    std::abort();
  }
  const T* checked_value() const {
    if (const T* value = std::get_if<0>(&state_)) return value;
    std::abort();
  }
  const Error* checked_error() const {
    if (const Error* error = std::get_if<1>(&state_)) return error;
    std::abort();
  }

  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;

  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT: implicit

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const {
    if (error_) std::abort();
  }
  const Error& error() const& {
    if (!error_) std::abort();
    return *error_;
  }
  Error&& error() && {
    if (!error_) std::abort();
    return std::move(*error_);
  }

 private:
  std::optional<Error> error_;
};

using Status = Result<void>;

}  // namespace rota::base
