// SPDX-License-Identifier: Apache-2.0
//
// The reader that decides whether a damaged log refuses the start or is the end of a torn batch.
// Input: one byte that says what. 0: any bytes as a log. Else batches written as RocksDB writes
// them: their number, and for each its size and whether it begins a log; then one damage, of which
// is known what must be said.
#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/crc32c.h"
#include "fuzz/fuzz.h"
#include "fuzz/scratch.h"
#include "store/log_scan.h"

namespace {

using namespace rota;

constexpr std::size_t kBlockBytes = 32768;
constexpr std::size_t kHeaderBytes = 7;

// One physical record.
struct Piece {
  std::size_t log = 0;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t batch = 0;
};

void put_u32(std::uint32_t v, std::string* to) {
  for (unsigned shift = 0; shift < 32; shift += 8) to->push_back(static_cast<char>(v >> shift));
}

std::string header(unsigned type, std::string_view data) {
  const std::string covered = static_cast<char>(type) + std::string(data);
  const std::uint32_t crc = base::crc32c(covered);
  std::string bytes;
  put_u32(((crc >> 15U) | (crc << 17U)) + 0xa282ead8U, &bytes);
  bytes.push_back(static_cast<char>(data.size()));
  bytes.push_back(static_cast<char>(data.size() >> 8U));
  bytes.push_back(static_cast<char>(type));
  return bytes;
}

struct Logs {
  std::vector<std::string> bytes;
  std::vector<Piece> pieces;
  std::size_t batches = 0;

  void add(std::string_view data, bool new_log) {
    if (new_log || bytes.empty()) bytes.emplace_back();
    std::string& log = bytes.back();
    bool first = true;
    do {
      const std::size_t room = kBlockBytes - log.size() % kBlockBytes;
      if (room < kHeaderBytes) {
        log.append(room, '\0');
        continue;
      }
      const std::string_view part = data.substr(0, room - kHeaderBytes);
      const bool last = part.size() == data.size();
      const unsigned type = first ? (last ? 1U : 2U) : last ? 4U : 3U;
      pieces.push_back(
          {bytes.size() - 1, log.size(), log.size() + kHeaderBytes + part.size(), batches});
      log += header(type, part);
      log += part;
      data.remove_prefix(part.size());
      first = false;
      if (last) break;
    } while (true);
    ++batches;
  }
  const Piece& first_of(std::size_t batch) const {
    return *std::find_if(pieces.begin(), pieces.end(),
                         [&](const Piece& piece) { return piece.batch == batch; });
  }
};

const fuzz::Scratch& scratch() {
  static const fuzz::Scratch folder;
  return folder;
}

std::string name_of(std::size_t log) { return "00000" + std::to_string(log + 1) + ".log"; }

store::LogLook look(const std::vector<std::string>& logs) {
  for (const auto& entry : std::filesystem::directory_iterator(scratch().path())) {
    std::filesystem::remove(entry.path());
  }
  for (std::size_t i = 0; i < logs.size(); ++i) scratch().write(name_of(i), logs[i]);
  return store::look_at_logs(*rocksdb::FileSystem::Default(), scratch().path(), 0);
}

std::string text_of(const std::optional<store::LogDamage>& place) {
  return place ? place->file + " at " + std::to_string(place->offset) : std::string("nowhere");
}

bool is_at(const std::optional<store::LogDamage>& place, const Piece& piece) {
  return place && place->file == scratch().file(name_of(piece.log)) && place->offset == piece.begin;
}

// Places lie within their files, and what is proof of a damage lies behind it.
void check_places(const store::LogLook& look) {
  const auto within = [](const std::optional<store::LogDamage>& place) {
    return !place || place->offset < std::filesystem::file_size(place->file);
  };
  FUZZ_CHECK(within(look.cut_off), text_of(look.cut_off));
  if (!look.verdict) return;
  FUZZ_CHECK(within(look.verdict->damage), text_of(look.verdict->damage));
  const auto& after = look.verdict->good_after;
  FUZZ_CHECK(within(after), text_of(after));
  if (!after) return;
  FUZZ_CHECK(std::pair(after->file, after->offset) >
                 std::pair(look.verdict->damage.file, look.verdict->damage.offset),
             text_of(after) + " is not behind " + text_of(look.verdict->damage));
}

// A wrong byte: that record is named, and whether a whole batch follows. Only a wrong length or
// type that makes a log end within its last record looks like a crash, which leaves that batch out.
void check_flip(const Logs& logs, const Piece& piece, std::size_t at, std::uint8_t mask) {
  std::vector<std::string> bytes = logs.bytes;
  bytes[piece.log][at] = static_cast<char>(bytes[piece.log][at] ^ static_cast<char>(mask));
  const store::LogLook found = look(bytes);
  check_places(found);
  const std::size_t in_piece = at - piece.begin;
  const bool follows_in_log =
      piece.batch + 1 < logs.batches && logs.first_of(piece.batch + 1).log == piece.log;
  const bool says_length = in_piece >= 4 && in_piece < kHeaderBytes;
  if (says_length && !follows_in_log && !found.verdict) {
    const bool last_log = piece.log + 1 == logs.bytes.size();
    FUZZ_CHECK(!last_log || is_at(found.cut_off, logs.first_of(piece.batch)),
               "the last batch is not seen cut off, but " + text_of(found.cut_off));
    return;
  }
  FUZZ_CHECK(found.verdict && is_at(found.verdict->damage, piece),
             "damage at " + std::to_string(at) + " is seen " +
                 text_of(found.verdict ? std::optional(found.verdict->damage) : std::nullopt));
  const auto& after = found.verdict->good_after;
  if (piece.batch + 1 < logs.batches) {
    const Piece& next = logs.first_of(piece.batch + 1);
    FUZZ_CHECK(is_at(after, next), "the next batch is whole, but found " + text_of(after));
  } else {
    FUZZ_CHECK(!after, "nothing follows, but found " + text_of(after));
  }
  const auto torn =
      store::torn_end_of(*rocksdb::FileSystem::Default(), scratch().file(name_of(piece.log)))
          .damage;
  FUZZ_CHECK(torn.has_value() == !follows_in_log, "torn end " + text_of(torn));
  FUZZ_CHECK(!torn || is_at(torn, piece), text_of(torn));
}

// The last log ends early: no damage, and a batch is cut off where one was begun and not ended.
void check_cut(const Logs& logs, std::size_t size) {
  std::vector<std::string> bytes = logs.bytes;
  bytes.back().resize(size);
  const store::LogLook found = look(bytes);
  check_places(found);
  FUZZ_CHECK(!found.verdict, "a cut is no damage: " + text_of(found.verdict->damage));
  for (const Piece& piece : logs.pieces) {
    if (piece.log + 1 != logs.bytes.size()) continue;
    if (size >= piece.begin + kHeaderBytes && size < piece.end) {
      FUZZ_CHECK(found.cut_off.has_value(), "a batch cut off at " + std::to_string(size));
    }
  }
  if (size == logs.bytes.back().size()) {
    FUZZ_CHECK(!found.cut_off, "whole, but cut off " + text_of(found.cut_off));
  }
}

void check_batches(fuzz::Input* input) {
  Logs logs;
  const std::size_t count = 1 + input->byte() % 8;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t size = input->byte();
    const bool new_log = (input->byte() & 1U) != 0;
    std::string batch(8, '\x05');  // sequence number, then the count of the changes
    put_u32(1, &batch);
    // Small ones, and those that take more than a block.
    batch.append(size < 200 ? size : (size - 199U) * 1'000U, static_cast<char>(0x30 + i));
    logs.add(batch, new_log);
  }
  const store::LogLook whole = look(logs.bytes);
  FUZZ_CHECK(!whole.verdict && !whole.cut_off, "whole logs are seen damaged");
  const std::uint8_t what = input->byte();
  const std::uint32_t where = input->u32();
  const std::uint8_t mask = input->byte();
  if (what % 2 == 0) {
    check_cut(logs, where % (logs.bytes.back().size() + 1));
  } else {
    const Piece& piece = logs.pieces[where % logs.pieces.size()];
    const std::size_t at = piece.begin + (where >> 8U) % (piece.end - piece.begin);
    check_flip(logs, piece, at, mask == 0 ? 1 : mask);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) {
    const std::string bytes(input.rest());
    check_places(look({bytes, bytes.substr(bytes.size() / 2)}));
    store::torn_end_of(*rocksdb::FileSystem::Default(), scratch().file(name_of(0)));
  } else {
    check_batches(&input);
  }
  return 0;
}
