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

#include "faults/image.h"
#include "faults/workload.h"

namespace rota::faults {

struct Verdict {
  enum class Kind {
    kNoFault,    // the work came to its end before the fault's turn
    kRecovered,  // exactly a prefix of the batches, with all that were acknowledged
    kAsTorn,     // without batches that were synced, which the files cannot tell from a torn write
    kRefused,    // with the name of the damaged file, or of what is lost
    kWrong,
  } kind = Kind::kWrong;
  std::string text;
};

// What an open makes of a damaged store, when nothing disturbs it; and its calls.
struct Recovery {
  std::string name;  // "torn last batch"
  Damage damage;
  Verdict verdict;
  core::CommitSeq seq = 0;        // of one that was opened
  std::uint64_t calls = 0;        // of the file system, of all kinds
  std::uint64_t space_calls = 0;  // of those that need space
};

// What an open refuses until the operator gives up all that came after `good`; and the calls of the
// work that gives it up.
struct Loss {
  std::string name;  // "cut log"
  Damage damage;
  Verdict verdict;
  core::CommitSeq good = 0;
  std::uint64_t calls = 0;
  std::uint64_t space_calls = 0;
};

// One open of the store whose image is made.
struct Session {
  int batches = 0;
  bool closed = false;  // else its process is killed
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
    std::uint64_t need_space = 0;
  };
  // `file`: of those for it alone, see DiskPlan.
  Calls count_calls(const std::string& file = {});

  // `exits`: the process ends at the failure, as a server does; else it goes on against the store.
  // A plan for one file strikes a work of few batches, whose witness follows after each of them.
  Verdict disk_fault(const DiskPlan& plan, bool exits);

  // One image of each kind stands in the bench's folder. How many sessions there were, how long
  // they were and how each of them ended follows from the seed.
  Image make_image(ImageKind kind);
  // `torn`: the damage lies in the batch that was not acknowledged, so the store must open.
  Verdict damage(const Image& image, const Damage& damage, bool torn);

  // The damage, opened without a disturbance. What is wrong then stands in the verdict.
  Recovery learn_recovery(const Image& image, const std::string& name, const Damage& damage);
  // The fault strikes a process that opens the damaged store; another one then opens what is left,
  // and must come to what `undisturbed` says: the same batch, or a refusal that names the same
  // file.
  Verdict recovery_fault(const Image& image, const Recovery& undisturbed, const DiskPlan& plan);

  // Calls of a first open.
  Calls count_creation();
  // The fault strikes a process that creates a store, `again` the one that goes on with it;
  // whatever is left must open, and again after a batch. Of a process that was killed the second
  // one may still lose what was not synced.
  Verdict creation_fault(const DiskPlan& plan, const DiskPlan& again);

  // The damage, given up without a disturbance.
  Loss learn_loss(const Image& image, const std::string& name, const Damage& damage);
  // The fault strikes a process that gives up the loss and works on. Then the store must refuse as
  // before, with the same number, or be open with the loss behind it; never at that number without
  // a word.
  // `again` strikes the one that then gives it up once more, as with a creation; unset: none does.
  Verdict loss_fault(const Image& image, const Loss& undisturbed, const DiskPlan& plan,
                     const std::optional<DiskPlan>& again = std::nullopt);

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
                                std::optional<int> also_expected = std::nullopt,
                                bool same_disk = false);
  Verdict check_left(core::CommitSeq least, core::CommitSeq most);
  Verdict check_left(const Story& story, bool consent, core::CommitSeq least, core::CommitSeq most);
  int give_up(const Loss& loss, const std::shared_ptr<FaultDisk>& disk);
  Calls calls() const;
  // One process for each session; false when one of them went wrong.
  bool run_sessions(const std::vector<Session>& sessions, Image* image);
  // What the files of the image say, as far as the verdicts need it.
  bool look_at(Image* image);
  void place_in_data(const Image& image, const Damage& damage);
  // A refusal that names neither the damaged file nor the loss is wrong.
  Verdict names_the_cause(const Damage& damage, const Verdict& verdict) const;
  Verdict wrong(const std::string& text) const;
  std::string data() const { return folder_ + "/data"; }

  Calls calls_;  // of the last work
  const std::string folder_;
  const std::uint64_t seed_;
  WorkFacts* facts_ = nullptr;
};

}  // namespace rota::faults
