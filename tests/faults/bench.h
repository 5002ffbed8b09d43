// SPDX-License-Identifier: Apache-2.0
//
// One fault, from a fresh directory to a verdict: a process works on a store until the fault ends
// it, another one opens what is left. The caller must be a process without threads; it forks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "faults/workload.h"

namespace rota::faults {

struct Verdict {
  enum class Kind {
    kNoFault,    // the work came to its end before the fault's turn
    kRecovered,  // exactly a prefix of the batches, with all that were acknowledged
    kRefused,    // with the name of the damaged file
    kWrong,
  } kind = Kind::kWrong;
  std::string text;
};

// A damage done to a file while no store is open.
struct Damage {
  // kTornRecord adds to a log the begin of a record whose other pages never came to the disk.
  enum class Kind { kNone, kFlip, kZeroPage, kCut, kZeroRest, kNoiseRest, kTornRecord } kind{};
  std::string file;  // relative to the data directory
  std::uint64_t offset = 0;
  unsigned bit = 0;
};

// What an open makes of a damaged store, when nothing disturbs it; and its calls.
struct Recovery {
  std::string name;  // "torn last batch"
  Damage damage;
  Verdict::Kind kind = Verdict::Kind::kWrong;  // kRecovered or kRefused
  core::CommitSeq seq = 0;                     // of a recovered one
  std::uint64_t calls = 0;                     // of the file system, of all kinds
  std::uint64_t space_calls = 0;               // of those that need space
};

// A store at rest, copied for each damage.
struct Image {
  std::string folder;
  core::CommitSeq acked = 0;      // clients know these
  core::CommitSeq submitted = 0;  // one more than acked: the last batch had not been answered
  std::string torn_log;           // relative; with the bytes of the last batch
  std::uint64_t torn_begin = 0;
  std::uint64_t torn_end = 0;
};

class Bench {
 public:
  // `folder` is the bench's own and is emptied.
  Bench(std::string folder, std::uint64_t seed);
  ~Bench();
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  // Calls of each kind, and all, of the work without a fault.
  struct Calls {
    std::array<std::uint64_t, kOps> of{};
    std::uint64_t all = 0;
  };
  Calls count_calls();

  // `exits`: the process ends at the failure, as a server does; else it goes on against the store.
  Verdict disk_fault(const DiskPlan& plan, bool exits);

  // `clean`: closed, so that the witness knows every batch; else ended in mid-work, its last batch
  // not acknowledged.
  Image make_image(bool clean);
  // `torn`: the damage lies in the batch that was not acknowledged, so the store must open.
  Verdict damage(const Image& image, const Damage& damage, bool torn);

  // The damage, opened without a disturbance.
  Recovery learn_recovery(const Image& image, const std::string& name, const Damage& damage);
  // The fault strikes a process that opens the damaged store; another one then opens what is left,
  // and must come to what `undisturbed` says: the same batch, or a refusal that names the same
  // file.
  Verdict recovery_fault(const Image& image, const Recovery& undisturbed, const DiskPlan& plan);

  // Files of the image's database and directory, relative, whose name fits.
  static std::vector<std::string> files_of(const Image& image,
                                           const std::function<bool(const std::string&)>& fits);

  // The checker's own test: a store that lost its newest row behind the checksums.
  Verdict planted_wrong_answer();

 private:
  WorkFacts* facts() const { return facts_; }
  void clear_facts();
  // Runs in a process of its own; its exit code, or 1000 + the signal that ended it.
  int in_child(const std::function<int()>& body);
  // A process that works on the disk of the plan, and the verdict about how it ended: kWrong, or
  // nothing.
  std::optional<Verdict> struck(const DiskPlan& plan,
                                const std::function<int(std::shared_ptr<FaultDisk>)>& body,
                                std::optional<int> also_expected = std::nullopt);
  Verdict check_left(core::CommitSeq least, core::CommitSeq most);
  // The image with the damage, in data().
  void place(const Image& image, const Damage& damage);
  // A refusal that does not name the damaged file is wrong.
  Verdict names_the_file(const Damage& damage, const Verdict& verdict) const;
  Verdict wrong(const std::string& text) const;
  std::string data() const { return folder_ + "/data"; }

  Calls calls_;  // of the last work
  const std::string folder_;
  const std::uint64_t seed_;
  WorkFacts* facts_ = nullptr;
};

}  // namespace rota::faults
