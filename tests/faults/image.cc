// SPDX-License-Identifier: Apache-2.0
#include "faults/image.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace rota::faults {

namespace fs = std::filesystem;
using core::CommitSeq;

namespace {

constexpr std::uint64_t kPageBytes = 4096;
// The log format of RocksDB: blocks of records, in each of them a header of checksum u32,
// length u16 and type u8.
constexpr std::uint64_t kBlockBytes = 32768;
constexpr std::uint64_t kHeaderBytes = 7;

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << in.rdbuf();
  return bytes.str();
}

// The bytes that a damage changes, up to `end`; UINT64_MAX: all that follow.
struct Extent {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

Extent extent_of(const Damage& damage) {
  switch (damage.kind) {
    case Damage::Kind::kFlip:
      return {damage.offset, damage.offset + 1};
    case Damage::Kind::kZeroPage:
      return {damage.offset, damage.offset + kPageBytes};
    case Damage::Kind::kCut:
    case Damage::Kind::kZeroRest:
    case Damage::Kind::kNoiseRest:
      return {damage.offset, UINT64_MAX};
    case Damage::Kind::kMissing:
      return {0, UINT64_MAX};
    case Damage::Kind::kNone:
    case Damage::Kind::kTornRecord:
      break;
  }
  return {};
}

void apply(const Damage& damage, std::uint64_t seed, const std::string& path) {
  if (damage.kind == Damage::Kind::kMissing) {
    fs::remove(path);
    return;
  }
  std::string bytes = read_file(path);
  const auto from = static_cast<std::size_t>(damage.offset);
  const bool may_be_behind =
      damage.kind == Damage::Kind::kCut || damage.kind == Damage::Kind::kTornRecord;
  if (from >= bytes.size() && !may_be_behind) return;
  switch (damage.kind) {
    case Damage::Kind::kNone:
    case Damage::Kind::kMissing:
      return;
    case Damage::Kind::kFlip:
      bytes[from] = static_cast<char>(bytes[from] ^ static_cast<char>(1U << damage.bit));
      break;
    case Damage::Kind::kZeroPage: {
      const std::size_t n = std::min<std::size_t>(kPageBytes, bytes.size() - from);
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(from), n, '\0');
      break;
    }
    case Damage::Kind::kCut:
      bytes.resize(std::min(from, bytes.size()));
      break;
    case Damage::Kind::kZeroRest:
      std::fill(bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.end(), '\0');
      break;
    case Damage::Kind::kNoiseRest:
      for (std::size_t i = from; i < bytes.size(); ++i) {
        bytes[i] = static_cast<char>((i * 2654435761U + seed) >> 7U);
      }
      break;
    case Damage::Kind::kTornRecord: {
      constexpr std::size_t kData = 100;  // what the header says and the pages do not hold
      bytes += std::string("\x01\x02\x03\x04\x64\x00\x01", 7) + std::string(kData, '\0');
      break;
    }
  }
  fs::remove(path);  // it may share its bytes with the image
  std::ofstream(path, std::ios::binary) << bytes;
}

// Files of the database are only ever replaced, so a link is a copy; those beside it are written in
// place.
void copy_image(const std::string& from, const std::string& to) {
  fs::create_directories(to + "/db");
  fs::permissions(to, fs::perms::owner_all);
  for (const auto& entry : fs::directory_iterator(from)) {
    if (entry.is_regular_file()) fs::copy(entry.path(), to);
  }
  for (const auto& entry : fs::directory_iterator(from + "/db")) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("LOG", 0) == 0 || name == "LOCK") continue;
    fs::create_hard_link(entry.path(), to + "/db/" + name);
  }
}

bool is_log(const std::string& name) { return fs::path(name).extension() == ".log"; }

}  // namespace

std::string text_of(const Damage& damage) {
  const std::string at = " at " + std::to_string(damage.offset) + " of " + damage.file;
  switch (damage.kind) {
    case Damage::Kind::kNone:
      return "no damage";
    case Damage::Kind::kFlip:
      return "bit " + std::to_string(damage.bit) + " flipped" + at;
    case Damage::Kind::kZeroPage:
      return "a page of zeros" + at;
    case Damage::Kind::kCut:
      return "cut off" + at;
    case Damage::Kind::kZeroRest:
      return "zeros from there on" + at;
    case Damage::Kind::kNoiseRest:
      return "noise from there on" + at;
    case Damage::Kind::kTornRecord:
      return "a torn record at the end of " + damage.file;
    case Damage::Kind::kMissing:
      return damage.file + " is missing";
  }
  return {};
}

std::string log_name(std::uint64_t number) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "db/%06llu.log", static_cast<unsigned long long>(number));
  return name.data();
}

std::string Image::text() const {
  std::ostringstream text;
  text << name << ": batches 1 to " << acked << ", witness " << witness << ", logs";
  for (const std::string& log : files_of(*this, is_log)) {
    text << ' ' << fs::path(log).stem().string() << " of " << bytes_of(log) << " bytes,";
  }
  text << " needed by state from " << state_log << ", by payload from " << payload_log << ", "
       << files_of(*this, [](const std::string& n) { return n.find(".sst") != n.npos; }).size()
       << " tables";
  return text.str();
}

std::string Image::last_log() const {
  const auto logs = files_of(*this, is_log);
  return logs.empty() ? std::string() : logs.back();
}

std::uint64_t Image::bytes_of(const std::string& file) const {
  return fs::file_size(folder + "/" + file);
}

std::vector<std::string> files_of(const Image& image,
                                  const std::function<bool(const std::string&)>& fits) {
  std::vector<std::string> found;
  for (const auto& entry : fs::recursive_directory_iterator(image.folder)) {
    if (!entry.is_regular_file() || entry.file_size() == 0) continue;
    const std::string name = entry.path().filename().string();
    if (fits(name)) found.push_back(fs::relative(entry.path(), image.folder).string());
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::uint64_t> record_begins(const Image& image, const std::string& file) {
  const std::string bytes = read_file(image.folder + "/" + file);
  const auto byte = [&](std::uint64_t at) { return static_cast<unsigned char>(bytes[at]); };
  std::vector<std::uint64_t> begins;
  std::uint64_t at = 0;
  while (at + kHeaderBytes <= bytes.size()) {
    const std::uint64_t room = kBlockBytes - at % kBlockBytes;
    if (room < kHeaderBytes) {
      at += room;
      continue;
    }
    if (byte(at + 6) == 0) break;
    begins.push_back(at);
    at += kHeaderBytes + byte(at + 4) + 256U * byte(at + 5);
  }
  begins.push_back(std::min<std::uint64_t>(at, bytes.size()));
  return begins;
}

bool is_half_flushed(const Image& image, std::uint64_t seed) {
  return std::any_of(image.places.begin(), image.places.end(), [&](const BatchPlace& place) {
    if (place.log < image.payload_log || place.log >= image.state_log) return false;
    core::Batch batch;
    fill(seed, place.seq, &batch);
    return std::any_of(batch.changes().begin(), batch.changes().end(), [](const auto& change) {
      return change.first.first == core::Keyspace::kPayload;
    });
  });
}

CommitSeq least_allowed(const Image& image, const Damage& damage) {
  if (damage.file.empty() || damage.file != image.last_log()) return image.acked;
  const Extent extent = extent_of(damage);
  const bool to_the_end = extent.end >= image.bytes_of(damage.file);
  CommitSeq first_hit = 0;
  bool whole_follows = false;
  for (const BatchPlace& place : image.places) {
    if (log_name(place.log) != damage.file) continue;
    const bool hit = place.end > extent.begin && (to_the_end || place.begin < extent.end);
    if (hit && first_hit == 0) first_hit = place.seq;
    if (!to_the_end && place.begin >= extent.end) whole_follows = true;
  }
  if (first_hit == 0 || whole_follows) return image.acked;
  return std::min(image.acked, std::max(first_hit - 1, image.witness));
}

void place(const Image& image, const Damage& damage, std::uint64_t seed, const std::string& to) {
  copy_image(image.folder, to);
  if (damage.kind != Damage::Kind::kNone) apply(damage, seed, to + "/" + damage.file);
}

}  // namespace rota::faults
