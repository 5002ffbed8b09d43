// SPDX-License-Identifier: Apache-2.0
//
// The store's two small files. Input: one byte that says which. The witness: a byte with two bits
// for each of the two copies (absent, as it comes, with its checksum), then the 9 bytes of each.
// The identity: its text.
#include <array>
#include <optional>
#include <string>
#include <variant>

#include "fuzz/records.h"
#include "fuzz/scratch.h"
#include "store/acked_seq.h"
#include "store/data_directory.h"

namespace {

using namespace rota;

constexpr std::size_t kSlotBytes = 4096;
constexpr std::size_t kFields = 9;  // format and number
constexpr std::uint8_t kFormat = 1;
constexpr std::size_t kIdentityBytesMax = 256;  // far more than there are in one

const fuzz::Scratch& scratch() {
  static const fuzz::Scratch folder;
  return folder;
}

std::optional<core::CommitSeq> read_witness(const std::string& name) {
  auto opened = store::AckedSeq::open(scratch().file(name), /*create=*/false);
  if (const auto* failure = std::get_if<store::Failure>(&opened)) {
    FUZZ_CHECK(failure->kind == store::FailureKind::kDamage, failure->text);
    FUZZ_CHECK(failure->text.find(name) != std::string::npos, failure->text);
    return std::nullopt;
  }
  return std::get<store::AckedSeq>(opened).value();
}

core::CommitSeq number_of(std::string_view fields) {
  std::string bytes = fuzz::sealed(fields);
  model::Reader reader = model::Reader::open(bytes, kFormat);
  return reader.u64();
}

// The larger of the copies that are whole is the witness, and what is written next is read back,
// also when the copy that was not written is damaged afterwards.
void check_witness(fuzz::Input* input) {
  const std::uint8_t flags = input->byte();
  std::string file(2 * kSlotBytes, '\0');
  std::optional<core::CommitSeq> expected;
  bool as_it_comes = false;
  for (std::size_t slot = 0; slot < 2; ++slot) {
    const unsigned how = (flags >> (2 * slot)) & 3U;
    std::string fields(input->take(kFields));
    fields.resize(kFields, '\0');
    if (how == 0) continue;
    as_it_comes = as_it_comes || how == 1;
    const std::string bytes =
        how == 1 ? fields + std::string(input->take(4)) : fuzz::sealed(fields);
    file.replace(slot * kSlotBytes, bytes.size(), bytes);
    if (how == 1 || static_cast<std::uint8_t>(fields[0]) != kFormat) continue;
    const core::CommitSeq number = number_of(fields);
    if (!expected || number > *expected) expected = number;
  }
  if ((flags & 16U) != 0) file.resize(input->u32() % (file.size() + 1));
  scratch().write("acked_seq", file);
  const auto found = read_witness("acked_seq");
  if (!as_it_comes && (flags & 16U) == 0) {
    FUZZ_CHECK(found == expected, "read " + std::to_string(found.value_or(0)));
  }
  if (!found) return;
  auto opened = store::AckedSeq::open(scratch().file("acked_seq"), /*create=*/false);
  if (auto failure = std::get<store::AckedSeq>(opened).write(*found + 1)) {
    FUZZ_CHECK(false, failure->text);
  }
  const core::CommitSeq next = *found + 1;
  if (next == 0) return;  // there is no larger one
  FUZZ_CHECK(read_witness("acked_seq") == next, "what was written is not read back");
}

void check_identity(std::string_view text) {
  static const auto directory = [] {
    scratch().write("store_id", "");
    store::DataDirectory::Options options;
    options.path = scratch().path();
    options.allow_network_file_system = true;
    return store::DataDirectory::open(options);
  }();
  const auto* held = std::get_if<store::DataDirectory>(&directory);
  FUZZ_CHECK(held != nullptr, std::get<store::Failure>(directory).text);
  scratch().write("store_id", text);
  const auto read = held->read_identity();
  if (const auto* failure = std::get_if<store::Failure>(&read)) {
    FUZZ_CHECK(failure->kind == store::FailureKind::kDamage, failure->text);
    FUZZ_CHECK(failure->text.find("store_id") != std::string::npos, failure->text);
    return;
  }
  const auto& identity = std::get<std::optional<store::StoreIdentity>>(read);
  FUZZ_CHECK(identity.has_value(), "the file is there");
  FUZZ_CHECK(!identity->store_id.empty(), "an identity without an id");
  if (text.size() > kIdentityBytesMax) return;  // written anew it may be longer than what is read
  if (auto failure = held->write_identity(*identity)) FUZZ_CHECK(false, failure->text);
  const auto again = held->read_identity();
  const auto* same = std::get_if<std::optional<store::StoreIdentity>>(&again);
  FUZZ_CHECK(same != nullptr && same->has_value() && (*same)->format == identity->format &&
                 (*same)->store_id == identity->store_id,
             "not read back: " + identity->store_id);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  if (input.byte() % 2 == 0) {
    check_witness(&input);
  } else {
    check_identity(input.rest());
  }
  return 0;
}
