// SPDX-License-Identifier: Apache-2.0
#include "store/torn_manifest.h"

#include <algorithm>
#include <fstream>

namespace rota::store {

namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

class ShortenedFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  ShortenedFile(std::unique_ptr<rocksdb::FSSequentialFile> file, std::uint64_t bytes)
      : FSSequentialFileOwnerWrapper(std::move(file)), left_(bytes) {}

  IOStatus Read(std::size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override {
    const auto most = static_cast<std::size_t>(std::min<std::uint64_t>(n, left_));
    IOStatus status = target()->Read(most, options, result, scratch, dbg);
    if (status.ok()) left_ -= std::min<std::uint64_t>(result->size(), left_);
    return status;
  }
  IOStatus Skip(std::uint64_t n) override {
    const std::uint64_t most = std::min(n, left_);
    left_ -= most;
    return target()->Skip(most);
  }

 private:
  std::uint64_t left_;
};

class ShortenedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  ShortenedFileSystem(std::shared_ptr<rocksdb::FileSystem> base, LogDamage end)
      : FileSystemWrapper(std::move(base)), end_(std::move(end)) {}
  const char* Name() const override { return "rota.shortened"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* dbg) override {
    IOStatus status = target()->NewSequentialFile(name, options, file, dbg);
    if (status.ok() && name == end_.file) {
      *file = std::make_unique<ShortenedFile>(std::move(*file), end_.offset);
    }
    return status;
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, std::uint64_t* size,
                       IODebugContext* dbg) override {
    IOStatus status = target()->GetFileSize(name, options, size, dbg);
    if (status.ok() && name == end_.file) *size = std::min(*size, end_.offset);
    return status;
  }

 private:
  const LogDamage end_;
};

}  // namespace

std::string current_manifest(const std::string& database_path) {
  std::ifstream in(database_path + "/CURRENT", std::ios::binary);
  std::string name;
  std::getline(in, name);
  if (!in || in.eof() || name.rfind("MANIFEST-", 0) != 0) return {};
  if (name.find('/') != std::string::npos) return {};
  return database_path + "/" + name;
}

std::optional<TornManifest> TornManifest::find(rocksdb::FileSystem& files,
                                               const std::string& database_path,
                                               std::optional<Failure>* unreadable) {
  const std::string path = current_manifest(database_path);
  if (path.empty()) return std::nullopt;
  auto end = torn_end_of(files, path);
  *unreadable = std::move(end.unreadable);
  if (!end.damage) return std::nullopt;
  return TornManifest(std::move(*end.damage));
}

std::shared_ptr<rocksdb::FileSystem> TornManifest::shortened(
    std::shared_ptr<rocksdb::FileSystem> base) const {
  return std::make_shared<ShortenedFileSystem>(std::move(base), damage_);
}

std::string TornManifest::text() const {
  return "the file " + damage_.file + " ends at offset " + std::to_string(damage_.offset) +
         " in a torn record, which was never synced and is left out";
}

}  // namespace rota::store
