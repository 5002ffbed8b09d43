// SPDX-License-Identifier: Apache-2.0
#include "store/watched_files.h"

#include <string>
#include <utility>

namespace rota::store {

namespace {

using rocksdb::DirFsyncOptions;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

// Shared by the files of one open.
class Watch {
 public:
  explicit Watch(std::shared_ptr<Health> health) : health_(std::move(health)) {}

  // `what` makes the sentence only when it is needed.
  template <class What>
  IOStatus seen(IOStatus status, const What& what) const {
    if (status.IsIOError() && !status.IsPathNotFound()) {
      health_->fail(rocks_failure(status, what()));
    }
    return status;
  }
  // A change of the disk; `call` is not made when the store has failed.
  template <class Call, class What>
  IOStatus change(const Call& call, const What& what) const {
    if (health_->failed()) return IOStatus::IOError("refused: the store has failed", what());
    return seen(call(), what);
  }

 private:
  const std::shared_ptr<Health> health_;
};

std::string at(const char* verb, const std::string& file, std::uint64_t offset) {
  return std::string(verb) + " " + file + " at offset " + std::to_string(offset);
}

class WatchedRandomFile final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  WatchedRandomFile(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string name,
                    std::shared_ptr<const Watch> watch)
      : FSRandomAccessFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        watch_(std::move(watch)) {}

  IOStatus Read(std::uint64_t offset, std::size_t n, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* dbg) const override {
    return watch_->seen(target()->Read(offset, n, options, result, scratch, dbg),
                        [&] { return at("read", name_, offset); });
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const IOOptions& options,
                     IODebugContext* dbg) override {
    for (std::size_t i = 0; i < count; ++i) requests[i].status = IOStatus::OK();
    auto status = target()->MultiRead(requests, count, options, dbg);
    for (std::size_t i = 0; i < count; ++i) {
      watch_->seen(requests[i].status, [&] { return at("read", name_, requests[i].offset); })
          .PermitUncheckedError();
    }
    return status;
  }
  IOStatus Prefetch(std::uint64_t offset, std::size_t n, const IOOptions& options,
                    IODebugContext* dbg) override {
    return watch_->seen(target()->Prefetch(offset, n, options, dbg),
                        [&] { return at("read ahead", name_, offset); });
  }

 private:
  const std::string name_;
  const std::shared_ptr<const Watch> watch_;
};

class WatchedSequentialFile final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  WatchedSequentialFile(std::unique_ptr<rocksdb::FSSequentialFile> file, std::string name,
                        std::shared_ptr<const Watch> watch)
      : FSSequentialFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        watch_(std::move(watch)) {}

  IOStatus Read(std::size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override {
    auto status = watch_->seen(target()->Read(n, options, result, scratch, dbg),
                               [&] { return at("read", name_, offset_); });
    offset_ += result->size();
    return status;
  }
  IOStatus Skip(std::uint64_t n) override {
    offset_ += n;
    return target()->Skip(n);
  }

 private:
  const std::string name_;
  const std::shared_ptr<const Watch> watch_;
  std::uint64_t offset_ = 0;
};

class WatchedWritableFile final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  WatchedWritableFile(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name,
                      std::shared_ptr<const Watch> watch)
      : FSWritableFileOwnerWrapper(std::move(file)),
        name_(std::move(name)),
        watch_(std::move(watch)) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    return change("write", [&] { return target()->Append(data, options, dbg); });
  }
  IOStatus Append(const Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo& verification, IODebugContext* dbg) override {
    return change("write", [&] { return target()->Append(data, options, verification, dbg); });
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options,
                            IODebugContext* dbg) override {
    return change("write", [&] { return target()->PositionedAppend(data, offset, options, dbg); });
  }
  IOStatus PositionedAppend(const Slice& data, std::uint64_t offset, const IOOptions& options,
                            const rocksdb::DataVerificationInfo& verification,
                            IODebugContext* dbg) override {
    return change("write", [&] {
      return target()->PositionedAppend(data, offset, options, verification, dbg);
    });
  }
  IOStatus Truncate(std::uint64_t size, const IOOptions& options, IODebugContext* dbg) override {
    return change("truncate", [&] { return target()->Truncate(size, options, dbg); });
  }
  IOStatus Flush(const IOOptions& options, IODebugContext* dbg) override {
    return change("flush", [&] { return target()->Flush(options, dbg); });
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return change("sync", [&] { return target()->Sync(options, dbg); });
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return change("sync", [&] { return target()->Fsync(options, dbg); });
  }
  IOStatus RangeSync(std::uint64_t offset, std::uint64_t bytes, const IOOptions& options,
                     IODebugContext* dbg) override {
    return change("sync", [&] { return target()->RangeSync(offset, bytes, options, dbg); });
  }
  // Always passed on: the descriptor must go. It may still report a failed write.
  IOStatus Close(const IOOptions& options, IODebugContext* dbg) override {
    return watch_->seen(target()->Close(options, dbg), [&] { return "close " + name_; });
  }

 private:
  template <class Call>
  IOStatus change(const char* verb, const Call& call) const {
    return watch_->change(call, [&] { return std::string(verb) + " " + name_; });
  }

  const std::string name_;
  const std::shared_ptr<const Watch> watch_;
};

class WatchedDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  WatchedDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string name,
                   std::shared_ptr<const Watch> watch)
      : FSDirectoryWrapper(directory.get()),
        directory_(std::move(directory)),
        name_(std::move(name)),
        watch_(std::move(watch)) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return watch_->change([&] { return directory_->Fsync(options, dbg); }, [&] { return what(); });
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const DirFsyncOptions& how) override {
    return watch_->change([&] { return directory_->FsyncWithDirOptions(options, dbg, how); },
                          [&] { return what(); });
  }

 private:
  std::string what() const { return "sync directory " + name_; }

  const std::unique_ptr<rocksdb::FSDirectory> directory_;
  const std::string name_;
  const std::shared_ptr<const Watch> watch_;
};

class WatchedFileSystem final : public rocksdb::FileSystemWrapper {
 public:
  WatchedFileSystem(std::shared_ptr<rocksdb::FileSystem> base, std::shared_ptr<Health> health)
      : FileSystemWrapper(std::move(base)),
        watch_(std::make_shared<const Watch>(std::move(health))) {}

  const char* Name() const override { return "rota.watched"; }

  IOStatus NewSequentialFile(const std::string& name, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* dbg) override {
    return wrap<WatchedSequentialFile>(
        name, file, watch_->seen(target()->NewSequentialFile(name, options, file, dbg), [&] {
          return "open " + name;
        }));
  }
  IOStatus NewRandomAccessFile(const std::string& name, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* dbg) override {
    return wrap<WatchedRandomFile>(
        name, file, watch_->seen(target()->NewRandomAccessFile(name, options, file, dbg), [&] {
          return "open " + name;
        }));
  }
  IOStatus NewWritableFile(const std::string& name, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* dbg) override {
    return wrap<WatchedWritableFile>(name, file, change("create ", name, [&] {
                                       return target()->NewWritableFile(name, options, file, dbg);
                                     }));
  }
  IOStatus ReopenWritableFile(const std::string& name, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* dbg) override {
    return wrap<WatchedWritableFile>(name, file, change("open ", name, [&] {
                                       return target()->ReopenWritableFile(name, options, file,
                                                                           dbg);
                                     }));
  }
  IOStatus ReuseWritableFile(const std::string& name, const std::string& old_name,
                             const FileOptions& options,
                             std::unique_ptr<rocksdb::FSWritableFile>* file,
                             IODebugContext* dbg) override {
    return wrap<WatchedWritableFile>(name, file, change("create ", name, [&] {
                                       return target()->ReuseWritableFile(name, old_name, options,
                                                                          file, dbg);
                                     }));
  }
  IOStatus NewDirectory(const std::string& name, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* dbg) override {
    return wrap<WatchedDirectory>(
        name, directory, watch_->seen(target()->NewDirectory(name, options, directory, dbg), [&] {
          return "open directory " + name;
        }));
  }
  IOStatus GetChildren(const std::string& name, const IOOptions& options,
                       std::vector<std::string>* children, IODebugContext* dbg) override {
    return watch_->seen(target()->GetChildren(name, options, children, dbg),
                        [&] { return "list " + name; });
  }
  IOStatus GetFileSize(const std::string& name, const IOOptions& options, std::uint64_t* size,
                       IODebugContext* dbg) override {
    return watch_->seen(target()->GetFileSize(name, options, size, dbg),
                        [&] { return "stat " + name; });
  }
  IOStatus DeleteFile(const std::string& name, const IOOptions& options,
                      IODebugContext* dbg) override {
    return change("delete ", name, [&] { return target()->DeleteFile(name, options, dbg); });
  }
  IOStatus Truncate(const std::string& name, std::size_t size, const IOOptions& options,
                    IODebugContext* dbg) override {
    return change("truncate ", name, [&] { return target()->Truncate(name, size, options, dbg); });
  }
  IOStatus CreateDir(const std::string& name, const IOOptions& options,
                     IODebugContext* dbg) override {
    return change("create directory ", name,
                  [&] { return target()->CreateDir(name, options, dbg); });
  }
  IOStatus CreateDirIfMissing(const std::string& name, const IOOptions& options,
                              IODebugContext* dbg) override {
    return change("create directory ", name,
                  [&] { return target()->CreateDirIfMissing(name, options, dbg); });
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* dbg) override {
    return change("rename ", from, [&] { return target()->RenameFile(from, to, options, dbg); });
  }
  IOStatus LinkFile(const std::string& from, const std::string& to, const IOOptions& options,
                    IODebugContext* dbg) override {
    return change("link ", from, [&] { return target()->LinkFile(from, to, options, dbg); });
  }

 private:
  template <class Call>
  IOStatus change(const char* verb, const std::string& name, const Call& call) const {
    return watch_->change(call, [&] { return verb + name; });
  }
  template <class Watched, class File>
  IOStatus wrap(const std::string& name, std::unique_ptr<File>* file, IOStatus status) const {
    if (status.ok()) *file = std::make_unique<Watched>(std::move(*file), name, watch_);
    return status;
  }

  const std::shared_ptr<const Watch> watch_;
};

}  // namespace

std::shared_ptr<rocksdb::FileSystem> watch_files(std::shared_ptr<rocksdb::FileSystem> base,
                                                 std::shared_ptr<Health> health) {
  return std::make_shared<WatchedFileSystem>(std::move(base), std::move(health));
}

}  // namespace rota::store
