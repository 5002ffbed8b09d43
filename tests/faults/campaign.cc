// SPDX-License-Identifier: Apache-2.0
#include "faults/campaign.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace rota::faults {

namespace {

constexpr std::uint64_t kSampleMax = 4'000;  // damages of one kind to one kind of file, of an image
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kHeaderBytes = 7;  // of a record: checksum, length, type
constexpr std::uint64_t kChecksumBytes = 4;

struct FileKind {
  const char* name;
  std::function<bool(const std::string&)> fits;
  bool has_records = false;  // of RocksDB's log format
};

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}
bool begins_with(const std::string& name, const std::string& begin) {
  return name.rfind(begin, 0) == 0;
}

std::vector<FileKind> file_kinds() {
  return {
      {"log", [](const std::string& n) { return ends_with(n, ".log"); }, true},
      {"table", [](const std::string& n) { return ends_with(n, ".sst"); }},
      {"MANIFEST", [](const std::string& n) { return begins_with(n, "MANIFEST-"); }, true},
      {"CURRENT", [](const std::string& n) { return n == "CURRENT"; }},
      {"OPTIONS", [](const std::string& n) { return begins_with(n, "OPTIONS-"); }},
      {"acked_seq", [](const std::string& n) { return n == "acked_seq"; }},
      {"store_id", [](const std::string& n) { return n == "store_id"; }},
  };
}

void add_disk_faults(Bench& bench, std::uint64_t seed, const Bench::Calls& calls,
                     std::vector<Campaign>* all) {
  all->push_back({"power loss",
                  calls.all,
                  [&bench, seed](std::uint64_t point) {
                    DiskPlan plan;
                    plan.fault = Fault::kPowerLoss;
                    plan.nth = point + 1;
                    plan.seed = seed + point;
                    return bench.disk_fault(plan, true);
                  },
                  {},
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
        all->push_back({kind,
                        calls.of[i],
                        [&bench, seed, fault, lasting, op](std::uint64_t point) {
                          DiskPlan plan{fault, op, point + 1, lasting, seed + point};
                          return bench.disk_fault(plan, (point + seed) % 2 == 0);
                        },
                        {},
                        /*open_ended=*/true});
      }
    }
  }
}

void add_torn(Bench& bench, const Image& image, std::vector<Campaign>* all) {
  const std::uint64_t begin = image.places.back().begin;
  const std::uint64_t bytes = image.places.back().end - begin;
  const std::array kinds{std::pair{"torn last batch: cut", Damage::Kind::kCut},
                         std::pair{"torn last batch: zeros", Damage::Kind::kZeroRest},
                         std::pair{"torn last batch: noise", Damage::Kind::kNoiseRest}};
  for (const auto& [name, kind] : kinds) {
    all->push_back({name, bytes, [&bench, image, begin, kind = kind](std::uint64_t point) {
                      return bench.damage(image, {kind, image.last_log(), begin + point, 0}, true);
                    }});
  }
}

// ---- damage of what had been synced -----------------------------------------------------------

// Offsets of a file, at most about `most` of them: each `step`-th, from one that the seed draws.
std::vector<std::uint64_t> offsets(std::uint64_t bytes, std::uint64_t most, std::uint64_t seed) {
  const std::uint64_t step = std::max<std::uint64_t>(1, bytes / std::max<std::uint64_t>(1, most));
  std::vector<std::uint64_t> found;
  for (std::uint64_t at = seed % step; at < bytes; at += step) found.push_back(at);
  return found;
}

using Damages = std::vector<Damage>;
// What is done to one file.
using Damager = std::function<Damages(const Image& image, const std::string& file)>;

// The k-th of all images after each other, then the next: what the time allows meets all of them.
void add_damages(Bench& bench, const std::string& name, const FileKind& files,
                 const std::deque<Image>& images, const Damager& damager,
                 std::vector<Campaign>* all) {
  std::vector<std::pair<const Image*, Damages>> rows;
  std::size_t longest = 0;
  for (const Image& image : images) {
    Damages row;
    for (const std::string& file : files_of(image, files.fits)) {
      Damages more = damager(image, file);
      std::move(more.begin(), more.end(), std::back_inserter(row));
    }
    longest = std::max(longest, row.size());
    rows.emplace_back(&image, std::move(row));
  }
  std::vector<std::pair<const Image*, Damage>> points;
  for (std::size_t i = 0; i < longest; ++i) {
    for (const auto& [image, row] : rows) {
      if (i < row.size()) points.emplace_back(image, row[i]);
    }
  }
  const std::uint64_t count = points.size();
  all->push_back(
      {name + ": " + files.name, count, [&bench, points = std::move(points)](std::uint64_t point) {
         const auto& [image, damage] = points.at(point);
         return bench.damage(*image, damage, false);
       }});
}

std::uint64_t share_of(const Image& image, const FileKind& files) {
  return kSampleMax / std::max<std::size_t>(1, files_of(image, files.fits).size());
}

// Anywhere in a file.
void add_anywhere(Bench& bench, std::uint64_t seed, const FileKind& files,
                  const std::deque<Image>& images, std::vector<Campaign>* all) {
  const auto spread_over = [&](Damage::Kind kind) {
    return [&files, seed, kind](const Image& image, const std::string& file) {
      Damages damages;
      const std::uint64_t most = share_of(image, files) / (kind == Damage::Kind::kFlip ? 1U : 8U);
      for (const std::uint64_t at : offsets(image.bytes_of(file), most, seed)) {
        damages.push_back({kind, file, at, static_cast<unsigned>((at * 5 + seed) % 8)});
      }
      return damages;
    };
  };
  add_damages(bench, "flipped bit", files, images, spread_over(Damage::Kind::kFlip), all);
  add_damages(bench, "cut off", files, images, spread_over(Damage::Kind::kCut), all);
  add_damages(bench, "zeros from there on", files, images, spread_over(Damage::Kind::kZeroRest),
              all);
  add_damages(
      bench, "zeroed page", files, images,
      [](const Image& image, const std::string& file) {
        Damages damages;
        for (std::uint64_t at = 0; at < image.bytes_of(file); at += kPageBytes) {
          damages.push_back({Damage::Kind::kZeroPage, file, at, 0});
        }
        return damages;
      },
      all);
  add_damages(
      bench, "missing file", files, images,
      [](const Image&, const std::string& file) {
        return Damages{{Damage::Kind::kMissing, file, 0, 0}};
      },
      all);
}

// Logs and lists of files are made of records: what says how long they are is a small part of the
// bytes, and a file that ends between two of them looks whole.
void add_at_records(Bench& bench, std::uint64_t seed, const FileKind& files,
                    const std::deque<Image>& images, std::vector<Campaign>* all) {
  add_damages(
      bench, "flipped bit in a header", files, images,
      [seed](const Image& image, const std::string& file) {
        Damages damages;
        auto begins = record_begins(image, file);
        begins.pop_back();
        for (const std::uint64_t begin : begins) {
          for (std::uint64_t byte = 0; byte < kHeaderBytes; ++byte) {
            // Of length and type each bit says something else.
            const unsigned bits = byte < kChecksumBytes ? 1 : 8;
            for (unsigned bit = 0; bit < bits; ++bit) {
              const auto n = static_cast<unsigned>((bit + begin + seed) % 8);
              damages.push_back({Damage::Kind::kFlip, file, begin + byte, n});
            }
          }
        }
        return damages;
      },
      all);
  for (const auto& [name, kind] : {std::pair{"cut off at a record", Damage::Kind::kCut},
                                   std::pair{"zeros from a record on", Damage::Kind::kZeroRest}}) {
    add_damages(
        bench, name, files, images,
        [kind = kind](const Image& image, const std::string& file) {
          Damages damages;
          auto begins = record_begins(image, file);
          begins.pop_back();
          for (const std::uint64_t begin : begins) damages.push_back({kind, file, begin, 0});
          return damages;
        },
        all);
  }
}

void add_damage(Bench& bench, std::uint64_t seed, const std::deque<Image>& images,
                std::vector<Campaign>* all) {
  for (const FileKind& files : file_kinds()) {
    add_anywhere(bench, seed, files, images, all);
    if (files.has_records) add_at_records(bench, seed, files, images, all);
  }
}

// ---- faults while a damaged store is opened -----------------------------------------------------

// What an open has to get through: a log that only ends, a torn one, damage, and lists of files
// that are torn where nothing depends on it and where something does.
struct Lesson {
  const char* name;
  std::vector<Damage> damages;  // tried from the last one backwards, up to one that is refused
};

std::vector<Lesson> lessons(const Image& image) {
  const std::string manifest =
      files_of(image, [](const std::string& n) { return begins_with(n, "MANIFEST-"); }).back();
  const std::string first_log =
      files_of(image, [](const std::string& n) { return ends_with(n, ".log"); }).front();
  const std::uint64_t in_last = (image.places.back().begin + image.places.back().end) / 2;
  using Kind = Damage::Kind;
  Lesson cut{"damaged MANIFEST", {}};
  for (std::uint64_t part = 0; part < 16; ++part) {
    cut.damages.push_back({Kind::kNoiseRest, manifest, image.bytes_of(manifest) * part / 16, 0});
  }
  return {{"ended log", {{}}},
          {"cut log", {{Kind::kCut, image.last_log(), in_last, 0}}},
          {"torn log", {{Kind::kNoiseRest, image.last_log(), in_last, 0}}},
          {"torn MANIFEST", {{Kind::kTornRecord, manifest, 0, 0}}},
          {"damaged log", {{Kind::kFlip, first_log, 20, 3}}},
          std::move(cut)};
}

// A campaign of its own for each lesson, with all that was tried to learn it.
std::vector<Recovery> recoveries(Bench& bench, const Image& image, std::vector<Campaign>* all) {
  std::vector<Recovery> found;
  for (const Lesson& lesson : lessons(image)) {
    const std::vector<Damage>& damages = lesson.damages;
    Campaign campaign{std::string("undisturbed open: ") + lesson.name, damages.size(),
                      [&bench, image, damages](std::uint64_t point) {
                        return bench.damage(image, damages.at(point), false);
                      }};
    Recovery recovery;
    for (std::size_t point = damages.size(); point-- > 0;) {
      recovery = bench.learn_recovery(image, lesson.name, damages[point]);
      campaign.learned[point] = recovery.verdict;
      if (recovery.verdict.kind == Verdict::Kind::kRefused) break;
    }
    found.push_back(std::move(recovery));
    all->push_back(std::move(campaign));
  }
  return found;
}

constexpr std::array kEveryFault{
    std::pair{Fault::kKilled, "kill"}, std::pair{Fault::kPowerLoss, "power loss"},
    std::pair{Fault::kIo, "EIO"}, std::pair{Fault::kNoSpace, "ENOSPC"}};

// At the nth call of all kinds.
DiskPlan any_call(Fault fault, std::uint64_t point, std::uint64_t seed) {
  DiskPlan plan;
  plan.fault = fault;
  plan.nth = point + 1;
  plan.lasting = (point + seed) % 2 == 0;
  plan.seed = seed + point;
  plan.any_op = true;
  return plan;
}

// Power loss, kill, and both refusals of the disk, at every call of a recovery.
void add_recoveries(Bench& bench, std::uint64_t seed, const Image& image,
                    std::vector<Campaign>* all) {
  for (const Recovery& recovery : recoveries(bench, image, all)) {
    for (const auto& [fault, name] : kEveryFault) {
      const std::uint64_t points = fault == Fault::kNoSpace ? recovery.space_calls : recovery.calls;
      all->push_back({std::string(name) + " in the open of: " + recovery.name,
                      points,
                      [&bench, image, recovery, seed, fault = fault](std::uint64_t point) {
                        return bench.recovery_fault(image, recovery, any_call(fault, point, seed));
                      },
                      {},
                      /*open_ended=*/true});
    }
  }
}

// ---- the store's own files ----------------------------------------------------------------------

// Of every other point; at one of `calls`.
std::optional<DiskPlan> second_fault(std::uint64_t point, std::uint64_t seed, std::uint64_t calls) {
  if (calls == 0 || drawn(seed, "again", point, 0, 1) == 0) return std::nullopt;
  const Fault fault = kEveryFault[drawn(seed, "fault", point, 0, kEveryFault.size() - 1)].first;
  return any_call(fault, drawn(seed, "call", point, 0, calls - 1), seed);
}

// The open that goes on with the creation is struck as well, now and then.
void add_creations(Bench& bench, std::uint64_t seed, std::vector<Campaign>* all) {
  const Bench::Calls calls = bench.count_creation();
  for (const auto& [fault, name] : kEveryFault) {
    const std::uint64_t points = fault == Fault::kNoSpace ? calls.need_space : calls.all;
    all->push_back({std::string(name) + " in a creation",
                    points,
                    [&bench, seed, calls, fault = fault](std::uint64_t point) {
                      DiskPlan again;
                      if (const auto second = second_fault(point, seed, calls.all)) again = *second;
                      again.seed = seed + point;
                      return bench.creation_fault(any_call(fault, point, seed), again);
                    },
                    {},
                    /*open_ended=*/true});
  }
}

void add_witness(Bench& bench, std::uint64_t seed, std::vector<Campaign>* all) {
  static constexpr char kFile[] = "/acked_seq";
  const Bench::Calls calls = bench.count_calls(kFile);
  for (const auto& [fault, name] : kEveryFault) {
    const std::uint64_t points = fault == Fault::kNoSpace ? calls.need_space : calls.all;
    all->push_back({std::string(name) + " at the witness",
                    points,
                    [&bench, seed, fault = fault](std::uint64_t point) {
                      DiskPlan plan = any_call(fault, point, seed);
                      plan.file = kFile;
                      return bench.disk_fault(plan, (point / 2 + seed) % 2 == 0);
                    },
                    {},
                    /*open_ended=*/true});
  }
}

// Damages that an open refuses with the number of a loss.
struct LossLesson {
  const char* name;
  std::vector<std::pair<const Image*, Damage>> damages;  // tried up to the first such one
};

// What only the witness knows to be missing, and damage that whole batches follow, in a store whose
// witness lags if there is one. Before what a family has in its tables RocksDB gives up nothing.
std::vector<LossLesson> loss_lessons(const std::deque<Image>& images) {
  const Image& closed = images.front();
  const std::uint64_t in_last = (closed.places.back().begin + closed.places.back().end) / 2;
  LossLesson damaged{"damaged log", {}};
  for (auto image = images.rbegin(); image != images.rend(); ++image) {
    for (const BatchPlace& place : image->places) {
      if (log_name(place.log) != image->last_log() || place.seq == image->submitted) continue;
      damaged.damages.emplace_back(
          &*image, Damage{Damage::Kind::kFlip, log_name(place.log), place.begin + 20, 3});
    }
  }
  return {{"cut log", {{&closed, {Damage::Kind::kCut, closed.last_log(), in_last, 0}}}},
          std::move(damaged)};
}

void add_losses(Bench& bench, std::uint64_t seed, const std::deque<Image>& images,
                std::vector<Campaign>* all, std::string* text) {
  for (const LossLesson& lesson : loss_lessons(images)) {
    Loss loss;
    const Image* image = nullptr;
    for (const auto& [at, damage] : lesson.damages) {
      if (loss.good != 0) break;
      image = at;
      loss = bench.learn_loss(*image, lesson.name, damage);
    }
    if (loss.good == 0) {
      *text += std::string("no image has a loss to be given up: ") + lesson.name + "\n";
      continue;
    }
    Campaign learned{
        std::string("accepted loss: ") + lesson.name, 1,
        [&bench, image, loss](std::uint64_t) { return bench.loss_fault(*image, loss, {}); }};
    learned.learned[0] = loss.verdict;
    all->push_back(std::move(learned));
    for (const auto& [fault, what] : kEveryFault) {
      const std::uint64_t points = fault == Fault::kNoSpace ? loss.space_calls : loss.calls;
      all->push_back({std::string(what) + " in the accepted loss of: " + lesson.name,
                      points,
                      [&bench, image, loss, seed, fault = fault](std::uint64_t point) {
                        return bench.loss_fault(*image, loss, any_call(fault, point, seed),
                                                second_fault(point, seed, loss.calls));
                      },
                      {},
                      /*open_ended=*/true});
    }
  }
}

}  // namespace

Campaigns make_campaigns(Bench& bench, std::uint64_t seed) {
  Campaigns campaigns;
  const Bench::Calls calls = bench.count_calls();
  const Image torn = bench.make_image(ImageKind::kTorn);
  campaigns.text = "the work: " + std::to_string(calls.all) + " calls of the file system\n";
  for (const ImageKind kind :
       {ImageKind::kClosed, ImageKind::kCrashed, ImageKind::kRestarted, ImageKind::kHalfFlushed}) {
    campaigns.images.push_back(bench.make_image(kind));
    campaigns.text += campaigns.images.back().text() + '\n';
  }
  campaigns.text += torn.text() + '\n';
  add_disk_faults(bench, seed, calls, &campaigns.all);
  add_creations(bench, seed, &campaigns.all);
  add_witness(bench, seed, &campaigns.all);
  add_losses(bench, seed, campaigns.images, &campaigns.all, &campaigns.text);
  add_recoveries(bench, seed, torn, &campaigns.all);
  add_torn(bench, torn, &campaigns.all);
  add_damage(bench, seed, campaigns.images, &campaigns.all);
  return campaigns;
}

std::uint64_t spread(std::uint64_t i, std::uint64_t points, std::uint64_t seed) {
  if (points < 3) return i % std::max<std::uint64_t>(points, 1);
  auto step = static_cast<std::uint64_t>(static_cast<double>(points) * 0.6180339887);
  while (std::gcd(step, points) != 1) ++step;
  return (i * step + seed) % points;
}

}  // namespace rota::faults
