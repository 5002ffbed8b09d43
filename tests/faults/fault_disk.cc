// SPDX-License-Identifier: Apache-2.0
#include "faults/fault_disk.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <utility>

namespace rota::faults {

namespace fs = std::filesystem;
using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
using rocksdb::Slice;

const char* op_name(Op op) {
  static constexpr std::array<const char*, kOps> kNames{
      "create", "write", "sync", "directory sync", "rename", "delete", "open", "read"};
  return kNames.at(static_cast<std::size_t>(op));
}

namespace {

bool needs_space(Op op) {
  return op == Op::kCreate || op == Op::kAppend || op == Op::kSync || op == Op::kSyncDirectory ||
         op == Op::kRename;
}

// Of a file, or as a directory is named when it is synced.
std::string folder_of(const std::string& name) {
  return fs::path(name).lexically_normal().parent_path().string();
}

bool ends_with(const std::string& name, const std::string& end) {
  return name.size() >= end.size() && name.compare(name.size() - end.size(), end.size(), end) == 0;
}

bool exists(const std::string& name) {
  std::error_code ignored;
  return fs::exists(name, ignored);
}

}  // namespace

class FaultWritable final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  FaultWritable(std::unique_ptr<rocksdb::FSWritableFile> file, std::string name, FaultDisk* disk)
      : FSWritableFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

  IOStatus Append(const Slice& data, const IOOptions& options, IODebugContext* dbg) override {
    return disk_->append(name_, data, target(), options, dbg);
  }
  IOStatus Append(const Slice& data, const IOOptions& options, const rocksdb::DataVerificationInfo&,
                  IODebugContext* dbg) override {
    return disk_->append(name_, data, target(), options, dbg);
  }
  IOStatus Sync(const IOOptions& options, IODebugContext* dbg) override {
    return disk_->sync(name_, target(), options, dbg);
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return disk_->sync(name_, target(), options, dbg);
  }
  // A hint to write early; proves nothing, and may fail like a sync.
  IOStatus RangeSync(std::uint64_t, std::uint64_t, const IOOptions&, IODebugContext*) override {
    std::lock_guard lock(disk_->mutex_);
    return disk_->step(Op::kSync, name_);
  }

 private:
  const std::string name_;
  FaultDisk* const disk_;
};

class FaultRandom final : public rocksdb::FSRandomAccessFileOwnerWrapper {
 public:
  FaultRandom(std::unique_ptr<rocksdb::FSRandomAccessFile> file, std::string name, FaultDisk* disk)
      : FSRandomAccessFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

  IOStatus Read(std::uint64_t offset, std::size_t n, const IOOptions& options, Slice* result,
                char* scratch, IODebugContext* dbg) const override {
    {
      std::lock_guard lock(disk_->mutex_);
      IOStatus refused = disk_->step(Op::kRead, name_);
      if (!refused.ok()) return refused;
    }
    return target()->Read(offset, n, options, result, scratch, dbg);
  }
  IOStatus MultiRead(rocksdb::FSReadRequest* requests, std::size_t count, const IOOptions& options,
                     IODebugContext* dbg) override {
    for (std::size_t i = 0; i < count; ++i) {
      requests[i].status = Read(requests[i].offset, requests[i].len, options, &requests[i].result,
                                requests[i].scratch, dbg);
    }
    return IOStatus::OK();
  }

 private:
  const std::string name_;
  FaultDisk* const disk_;
};

class FaultSequential final : public rocksdb::FSSequentialFileOwnerWrapper {
 public:
  FaultSequential(std::unique_ptr<rocksdb::FSSequentialFile> file, std::string name,
                  FaultDisk* disk)
      : FSSequentialFileOwnerWrapper(std::move(file)), name_(std::move(name)), disk_(disk) {}

  IOStatus Read(std::size_t n, const IOOptions& options, Slice* result, char* scratch,
                IODebugContext* dbg) override {
    {
      std::lock_guard lock(disk_->mutex_);
      IOStatus refused = disk_->step(Op::kRead, name_);
      if (!refused.ok()) return refused;
    }
    return target()->Read(n, options, result, scratch, dbg);
  }

 private:
  const std::string name_;
  FaultDisk* const disk_;
};

class FaultDirectory final : public rocksdb::FSDirectoryWrapper {
 public:
  FaultDirectory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string name, FaultDisk* disk)
      : FSDirectoryWrapper(directory.get()),
        directory_(std::move(directory)),
        name_(std::move(name)),
        disk_(disk) {}

  IOStatus Fsync(const IOOptions& options, IODebugContext* dbg) override {
    return disk_->sync_directory(name_, directory_.get(), options, dbg);
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* dbg,
                               const rocksdb::DirFsyncOptions&) override {
    return disk_->sync_directory(name_, directory_.get(), options, dbg);
  }

 private:
  const std::unique_ptr<rocksdb::FSDirectory> directory_;
  const std::string name_;
  FaultDisk* const disk_;
};

FaultDisk::FaultDisk(DiskPlan plan, std::string graveyard, DiskFacts* facts)
    : FileSystemWrapper(rocksdb::FileSystem::Default()),
      plan_(plan),
      graveyard_(std::move(graveyard)),
      facts_(facts),
      random_(plan.seed * 0x9e3779b97f4a7c15ULL + 1) {
  fs::create_directories(graveyard_);
  load_unsynced();
}

std::uint64_t FaultDisk::random() {
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  return random_ >> 11U;
}

// ---- the plan -------------------------------------------------------------------------------

// `nth`: of the calls that the plan counts.
bool FaultDisk::is_hit(Op op, std::uint64_t nth) {
  if (plan_.fault != Fault::kIo && plan_.fault != Fault::kNoSpace) return false;
  const bool lacks_space = plan_.fault == Fault::kNoSpace && needs_space(op);
  const bool counted = plan_.any_op ? plan_.fault == Fault::kIo || lacks_space : op == plan_.op;
  if (counted && nth == plan_.nth) return true;
  if (!plan_.lasting || facts_->fired == 0) return false;
  return counted || lacks_space;
}

IOStatus FaultDisk::step(Op op, const std::string& file) {
  if (!plan_.file.empty() && !ends_with(file, plan_.file)) return IOStatus::OK();
  const std::uint64_t nth = ++facts_->calls[static_cast<std::size_t>(op)];
  const std::uint64_t nth_of_all = ++facts_->all_calls;
  if (needs_space(op)) ++facts_->space_calls;
  const bool ends = plan_.fault == Fault::kPowerLoss || plan_.fault == Fault::kKilled;
  if (ends && nth_of_all == plan_.nth) {
    ++facts_->fired;
    std::strncpy(facts_->file.data(), file.c_str(), facts_->file.size() - 1);
    if (plan_.fault == Fault::kKilled) {
      save_unsynced();
      ::_exit(kKilled);
    }
    cut_power_locked();
    ::_exit(kPowerLost);
  }
  const std::uint64_t counted = !plan_.any_op                    ? nth
                                : plan_.fault == Fault::kNoSpace ? facts_->space_calls.load()
                                                                 : nth_of_all;
  if (!is_hit(op, counted)) return IOStatus::OK();
  if (++facts_->fired == 1) {
    std::strncpy(facts_->file.data(), file.c_str(), facts_->file.size() - 1);
  }
  return plan_.fault == Fault::kNoSpace
             ? IOStatus::NoSpace("injected: no space left on device", file)
             : IOStatus::IOError("injected: input/output error", file);
}

// ---- files ----------------------------------------------------------------------------------

IOStatus FaultDisk::append(const std::string& name, const Slice& data,
                           rocksdb::FSWritableFile* file, const IOOptions& options,
                           IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  File& state = files_[name];
  IOStatus refused = step(Op::kAppend, name);
  if (!refused.ok()) {
    // A write that fails may have written a part.
    const Slice part(data.data(), random() % (data.size() + 1));
    if (file->Append(part, options, dbg).ok()) state.size += part.size();
    return refused;
  }
  IOStatus status = file->Append(data, options, dbg);
  if (status.ok()) state.size += data.size();
  return status;
}

IOStatus FaultDisk::sync(const std::string& name, rocksdb::FSWritableFile* file,
                         const IOOptions& options, IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  File& state = files_[name];
  if (state.sync_failed) {
    ++facts_->second_syncs;
    return IOStatus::OK();  // what Linux answers; the pages are lost all the same
  }
  IOStatus refused = step(Op::kSync, name);
  if (!refused.ok()) {
    state.sync_failed = true;
    return refused;
  }
  // The machine keeps its power, so what the kernel has is as good as synced.
  IOStatus status = file->Flush(options, dbg);
  if (status.ok()) state.synced = state.size;
  return status;
}

IOStatus FaultDisk::sync_directory(const std::string& name, rocksdb::FSDirectory*, const IOOptions&,
                                   IODebugContext*) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kSyncDirectory, name);
  if (!refused.ok()) return refused;
  const std::string synced = folder_of(name + "/");
  const auto kept =
      std::stable_partition(entries_.begin(), entries_.end(), [&](const Entry& entry) {
        return folder_of(entry.kind == Entry::Kind::kRenamed ? entry.to : entry.name) != synced;
      });
  for (auto it = kept; it != entries_.end(); ++it) {
    if (!it->saved.empty()) ::unlink(it->saved.c_str());
  }
  entries_.erase(kept, entries_.end());
  return IOStatus::OK();
}

IOStatus FaultDisk::NewSequentialFile(const std::string& name, const FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* file,
                                      IODebugContext* dbg) {
  {
    std::lock_guard lock(mutex_);
    IOStatus refused = step(Op::kOpen, name);
    if (!refused.ok()) return refused;
  }
  IOStatus status = target()->NewSequentialFile(name, options, file, dbg);
  if (status.ok()) *file = std::make_unique<FaultSequential>(std::move(*file), name, this);
  return status;
}

IOStatus FaultDisk::NewRandomAccessFile(const std::string& name, const FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                                        IODebugContext* dbg) {
  {
    std::lock_guard lock(mutex_);
    IOStatus refused = step(Op::kOpen, name);
    if (!refused.ok()) return refused;
  }
  IOStatus status = target()->NewRandomAccessFile(name, options, file, dbg);
  if (status.ok()) *file = std::make_unique<FaultRandom>(std::move(*file), name, this);
  return status;
}

IOStatus FaultDisk::NewDirectory(const std::string& name, const IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* directory,
                                 IODebugContext* dbg) {
  IOStatus status = target()->NewDirectory(name, options, directory, dbg);
  if (status.ok()) *directory = std::make_unique<FaultDirectory>(std::move(*directory), name, this);
  return status;
}

// ---- directory entries ----------------------------------------------------------------------

// Another name for what stands there, or, without keep_name, a move.
std::string FaultDisk::bury(const std::string& name, bool keep_name) {
  if (!exists(name)) return {};
  const std::string grave = graveyard_ + "/" + std::to_string(++buried_);
  std::error_code error;
  if (keep_name) {
    fs::create_hard_link(name, grave, error);
  } else {
    fs::rename(name, grave, error);
  }
  return error ? std::string() : grave;
}

IOStatus FaultDisk::NewWritableFile(const std::string& name, const FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* file,
                                    IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kCreate, name);
  if (!refused.ok()) return refused;
  entries_.push_back({Entry::Kind::kCreated, name, {}, bury(name, /*keep_name=*/false)});
  IOStatus status = target()->NewWritableFile(name, options, file, dbg);
  if (!status.ok()) return status;
  files_[name] = {};
  *file = std::make_unique<FaultWritable>(std::move(*file), name, this);
  return status;
}

IOStatus FaultDisk::ReopenWritableFile(const std::string& name, const FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* file,
                                       IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kCreate, name);
  if (!refused.ok()) return refused;
  const bool is_new = !exists(name);
  IOStatus status = target()->ReopenWritableFile(name, options, file, dbg);
  if (!status.ok()) return status;
  if (is_new) entries_.push_back({Entry::Kind::kCreated, name, {}, {}});
  // What stood there before this disk did counts as synced.
  if (files_.count(name) == 0) {
    const std::uint64_t size = fs::file_size(name);
    files_[name] = {size, size, false};
  }
  *file = std::make_unique<FaultWritable>(std::move(*file), name, this);
  return status;
}

IOStatus FaultDisk::Truncate(const std::string& name, std::size_t size, const IOOptions& options,
                             IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kAppend, name);
  if (!refused.ok()) return refused;
  IOStatus status = target()->Truncate(name, size, options, dbg);
  if (status.ok()) {
    if (const auto it = files_.find(name); it != files_.end()) {
      it->second.size = size;
      it->second.synced = std::min<std::uint64_t>(it->second.synced, size);
    }
  }
  return status;
}

IOStatus FaultDisk::LinkFile(const std::string& from, const std::string& to,
                             const IOOptions& options, IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kCreate, to);
  if (!refused.ok()) return refused;
  IOStatus status = target()->LinkFile(from, to, options, dbg);
  if (status.ok()) entries_.push_back({Entry::Kind::kCreated, to, {}, {}});
  return status;
}

IOStatus FaultDisk::CreateDir(const std::string& name, const IOOptions& options,
                              IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kCreate, name);
  if (!refused.ok()) return refused;
  IOStatus status = target()->CreateDir(name, options, dbg);
  if (status.ok()) entries_.push_back({Entry::Kind::kCreated, name, {}, {}});
  return status;
}

IOStatus FaultDisk::CreateDirIfMissing(const std::string& name, const IOOptions& options,
                                       IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kCreate, name);
  if (!refused.ok()) return refused;
  const bool is_new = !exists(name);
  IOStatus status = target()->CreateDirIfMissing(name, options, dbg);
  if (status.ok() && is_new) entries_.push_back({Entry::Kind::kCreated, name, {}, {}});
  return status;
}

IOStatus FaultDisk::DeleteFile(const std::string& name, const IOOptions&, IODebugContext*) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kDelete, name);
  if (!refused.ok()) return refused;
  if (!exists(name)) return IOStatus::PathNotFound(name);
  entries_.push_back({Entry::Kind::kDeleted, name, {}, bury(name, /*keep_name=*/false)});
  return IOStatus::OK();
}

IOStatus FaultDisk::RenameFile(const std::string& from, const std::string& to,
                               const IOOptions& options, IODebugContext* dbg) {
  std::lock_guard lock(mutex_);
  IOStatus refused = step(Op::kRename, from);
  if (!refused.ok()) return refused;
  const std::string saved = bury(to, /*keep_name=*/true);
  IOStatus status = target()->RenameFile(from, to, options, dbg);
  if (!status.ok()) return status;
  entries_.push_back({Entry::Kind::kRenamed, from, to, saved});
  if (const auto it = files_.find(from); it != files_.end()) {
    files_[to] = it->second;
    files_.erase(it);
  }
  return status;
}

// ---- the power ------------------------------------------------------------------------------

void FaultDisk::cut_power() {
  mutex_.lock();  // and never unlocked: nothing reaches the disk any more
  cut_power_locked();
}

void FaultDisk::undo(const Entry& entry) {
  switch (entry.kind) {
    case Entry::Kind::kCreated: {
      std::error_code ignored;
      fs::remove_all(entry.name, ignored);
      break;
    }
    case Entry::Kind::kRenamed:
      ::rename(entry.to.c_str(), entry.name.c_str());
      if (!entry.saved.empty()) ::rename(entry.saved.c_str(), entry.to.c_str());
      return;
    case Entry::Kind::kDeleted:
      break;
  }
  if (!entry.saved.empty()) ::rename(entry.saved.c_str(), entry.name.c_str());
}

namespace {

void put(const std::string& name, std::uint64_t offset, const std::string& bytes) {
  const int fd = ::open(name.c_str(), O_WRONLY | O_CLOEXEC);
  const auto written = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (written != static_cast<ssize_t>(bytes.size())) ::abort();
  ::close(fd);
}

}  // namespace

// Bytes and entries go independently of each other: all, none, or those after some point.
void FaultDisk::cut_power_locked() {
  enum class Loss { kAll, kNone, kSome };
  const auto draw = [this] {
    const std::uint64_t n = random() % 4;
    return n < 2 ? Loss::kAll : n == 2 ? Loss::kNone : Loss::kSome;
  };
  const Loss bytes = draw();
  const Loss entries = draw();
  for (const auto& [name, file] : files_) {
    const std::uint64_t unsynced = file.size - file.synced;
    if (unsynced == 0 || bytes == Loss::kNone || !exists(name)) continue;
    const std::uint64_t kept = bytes == Loss::kAll ? 0 : random() % (unsynced + 1);
    // The size may have come to the disk before the pages did.
    const bool hole = bytes == Loss::kSome && random() % 3 == 0;
    ::truncate(name.c_str(), static_cast<off_t>(file.synced + kept)) == 0 || (::abort(), true);
    if (hole) {
      ::truncate(name.c_str(), static_cast<off_t>(file.size)) == 0 || (::abort(), true);
    }
  }
  for (const auto& [name, file] : patched_) {
    if (bytes == Loss::kNone || !exists(name)) continue;
    for (auto it = file.unsynced.rbegin(); it != file.unsynced.rend(); ++it) {
      put(name, it->offset, it->before);
      ::truncate(name.c_str(), static_cast<off_t>(it->size_before)) == 0 || (::abort(), true);
    }
    if (bytes == Loss::kAll) continue;
    for (const Patch& patch : file.unsynced) {
      put(name, patch.offset, patch.after.substr(0, random() % (patch.after.size() + 1)));
    }
  }
  std::size_t undone = entries_.size();
  if (entries == Loss::kNone) undone = 0;
  if (entries == Loss::kSome) undone = random() % (entries_.size() + 1);
  for (std::size_t i = 0; i < undone; ++i) undo(entries_[entries_.size() - 1 - i]);
}

// ---- a process that was killed ----------------------------------------------------------------

void FaultDisk::save_unsynced() const {
  std::ofstream out(graveyard_ + "/unsynced", std::ios::binary);
  out << buried_ << ' ' << files_.size() << ' ' << patched_.size() << ' ' << entries_.size();
  for (const auto& [name, file] : files_) {
    out << ' ' << std::quoted(name) << ' ' << file.size << ' ' << file.synced;
  }
  for (const auto& [name, file] : patched_) {
    out << ' ' << std::quoted(name) << ' ' << file.unsynced.size();
    for (const Patch& patch : file.unsynced) {
      out << ' ' << patch.offset << ' ' << std::quoted(patch.before) << ' '
          << std::quoted(patch.after) << ' ' << patch.size_before;
    }
  }
  for (const Entry& entry : entries_) {
    out << ' ' << static_cast<int>(entry.kind) << ' ' << std::quoted(entry.name) << ' '
        << std::quoted(entry.to) << ' ' << std::quoted(entry.saved);
  }
  if (!out.flush()) ::abort();
}

void FaultDisk::load_unsynced() {
  std::ifstream in(graveyard_ + "/unsynced", std::ios::binary);
  if (!in) return;
  std::size_t files = 0;
  std::size_t patched = 0;
  std::size_t entries = 0;
  in >> buried_ >> files >> patched >> entries;
  std::string name;
  for (; files > 0; --files) {
    in >> std::quoted(name);
    in >> files_[name].size >> files_[name].synced;
  }
  for (; patched > 0; --patched) {
    std::size_t patches = 0;
    in >> std::quoted(name) >> patches;
    for (; patches > 0; --patches) {
      Patch& patch = patched_[name].unsynced.emplace_back();
      in >> patch.offset >> std::quoted(patch.before) >> std::quoted(patch.after) >>
          patch.size_before;
    }
  }
  for (; entries > 0; --entries) {
    int kind = 0;
    Entry& entry = entries_.emplace_back();
    in >> kind >> std::quoted(entry.name) >> std::quoted(entry.to) >> std::quoted(entry.saved);
    entry.kind = static_cast<Entry::Kind>(kind);
  }
  if (!in) ::abort();
}

}  // namespace rota::faults
