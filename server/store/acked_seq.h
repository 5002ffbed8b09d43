// SPDX-License-Identifier: Apache-2.0
//
// The witness of what was acknowledged: a small file beside the database with the number of a batch
// that is known to be durable. It is written once a second where there is news (witness.h) and when
// the store closes, so it lags and never leads. A database that comes back with less than it says
// has lost acknowledged data, by whatever way: a log cut exactly between two records, or an older
// copy of the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "core/store.h"
#include "store/failure.h"
#include "store/own_files.h"

namespace rota::store {

class AckedSeq {
 public:
  // kDamage when the file is missing (unless `create`) or neither of its two copies can be read.
  static std::variant<AckedSeq, Failure> open(
      const std::string& path, bool create,
      const std::shared_ptr<OwnFiles>& files = system_files());

  core::CommitSeq value() const { return value_; }
  // Durable when it returns nothing. Two copies are written in turn, so that a write torn by a
  // power cut leaves the other one.
  std::optional<Failure> write(core::CommitSeq seq);
  // Both copies: when batches were given up on purpose, and less is asked for from now on.
  // Until it returns, a later open may still read the former number.
  std::optional<Failure> lower(core::CommitSeq seq);

 private:
  AckedSeq(std::string path, OwnFile file) : path_(std::move(path)), file_(std::move(file)) {}
  std::optional<Failure> read();

  std::string path_;
  OwnFile file_;
  core::CommitSeq value_ = 0;
  int next_slot_ = 0;
};

}  // namespace rota::store
