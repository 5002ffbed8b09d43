// SPDX-License-Identifier: Apache-2.0
#include "store/rocks_key.h"

namespace rota::store {

namespace {

constexpr std::size_t kJobKeyBytes = 13;  // queue 4, inverted priority 1, sequence 8
constexpr char kFinalRecordPrefix = 'j';  // model/keys.h: kFinal also holds an index

class InsertHint final : public rocksdb::SliceTransform {
 public:
  const char* Name() const override { return "rota.insert_hint.1"; }
  bool InDomain(const rocksdb::Slice& key) const override {
    if (key.empty()) return false;
    switch (static_cast<core::Keyspace>(key[0])) {
      case core::Keyspace::kJob:
      case core::Keyspace::kSide:
        return key.size() == 1 + kJobKeyBytes;
      case core::Keyspace::kFinal:
        return key.size() == 2 + kJobKeyBytes && key[1] == kFinalRecordPrefix;
      default:
        return false;
    }
  }
  // A slice of the key itself: RocksDB keeps the pointer.
  rocksdb::Slice Transform(const rocksdb::Slice& key) const override {
    return {key.data(), key.size() - 1};
  }
};

}  // namespace

std::string tagged_key(char tag, std::string_view key) {
  std::string out;
  out.reserve(1 + key.size());
  out.push_back(tag);
  out.append(key);
  return out;
}

std::string tag_end(char tag) {
  return std::string(1, static_cast<char>(static_cast<unsigned char>(tag) + 1));
}

std::shared_ptr<const rocksdb::SliceTransform> insert_hint() {
  static const auto hint = std::make_shared<const InsertHint>();
  return hint;
}

}  // namespace rota::store
