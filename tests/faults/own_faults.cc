// SPDX-License-Identifier: Apache-2.0
//
// The bench's parts about the store's own files: a creation that is cut short, and a loss that is
// given up.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "faults/bench.h"

namespace rota::faults {

namespace fs = std::filesystem;
using core::CommitSeq;
using Kind = Verdict::Kind;

// ---- a creation ---------------------------------------------------------------------------------

Bench::Calls Bench::count_creation() {
  const Verdict verdict = creation_fault({}, {});
  if (verdict.kind == Kind::kNoFault) return calls_;
  std::printf("a creation fails without a fault: %s\n", verdict.text.c_str());
  return {};
}

Verdict Bench::creation_fault(const DiskPlan& plan, const DiskPlan& again) {
  fs::remove_all(data());
  const auto create = [&](const auto& disk) { return reopen(data(), seed_, disk, facts_); };
  if (const auto ended_wrong = struck(plan, create)) return *ended_wrong;
  calls_ = calls();
  const bool fired = facts_->disk.fired > 0;
  std::string at = ", after a fault at " + std::string(facts_->disk.file.data());
  if (fired) {
    // A power loss has decided about what was not synced; after a kill that is still to come.
    const bool same_disk = plan.fault == Fault::kKilled;
    if (auto ended_wrong = struck(again, create, std::nullopt, same_disk)) {
      ended_wrong->text += at;
      return *ended_wrong;
    }
    if (facts_->disk.fired > 0) at += " and then at " + std::string(facts_->disk.file.data());
  }
  for (const CommitSeq batches : {CommitSeq{0}, CommitSeq{1}}) {
    Verdict left = check_left(batches, batches);
    if (left.kind == Kind::kRefused) {
      left = wrong(batches == 0 ? "refused, although nothing was ever acknowledged"
                                : "refused when it was opened once more");
    }
    if (left.kind == Kind::kWrong) return {left.kind, left.text + at};
  }
  return {fired ? Kind::kRecovered : Kind::kNoFault, {}};
}

// ---- a loss that is given up --------------------------------------------------------------------

namespace {

constexpr char kConsent[] = "--accept-loss-after=";
constexpr int kBatchesAfterLoss = 2;

// The number that the refusal asks consent for; 0 when it names none.
CommitSeq number_in(const std::string& refusal) {
  const auto at = refusal.find(kConsent);
  if (at == std::string::npos) return 0;
  return std::strtoull(refusal.c_str() + at + sizeof kConsent - 1, nullptr, 10);
}

}  // namespace

int Bench::give_up(const Loss& loss, const std::shared_ptr<FaultDisk>& disk) {
  WorkOptions options;
  options.data = data();
  options.seed = seed_;
  options.after = loss.good;
  options.loses = true;
  options.batches = kBatchesAfterLoss;
  options.disk = disk;
  return work(options, disk, facts_);
}

Loss Bench::learn_loss(const Image& image, const std::string& name, const Damage& damage) {
  Loss loss{name, damage, {}, 0, 0, 0};
  place_in_data(image, damage);
  loss.verdict = check_left(image.acked, image.submitted);
  if (loss.verdict.kind == Kind::kWrong) return loss;
  loss.good = number_in(loss.verdict.text);
  if (loss.verdict.kind != Kind::kRefused || loss.good == 0) {
    loss.verdict = wrong("not refused with a number: " + text_of(damage) + loss.verdict.text);
    return loss;
  }
  loss.verdict = loss_fault(image, loss, {});
  loss.calls = calls_.all;
  loss.space_calls = calls_.need_space;
  if (loss.verdict.kind == Kind::kNoFault) loss.verdict.kind = Kind::kRecovered;
  return loss;
}

Verdict Bench::loss_fault(const Image& image, const Loss& undisturbed, const DiskPlan& plan,
                          const std::optional<DiskPlan>& again) {
  if (undisturbed.verdict.kind == Kind::kWrong) {
    return {Kind::kWrong, "wrong without a fault: " + undisturbed.verdict.text};
  }
  const CommitSeq good = undisturbed.good;
  const Story story(seed_, good);
  place_in_data(image, undisturbed.damage);
  const auto gives_up = [&](const auto& disk) { return give_up(undisturbed, disk); };
  if (const auto ended_wrong = struck(plan, gives_up)) return *ended_wrong;
  calls_ = calls();
  const bool fired = facts_->disk.fired > 0;
  std::string at = ", after a fault at " + std::string(facts_->disk.file.data());
  CommitSeq acked = facts_->acked;  // 0, or a batch after the loss
  CommitSeq submitted = facts_->submitted;
  if (fired && again) {
    auto ended_wrong = struck(*again, gives_up, std::nullopt, plan.fault == Fault::kKilled);
    if (ended_wrong) return {Kind::kWrong, ended_wrong->text + at};
    at += " and then at " + std::string(facts_->disk.file.data());
    acked = std::max<CommitSeq>(acked, facts_->acked);
    submitted = std::max<CommitSeq>(submitted, facts_->submitted);
  }
  const auto wrong_at = [&](const std::string& text) { return wrong(text + at); };

  Verdict left = check_left(story, /*consent=*/false, std::max(acked, good + 1), submitted);
  if (left.kind == Kind::kRefused) {
    if (acked != 0) return wrong_at("refused, although a batch after the loss was acknowledged");
    if (number_in(left.text) != good) {
      return wrong_at("refused, and not with the number " + std::to_string(good));
    }
    const Verdict refused = left;
    left = check_left(story, /*consent=*/true, good, good);
    if (left.kind == Kind::kRefused) return wrong_at("refused, in spite of the consent");
    if (left.kind == Kind::kRecovered) left = check_left(story, false, good + 1, good + 1);
    if (left.kind == Kind::kRefused) return wrong_at("refused, although the loss was settled");
    if (left.kind == Kind::kRecovered) left = refused;
  }
  if (left.kind == Kind::kWrong) return {left.kind, left.text + at};
  return fired ? left : Verdict{Kind::kNoFault, {}};
}

}  // namespace rota::faults
