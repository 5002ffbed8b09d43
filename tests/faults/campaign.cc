// SPDX-License-Identifier: Apache-2.0
#include "faults/campaign.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <numeric>
#include <utility>

namespace rota::faults {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kSampleMax = 4'000;  // damages of one kind of file
constexpr std::uint64_t kPageBytes = 4096;

struct FileKind {
  const char* name;
  std::function<bool(const std::string&)> fits;
};

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}
bool begins_with(const std::string& name, const std::string& begin) {
  return name.rfind(begin, 0) == 0;
}

std::vector<FileKind> file_kinds() {
  return {
      {"log", [](const std::string& n) { return ends_with(n, ".log"); }},
      {"table", [](const std::string& n) { return ends_with(n, ".sst"); }},
      {"MANIFEST", [](const std::string& n) { return begins_with(n, "MANIFEST-"); }},
      {"CURRENT", [](const std::string& n) { return n == "CURRENT"; }},
      {"OPTIONS", [](const std::string& n) { return begins_with(n, "OPTIONS-"); }},
      {"acked_seq", [](const std::string& n) { return n == "acked_seq"; }},
      {"store_id", [](const std::string& n) { return n == "store_id"; }},
  };
}

// The bytes of several files in one row.
class Bytes {
 public:
  Bytes(const Image& image, const FileKind& kind) {
    for (const std::string& file : Bench::files_of(image, kind.fits)) {
      files_.emplace_back(file, fs::file_size(image.folder + "/" + file));
      total_ += files_.back().second;
    }
  }
  std::uint64_t total() const { return total_; }
  Damage at(std::uint64_t offset) const {
    for (const auto& [file, size] : files_) {
      if (offset < size) return {{}, file, offset, 0};
      offset -= size;
    }
    return {{}, files_.back().first, 0, 0};
  }

 private:
  std::vector<std::pair<std::string, std::uint64_t>> files_;
  std::uint64_t total_ = 0;
};

void add_disk_faults(Bench& bench, std::uint64_t seed, const Bench::Calls& calls,
                     std::vector<Campaign>* all) {
  all->push_back({"power loss", calls.all,
                  [&bench, seed](std::uint64_t point) {
                    DiskPlan plan;
                    plan.fault = Fault::kPowerLoss;
                    plan.nth = point + 1;
                    plan.seed = seed + point;
                    return bench.disk_fault(plan, true);
                  },
                  /*open_ended=*/true});
  for (const Fault fault : {Fault::kIo, Fault::kNoSpace}) {
    for (const bool lasting : {false, true}) {
      for (std::size_t i = 0; i < kOps; ++i) {
        const Op op = static_cast<Op>(i);
        if (fault == Fault::kNoSpace && (op == Op::kOpen || op == Op::kRead || op == Op::kDelete)) {
          continue;
        }
        const std::string kind = std::string(fault == Fault::kIo ? "EIO " : "ENOSPC ") +
                                 (lasting ? "from then on: " : "once: ") + op_name(op);
        all->push_back({kind, calls.of[i],
                        [&bench, seed, fault, lasting, op](std::uint64_t point) {
                          DiskPlan plan{fault, op, point + 1, lasting, seed + point};
                          return bench.disk_fault(plan, (point + seed) % 2 == 0);
                        },
                        /*open_ended=*/true});
      }
    }
  }
}

void add_torn(Bench& bench, const Image& image, std::vector<Campaign>* all) {
  const std::uint64_t bytes = image.torn_end - image.torn_begin;
  const std::array kinds{std::pair{"torn last batch: cut", Damage::Kind::kCut},
                         std::pair{"torn last batch: zeros", Damage::Kind::kZeroRest},
                         std::pair{"torn last batch: noise", Damage::Kind::kNoiseRest}};
  for (const auto& [name, kind] : kinds) {
    all->push_back(
        {name, bytes, [&bench, image, kind = kind](std::uint64_t point) {
           return bench.damage(image, {kind, image.torn_log, image.torn_begin + point, 0}, true);
         }});
  }
}

void add_damage(Bench& bench, std::uint64_t seed, const Image& image, std::vector<Campaign>* all) {
  for (const FileKind& file_kind : file_kinds()) {
    const Bytes bytes(image, file_kind);
    const std::uint64_t sample = std::min(bytes.total(), kSampleMax);
    const std::uint64_t step = sample == 0 ? 1 : bytes.total() / sample;
    const std::string name = file_kind.name;
    all->push_back(
        {"flipped bit: " + name, sample, [&bench, image, bytes, step, seed](std::uint64_t point) {
           Damage damage = bytes.at(point * step + seed % step);
           damage.kind = Damage::Kind::kFlip;
           damage.bit = static_cast<unsigned>((point * 5 + seed) % 8);
           return bench.damage(image, damage, false);
         }});
    const std::uint64_t pages = (bytes.total() + kPageBytes - 1) / kPageBytes;
    all->push_back({"zeroed page: " + name, pages, [&bench, image, bytes](std::uint64_t point) {
                      Damage damage = bytes.at(point * kPageBytes);
                      damage.kind = Damage::Kind::kZeroPage;
                      damage.offset -= damage.offset % kPageBytes;
                      return bench.damage(image, damage, false);
                    }});
    const std::uint64_t cuts = std::min<std::uint64_t>(bytes.total(), 500);
    const std::uint64_t cut_step = cuts == 0 ? 1 : bytes.total() / cuts;
    all->push_back(
        {"cut off: " + name, cuts, [&bench, image, bytes, cut_step, seed](std::uint64_t point) {
           Damage damage = bytes.at(point * cut_step + seed % cut_step);
           damage.kind = Damage::Kind::kCut;
           return bench.damage(image, damage, false);
         }});
  }
}

// What an open has to get through: a log that only ends, a torn one, damage, and lists of files
// that are torn where nothing depends on it and where something does.
std::vector<Recovery> recoveries(Bench& bench, const Image& image) {
  const auto manifests =
      Bench::files_of(image, [](const std::string& n) { return begins_with(n, "MANIFEST-"); });
  const std::string& manifest = manifests.back();
  const std::uint64_t manifest_bytes = fs::file_size(image.folder + "/" + manifest);
  const std::uint64_t in_last = image.torn_begin + (image.torn_end - image.torn_begin) / 2;
  using Kind = Damage::Kind;
  std::vector<Recovery> all{
      bench.learn_recovery(image, "ended log", {}),
      bench.learn_recovery(image, "cut log", {Kind::kCut, image.torn_log, in_last, 0}),
      bench.learn_recovery(image, "torn log", {Kind::kNoiseRest, image.torn_log, in_last, 0}),
      bench.learn_recovery(image, "torn MANIFEST", {Kind::kTornRecord, manifest, 0, 0}),
  };
  const auto logs =
      Bench::files_of(image, [](const std::string& n) { return ends_with(n, ".log"); });
  all.push_back(bench.learn_recovery(image, "damaged log", {Kind::kFlip, logs.front(), 20, 3}));
  // The nearest to the end without which something is missed.
  Recovery cut;
  for (std::uint64_t part = 15; part > 0 && cut.kind != Verdict::Kind::kRefused; --part) {
    cut = bench.learn_recovery(image, "damaged MANIFEST",
                               {Kind::kNoiseRest, manifest, manifest_bytes * part / 16, 0});
  }
  if (cut.kind != Verdict::Kind::kRefused) cut.kind = Verdict::Kind::kWrong;
  all.push_back(std::move(cut));
  return all;
}

// Power loss, kill, and both refusals of the disk, at every call of a recovery.
void add_recoveries(Bench& bench, std::uint64_t seed, const Image& image,
                    std::vector<Campaign>* all) {
  const std::array faults{std::pair{Fault::kKilled, "kill"},
                          std::pair{Fault::kPowerLoss, "power loss"}, std::pair{Fault::kIo, "EIO"},
                          std::pair{Fault::kNoSpace, "ENOSPC"}};
  for (const Recovery& recovery : recoveries(bench, image)) {
    for (const auto& [fault, name] : faults) {
      const std::uint64_t points = fault == Fault::kNoSpace ? recovery.space_calls : recovery.calls;
      all->push_back({std::string(name) + " in the open of: " + recovery.name, points,
                      [&bench, image, recovery, seed, fault = fault](std::uint64_t point) {
                        DiskPlan plan;
                        plan.fault = fault;
                        plan.nth = point + 1;
                        plan.lasting = (point + seed) % 2 == 0;
                        plan.seed = seed + point;
                        plan.any_op = true;
                        return bench.recovery_fault(image, recovery, plan);
                      },
                      /*open_ended=*/true});
    }
  }
}

}  // namespace

Campaigns make_campaigns(Bench& bench, std::uint64_t seed) {
  Campaigns campaigns;
  const Bench::Calls calls = bench.count_calls();
  const Image torn = bench.make_image(false);
  const Image clean = bench.make_image(true);
  add_disk_faults(bench, seed, calls, &campaigns.all);
  add_recoveries(bench, seed, torn, &campaigns.all);
  add_torn(bench, torn, &campaigns.all);
  add_damage(bench, seed, clean, &campaigns.all);
  campaigns.text = std::to_string(calls.all) + " calls of the file system";
  for (const FileKind& kind : file_kinds()) {
    campaigns.text += ", " + std::string(kind.name) + " " +
                      std::to_string(Bench::files_of(clean, kind.fits).size());
  }
  return campaigns;
}

std::uint64_t spread(std::uint64_t i, std::uint64_t points, std::uint64_t seed) {
  if (points < 3) return i % std::max<std::uint64_t>(points, 1);
  auto step = static_cast<std::uint64_t>(static_cast<double>(points) * 0.6180339887);
  while (std::gcd(step, points) != 1) ++step;
  return (i * step + seed) % points;
}

}  // namespace rota::faults
