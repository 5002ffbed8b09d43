// SPDX-License-Identifier: Apache-2.0
//
// A measurement that could not be made, or whose work does not add up. Thrown within rota-bench and
// caught in its main(), never on a thread of the client library.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "rota/error.h"

namespace rota::bench {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline void require(bool holds, const std::string& otherwise) {
  if (!holds) throw Failed(otherwise);
}

// The value, or the end of the measurement with the error in words.
template <class T>
T must(Result<T> result, const std::string& doing) {
  if (result) return *std::move(result);
  const Error& error = result.error();
  throw Failed(doing + ": " + error.reason + " " + error.field + ": " + error.message);
}

}  // namespace rota::bench
