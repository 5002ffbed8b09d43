// SPDX-License-Identifier: Apache-2.0
#include "store/log_scan.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <vector>

#include "base/crc32c.h"

namespace rota::store {

namespace {

// The log format of RocksDB: blocks of 32 KiB, in each of them records of
//   checksum u32 | length u16 | type u8 | (recyclable types: log number u32) | data
// all little-endian; the checksum covers type to data. A rest of a block too small for a header is
// padding.
constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;
constexpr unsigned kFirstRecyclableType = 5;
constexpr std::size_t kLogNumberBytes = 4;

unsigned byte_at(std::string_view bytes, std::size_t i) {
  return static_cast<unsigned char>(bytes[i]);
}

// RocksDB stores checksums rotated and shifted, since data may itself hold checksums.
std::uint32_t masked(std::uint32_t crc) { return ((crc >> 15U) | (crc << 17U)) + 0xa282ead8U; }

// The offset in the block of its first bad record.
std::optional<std::size_t> bad_record(std::string_view block) {
  std::size_t at = 0;
  while (at + kHeaderBytes <= block.size()) {
    const std::string_view rest = block.substr(at);
    const std::size_t length = byte_at(rest, 4) | (byte_at(rest, 5) << 8U);
    const unsigned type = byte_at(rest, 6);
    if (type == 0 && length == 0) return std::nullopt;  // the unwritten rest of a block
    const std::size_t extra = type >= kFirstRecyclableType ? kLogNumberBytes : 0;
    const std::size_t whole = kHeaderBytes + extra + length;
    if (at + whole > kBlockBytes) return at;       // no record crosses a block
    if (whole > rest.size()) return std::nullopt;  // cut off by the end of the file
    const std::uint32_t stored = byte_at(rest, 0) | (byte_at(rest, 1) << 8U) |
                                 (byte_at(rest, 2) << 16U) | (byte_at(rest, 3) << 24U);
    if (stored != masked(base::crc32c(rest.substr(6, 1 + extra + length)))) return at;
    at += whole;
  }
  return std::nullopt;
}

}  // namespace

std::optional<LogDamage> find_damage_in_log(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string block(kBlockBytes, '\0');
  for (std::uint64_t begin = 0; in; begin += kBlockBytes) {
    in.read(block.data(), static_cast<std::streamsize>(block.size()));
    const auto bad =
        bad_record(std::string_view(block.data(), static_cast<std::size_t>(in.gcount())));
    if (bad) return LogDamage{path, begin + *bad};
  }
  return std::nullopt;
}

std::optional<LogDamage> find_damage_in_logs(const std::string& database_path) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(database_path, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind("MANIFEST-", 0) == 0 || entry.path().extension() == ".log") {
      names.push_back(entry.path().string());
    }
  }
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    if (auto damage = find_damage_in_log(name)) return damage;
  }
  return std::nullopt;
}

}  // namespace rota::store
