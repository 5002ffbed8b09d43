// SPDX-License-Identifier: Apache-2.0
// How a call says that it failed. Nothing throws across the library's border: each fallible call
// returns Result<T>, which holds either the value or an Error.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace rota {

using Millis = std::chrono::milliseconds;
using Time = std::chrono::sys_time<Millis>;

// What a caller can do about an error; `Error::reason` says which fault it was.
enum class Code {
  kInvalid,       // the request itself is wrong: do not repeat it
  kNotFound,      // the thing named does not exist
  kConflict,      // something else holds the name or key, or the thing changed meanwhile
  kPrecondition,  // the state of the thing does not allow it
  kDenied,        // no or wrong credentials, or not allowed
  kExhausted,     // a limit is reached; retry_after says when to come again
  kUnavailable,   // the server cannot be reached, starts or drains
  kTimeout,       // the deadline passed
  kInternal,      // a fault of Rota or of the transport
};

struct Error {
  Code code = Code::kInternal;
  std::string reason{};   // stable, UPPER_SNAKE: "PAYLOAD_TOO_LARGE"; the server's docs list all
  std::string field{};    // the field at fault, where there is one: "payload"
  std::string message{};  // one sentence for people: the fault, the limit and the way out
  std::optional<Millis> retry_after{};
  // True when no answer was received for a call that the server may have carried out. Repeat the
  // same spec with `request_id`: what happened once does not happen twice.
  bool may_have_happened = false;
  // The request id that was sent, also when the client made it; empty for calls that carry none.
  std::string request_id{};
};

struct Ok {};

// Either a value or an Error, in the shape of std::expected. Reading the value of an error, or the
// error of a value, ends the process: it is a fault of the caller.
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  using error_type = Error;

  Result() requires std::is_default_constructible_v<T> : state_(std::in_place_index<0>) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: implicit

  template <class U = T>
  requires(std::is_constructible_v<T, U&&> && !std::is_same_v<std::decay_t<U>, Error> &&
           !std::is_same_v<std::decay_t<U>, Result>) Result(U&& value)  // NOLINT: implicit
      : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool has_value() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & { return checked(std::get_if<0>(&state_)); }
  const T& value() const& { return checked(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(checked(std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  Error& error() & { return checked(std::get_if<1>(&state_)); }
  const Error& error() const& { return checked(std::get_if<1>(&state_)); }
  Error&& error() && { return std::move(checked(std::get_if<1>(&state_))); }

  template <class U>
  T value_or(U&& fallback) const& {
    return has_value() ? **this : static_cast<T>(std::forward<U>(fallback));
  }

 private:
  template <class P>
  static P& checked(P* held) {
    if (held == nullptr) std::abort();
    return *held;
  }

  std::variant<T, Error> state_;
};

}  // namespace rota
