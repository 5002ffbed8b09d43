// SPDX-License-Identifier: Apache-2.0
#include "store/acked_seq.h"

#include <fcntl.h>

#include <cerrno>

#include "model/bytes.h"

namespace rota::store {

namespace {

constexpr std::uint8_t kFormat = 1;
constexpr off_t kSlotBytes = 4096;  // a block of its own for each copy
constexpr int kSlots = 2;

}  // namespace

std::variant<AckedSeq, Failure> AckedSeq::open(const std::string& path, bool create,
                                               const std::shared_ptr<OwnFiles>& files) {
  const int flags = O_RDWR | O_CLOEXEC | (create ? O_CREAT : 0);
  OwnFile opened(files, path, flags, 0600);
  if (!opened.ok()) {
    if (errno == ENOENT) {
      return Failure{FailureKind::kDamage,
                     path + " is missing: what was acknowledged cannot be checked"};
    }
    return system_failure(errno, "open " + path);
  }
  AckedSeq file(path, std::move(opened));
  std::optional<Failure> failure = file.read();
  const bool damaged = failure && failure->kind == FailureKind::kDamage;
  if (create && (damaged || (!failure && file.value_ == 0))) {
    // A creation, perhaps one that was cut short: it ends with the witness whole, and nothing was
    // acknowledged. What can be read need not have been synced.
    for (int i = 0; i < kSlots; ++i) {
      if (auto unwritten = file.write(0)) return *unwritten;
    }
    return file;
  }
  if (failure) return *failure;
  return file;
}

std::optional<Failure> AckedSeq::read() {
  bool found = false;
  for (int slot = 0; slot < kSlots; ++slot) {
    char bytes[13];  // format 1, number 8, checksum 4
    const ssize_t n = file_.files().pread(file_.fd(), bytes, sizeof bytes, slot * kSlotBytes);
    if (n < 0) return system_failure(errno, "read " + path_);
    model::Reader reader =
        model::Reader::open(std::string_view(bytes, static_cast<std::size_t>(n)), kFormat);
    const core::CommitSeq seq = reader.u64();
    if (!reader.at_end()) continue;
    if (!found || seq >= value_) {
      value_ = seq;
      next_slot_ = (slot + 1) % kSlots;
    }
    found = true;
  }
  if (found) return std::nullopt;
  return Failure{FailureKind::kDamage, path_ + " cannot be read: both copies are damaged"};
}

std::optional<Failure> AckedSeq::write(core::CommitSeq seq) {
  model::Writer writer(kFormat);
  writer.u64(seq);
  const std::string bytes = writer.seal();
  OwnFiles& files = file_.files();
  if (files.pwrite(file_.fd(), bytes.data(), bytes.size(), next_slot_ * kSlotBytes) !=
          static_cast<ssize_t>(bytes.size()) ||
      files.fdatasync(file_.fd()) != 0) {
    return system_failure(errno, "write " + path_);
  }
  next_slot_ = (next_slot_ + 1) % kSlots;
  value_ = seq;
  return std::nullopt;
}

std::optional<Failure> AckedSeq::lower(core::CommitSeq seq) {
  for (int slot = 0; slot < kSlots; ++slot) {
    if (auto failure = write(seq)) return failure;
  }
  return std::nullopt;
}

}  // namespace rota::store
